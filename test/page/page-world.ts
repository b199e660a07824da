// A host, a plugin and an evil site, each an origin of its own, in a browser context of their own.
import type { Browser, BrowserContext, Frame, Page } from "playwright-core";
import { onTestFinished } from "vitest";
import { type FakeHost, type FakeHostOptions, fakeHost } from "./fake-host.js";
import { type FakePlugin, type FakePluginOptions, fakePlugin } from "./fake-plugin.js";
import { answerWith, loopbackSite, type Site } from "./loopback-site.js";

/** What `startSession` came to, as the page tells it. */
export interface Outcome {
  readonly session?: { readonly variant: string; readonly tenantId: string };
  readonly error?: { readonly code: string; readonly message: string; readonly reason?: string };
}

export interface World {
  readonly host: FakeHost;
  readonly plugin: FakePlugin;
  /** Its pages are what `evilHtml` says. */
  readonly evil: Site;
  evilHtml: string;
  readonly context: BrowserContext;
  /** What every page of the context wrote to its console as an error, or did not catch. */
  readonly errors: string[];
  /** Opens the host; gives the page and the plugin's frame in it. */
  launch(): Promise<{ page: Page; frame: Frame }>;
}

export async function pageWorld(
  browser: Browser,
  options: { readonly host?: FakeHostOptions; readonly plugin?: FakePluginOptions } = {},
): Promise<World> {
  let host: FakeHost;
  const plugin = await fakePlugin(() => host, options.plugin ?? {});
  host = await fakeHost(() => plugin.origin, options.host ?? {});
  const evil = await loopbackSite("evil", () => answerWith(world.evilHtml));
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const errors: string[] = [];
  context.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  context.on("weberror", (error) => errors.push(String(error.error())));
  const world: World = {
    ...{ host, plugin, evil, context, errors },
    evilHtml: "<!doctype html>",
    async launch() {
      const page = await context.newPage();
      await page.goto(host.origin);
      return { page, frame: frameOf(page) };
    },
  };
  return world;
}

/** The plugin's frame. */
export function frameOf(page: Page): Frame {
  const frame = page.frame({ name: "plugin" });
  if (frame === null) throw new Error("the host has no frame named plugin");
  return frame;
}

/** Calls a function that the page has made global: `begin(options)`, `call(url, init)`, `post(message)`. */
export function run<T = Outcome>(frame: Frame | Page, name: string, ...values: unknown[]): Promise<T> {
  return frame.evaluate(
    ([name, values]) => {
      const named = (globalThis as unknown as Record<string, (...all: unknown[]) => T>)[name];
      if (named === undefined) throw new Error(`the page has no ${name}`);
      return named(...values);
    },
    [name, values] as const,
  );
}
