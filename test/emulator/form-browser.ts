// A browser as far as pages without scripts need one: it keeps cookies and sends the forms that it was shown.
import type { Emulator } from "../../src/emulator/index.js";

export class FormBrowser {
  readonly emulator: Pick<Emulator, "fetch">;
  readonly cookies: Map<string, string> = new Map();
  /** The page last shown, and what answered with it. */
  html = "";
  response: Response = new Response();

  constructor(emulator: Pick<Emulator, "fetch">) {
    this.emulator = emulator;
  }

  /** As a script of the page asks: with the cookies, and without leaving the page. */
  request(url: string, init: RequestInit = {}): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { ...(cookie !== "" && { cookie }), ...init.headers };
    return this.emulator.fetch(url, { ...init, headers, redirect: "manual" });
  }

  async open(url: string, init: RequestInit = {}): Promise<this> {
    this.response = await this.request(url, init);
    for (const line of this.response.headers.getSetCookie()) {
      const [name = "", value = ""] = (line.split(";")[0] ?? "").split("=");
      this.cookies.set(name, value);
    }
    this.html = await this.response.text();
    return this;
  }

  /** Sends the page's first form with its hidden fields and the given ones; undefined leaves a field out. */
  async submit(fields: Record<string, string | undefined>): Promise<this> {
    const action = /<form[^>]* action="([^"]*)"/.exec(this.html)?.[1];
    if (action === undefined) throw new Error(`no form on: ${this.text()}`);
    const body = new URLSearchParams();
    for (const [name, value] of Object.entries({ ...this.hidden(), ...fields })) {
      if (value !== undefined) body.set(name, value);
    }
    return this.open(action, { method: "POST", body });
  }

  hidden(): Record<string, string> {
    const inputs = this.html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g);
    return Object.fromEntries([...inputs].map(([, name, value]) => [name ?? "", value ?? ""]));
  }

  /** Where the answer sends the browser. */
  get location(): string {
    return this.response.headers.get("location") ?? "";
  }

  follow(): Promise<this> {
    return this.open(this.location);
  }

  text(): string {
    return this.html.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
  }
}
