// A browser without scripts for the pages at /_emulator: it fills in a form by its id and sends it as its own page.
import { expect } from "vitest";
import type { Emulator } from "../../src/emulator/index.js";
import { PluginClient } from "./plugin-client.js";

/** By the name of a field; undefined leaves it out, a list sends it several times. */
export type Filled = Record<string, string | readonly string[] | undefined>;

export class AdminBrowser {
  readonly emulator: Emulator;
  html = "";
  response: Response = new Response();

  constructor(emulator: Emulator) {
    this.emulator = emulator;
  }

  async open(path: string, init: RequestInit = {}): Promise<this> {
    this.response = await this.emulator.fetch(path, { ...init, redirect: "manual" });
    this.html = await this.response.text();
    return this;
  }

  /** Presses the form's button; follows the redirect, if there is one. */
  async submit(id: string, filled: Filled = {}): Promise<this> {
    const body = new URLSearchParams(this.fields(id));
    for (const [name, value] of Object.entries(filled)) {
      body.delete(name);
      for (const one of value === undefined ? [] : [value].flat()) body.append(name, one as string);
    }
    const headers = { origin: new URL(this.emulator.publicUrl).origin };
    await this.open(this.action(id), { method: "POST", body, headers });
    const location = this.response.headers.get("location");
    return location === null ? this : this.open(location);
  }

  action(id: string): string {
    return decode(/ action="([^"]*)"/.exec(this.form(id))?.[1] ?? "");
  }

  /** What the form sends as it stands, without its button. */
  fields(id: string): [string, string][] {
    const form = this.form(id);
    const fields: [string, string][] = [];
    for (const [tag] of form.matchAll(/<input[^>]*>/g)) {
      const isOut = tag.includes('type="checkbox"') && !tag.includes(" checked");
      if (!isOut && !tag.includes('type="file"'))
        fields.push([attribute(tag, "name"), attribute(tag, "value")]);
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

  /** The id of the form of that kind that names all of these. */
  formOf(kind: string, ...names: readonly string[]): string {
    return `${kind}-${Buffer.from(JSON.stringify(names)).toString("base64url")}`;
  }

  /** The alarms of the page. */
  issues(): string[] {
    const alarm = /<div class="alarm".*?<\/div>/s.exec(this.html)?.[0] ?? "";
    return [...alarm.matchAll(/<li>(.*?)<\/li>/gs)].map(([, issue = ""]) => decode(issue));
  }

  text(): string {
    return decode(this.html.replace(/<[^>]*>/g, " ")).replace(/\s+/g, " ");
  }

  form(id: string): string {
    const forms = [...this.html.matchAll(/<form .*?<\/form>/gs)].map(([form]) => form);
    const found = forms.find((form) => form.includes(` id="${id}"`));
    if (found === undefined) throw new Error(`no form ${id} on: ${this.text()}`);
    return found;
  }
}

function attribute(tag: string, name: string): string {
  return decode(new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? "");
}

function decode(text: string): string {
  const named: Record<string, string> = {
    "&quot;": '"',
    "&#39;": "'",
    "&lt;": "<",
    "&gt;": ">",
    "&amp;": "&",
  };
  return text.replace(/&(quot|#39|lt|gt|amp);/g, (entity) => named[entity] ?? entity);
}

/** A deployment with one service plugin, and a browser at one of its pages. */
export async function at(
  path: string,
  plugin: PluginClient = new PluginClient(),
): Promise<{ plugin: PluginClient; emulator: Emulator; browser: AdminBrowser }> {
  const { emulator } = plugin;
  return { plugin, emulator, browser: await new AdminBrowser(emulator).open(`/_emulator${path}`) };
}

/** The page again with what was wrong, by the name of the field. */
export function expectRefused(browser: AdminBrowser, issue: RegExp): void {
  expect(browser.response.status).toBe(400);
  expect(browser.issues()).toEqual([expect.stringMatching(issue)]);
  expect(browser.html).toContain('role="alert"');
}
