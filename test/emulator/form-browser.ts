// A browser without scripts: it keeps cookies, and sends the forms of the pages that it was shown.
import { expect } from "vitest";
import type { Emulator } from "../../src/emulator/index.js";
import { PluginClient } from "./deployment.js";

export class FormBrowser {
  readonly emulator: Pick<Emulator, "fetch">;
  readonly cookies: Map<string, string> = new Map();
  /** The last page and its response. */
  html = "";
  response: Response = new Response();

  constructor(emulator: Pick<Emulator, "fetch">) {
    this.emulator = emulator;
  }

  /**
   * Sends a request as a script of the page does: with the cookies, and without leaving the page.
   */
  request(url: string, init: RequestInit = {}): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { ...(cookie !== "" && { cookie }), ...init.headers };
    return this.emulator.fetch(url, { ...init, headers, redirect: "manual" });
  }

  /** Posts JSON as the host application's script does. */
  ask(url: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
    const token =
      /(?:data-form-token="|name="form_token" value=")([^"]+)/.exec(this.html)?.[1] ?? "";
    const sent = { "content-type": "application/json", "x-form-token": token, ...headers };
    return this.request(url, { method: "POST", headers: sent, body: JSON.stringify(body) });
  }

  async open(url: string, init: RequestInit = {}): Promise<this> {
    this.response = await this.request(url, init);
    for (const line of this.response.headers.getSetCookie()) {
      const [name = "", value = ""] = (line.split(";")[0] ?? "").split("=");
      // A server deletes a cookie with an empty value.
      if (value === "") this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    this.html = await this.response.text();
    return this;
  }

  /**
   * Sends the page's first form with its hidden fields and the given ones; undefined leaves a field
   * out.
   */
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

  /** The Location header of the last response. */
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

/** By the name of a field; undefined leaves it out. */
export type Filled = Readonly<Record<string, string | undefined>>;

/** Uses the pages at /_emulator, where a form is known by its id. */
export class AdminBrowser extends FormBrowser {
  /** Sends a form as it stands, with some fields changed, and follows the redirect. */
  async send(id: string, filled: Filled = {}): Promise<this> {
    const body = new URLSearchParams(this.fields(id));
    for (const [name, value] of Object.entries(filled)) {
      body.delete(name);
      if (value !== undefined) body.append(name, value);
    }
    const action = attribute(this.form(id), "action");
    await this.open(action, {
      method: "POST",
      body,
      headers: { origin: "http://emulator.localhost" },
    });
    return this.location === "" ? this : this.follow();
  }

  /** What the form sends as it stands, without its button. */
  fields(id: string): [string, string][] {
    const form = this.form(id);
    const fields: [string, string][] = [];
    for (const [tag] of form.matchAll(/<input[^>]*>/g)) {
      const isOut = tag.includes('type="checkbox"') && !tag.includes(" checked");
      if (!isOut) fields.push([attribute(tag, "name"), attribute(tag, "value")]);
    }
    for (const [tag, content = ""] of form.matchAll(/<textarea[^>]*>\n?([^<]*)<\/textarea>/g)) {
      fields.push([attribute(tag, "name"), decode(content)]);
    }
    for (const [tag, options = ""] of form.matchAll(/<select[^>]*>(.*?)<\/select>/gs)) {
      const chosen = /<option[^>]* selected/.exec(options)?.[0] ?? options;
      fields.push([attribute(tag, "name"), attribute(chosen, "value")]);
    }
    return fields;
  }

  value(id: string, name: string): string | undefined {
    return this.fields(id).find(([field]) => field === name)?.[1];
  }

  /** The id of the form of that kind for the record with these names. */
  formOf(kind: string, ...names: readonly string[]): string {
    return `${kind}-${Buffer.from(JSON.stringify(names)).toString("base64url")}`;
  }

  form(id: string): string {
    const forms = [...this.html.matchAll(/<form .*?<\/form>/gs)].map(([form]) => form);
    const found = forms.find((form) => form.includes(` id="${id}"`));
    if (found === undefined) throw new Error(`no form ${id} on: ${this.text()}`);
    return found;
  }

  issues(): string[] {
    const alarm = /<div class="outcome alarm".*?<\/div>/s.exec(this.html)?.[0] ?? "";
    return [...alarm.matchAll(/<li>(.*?)<\/li>/gs)].map(([, issue = ""]) => decode(issue));
  }

  override text(): string {
    return decode(super.text());
  }
}

function attribute(tag: string, name: string): string {
  return decode(new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? "");
}

function decode(text: string): string {
  const named: Record<string, string> = { quot: '"', "#39": "'", lt: "<", gt: ">", amp: "&" };
  return text.replace(/&(quot|#39|lt|gt|amp);/g, (entity, name: string) => named[name] ?? entity);
}

/** A deployment with one service plugin, and a browser on a page under /_emulator. */
export async function atAdmin(
  path: string,
  plugin: PluginClient = new PluginClient(),
): Promise<{ plugin: PluginClient; emulator: Emulator; browser: AdminBrowser }> {
  const { emulator } = plugin;
  return { plugin, emulator, browser: await new AdminBrowser(emulator).open(`/_emulator${path}`) };
}

/** Expects the page again, with one issue. */
export function expectRefused(browser: AdminBrowser, issue: RegExp): void {
  expect(browser.response.status).toBe(400);
  expect(browser.issues()).toEqual([expect.stringMatching(issue)]);
  expect(browser.html.match(/role="alert"/g)).toHaveLength(1);
}

/** The paths under /_emulator that the pages link to. */
export const PAGES: readonly string[] = [
  ...["", "/log", "/flow", "/plugins", "/accounts", "/clients", "/operators", "/faults", "/rules"],
];
const PARTS = ["clock", "log", "journal", "flow", "faults"].map((part) => `/live/${part}`);

export async function everyPage(emulator: Pick<Emulator, "fetch">): Promise<string> {
  const pages = [...PAGES, ...PARTS].map((path) =>
    new AdminBrowser(emulator).open(`/_emulator${path}`),
  );
  return (await Promise.all(pages)).map(({ html }) => html).join("\n");
}
