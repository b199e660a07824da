// A host, a plugin with its backend, and an evil site, each with an origin of its own, and Chromium
// in front of them.
import { createServer } from "node:http";
import type { Browser, BrowserContext, Frame, Page } from "playwright-core";
import { onTestFinished } from "vitest";
import { toNodeHandler } from "../../src/backend/index.js";
import { unwrap } from "../../src/index.js";
import { launching, loginCredential, rig } from "../backend/rig.js";
import { latch } from "../people/person.js";
import type { SteppedClock } from "../support/clock.js";
import { servingOn } from "../support/recording-server.js";
import { pageBundle } from "./page-bundle.js";

/** The outcome of `startSession`, as the page reports it. */
export interface Outcome {
  readonly session?: { readonly variant: string; readonly tenantId: string };
  readonly error?: { readonly code: string; readonly message: string; readonly reason?: string };
}

export interface WorldOptions {
  /** Attributes of the plugin's frame. */
  readonly attributes?: string;
  /**
   * JavaScript of the host; may define `reply(answer, post)`, which is called instead of
   * `post(answer)`.
   */
  readonly script?: string;
  /**
   * The address that the host launches. Default: the plugin's page with `opaque_code` and `state`.
   */
  readonly src?: (launch: Launch) => string;
  /** Whether the backend keeps sessions in a cookie. */
  readonly cookie?: boolean;
  /** What the person decides at the login. Default: "allow". */
  readonly decision?: "deny";
  /** Answers instead of the plugin's page and backend, unless it returns `undefined`. */
  readonly answer?: (url: URL) => Response | undefined | Promise<Response | undefined>;
}

/** The three sites, for any browser. */
export interface Sites {
  /** A host page with the emulator's launches. `codes` are those that it issued. */
  readonly host: Site & { readonly launch: Launch; readonly codes: string[] };
  /** The page, with the backend of `rig` at `/auth`. */
  readonly plugin: Site;
  /** A site whose pages are `evilHtml`. */
  readonly evil: Site;
  evilHtml: string;
  /** More HTML for the host's page, such as sibling frames. */
  beside: string;
  readonly clock: SteppedClock;
  /** Holds back the host's answers to `plugin:pkce-init` until the returned function is called. */
  hold(): () => void;
}

/** The sites with a context of Chromium. */
export interface World extends Sites {
  readonly context: BrowserContext;
  /** Console errors and uncaught errors of every page of the context. */
  readonly errors: string[];
  /** Opens the host, and returns the page and the plugin's frame in it. */
  launch(): Promise<{ page: Page; frame: Frame }>;
  /**
   * Calls `startSession` in a page, with the host as its only allowed one unless the options say
   * otherwise.
   */
  begin(at: Frame | Page, options?: object): Promise<Outcome>;
}

export interface Launch {
  readonly opaqueCode: string;
  readonly state: string;
  readonly tenantId: string;
}

export async function pageSites(options: WorldOptions = {}): Promise<Sites> {
  const host = await site("host", async (request) =>
    request.url.endsWith("/authorise") ? authorise(await request.json()) : html(hostPage()),
  );
  const plugin = await site("plugin", async (request) => {
    const url = new URL(request.url);
    return (await options.answer?.(url)) ?? answerOfPlugin(request, url.pathname);
  });
  const service = await site("service", ({ url }) => {
    const { callbackUrl } = emulator.login({
      url,
      userId: "ada",
      decision: options.decision ?? "allow",
    });
    return new Response(null, { status: 303, headers: { location: callbackUrl } });
  });
  const evil = await site("evil", () => html(sites.evilHtml));

  const redirectUri = `${plugin.origin}/auth/callback`;
  const authorizationEndpoint = `${service.origin}/v1/auth/authorize`;
  const login = loginCredential({ redirectUri, authorizationEndpoint });
  const { emulator, backend, clock } = rig({
    // A test that launches several times uses one launch, whose values it plants beforehand.
    emulator: { publicUrl: service.origin, rules: { "launch.unused": false } },
    deployments: [{ ...launching(), baseUrl: service.origin, hostOrigin: host.origin, login }],
    session: { cookie: options.cookie ?? false },
  });
  emulator.updateApiClient({ clientId: "portal", redirectUris: [redirectUri] });
  const identity = { tenantId: "acme", clientId: "planner" };
  emulator.updatePlugin({ ...identity, pageUrl: `${plugin.origin}/?lang=en` });
  const opened = emulator.launch({ ...identity, userId: "ada" });
  const state = new URL(opened.url).searchParams.get("state") ?? "";
  const launch = { opaqueCode: opened.opaqueCode, state, tenantId: "acme" };
  const codes: string[] = [];
  let gate = Promise.resolve();

  async function authorise(init: { challenge: string; opaque_code: string }): Promise<Response> {
    await gate;
    const answer = opened.authorize({
      codeChallenge: init.challenge,
      opaqueCode: init.opaque_code,
    });
    codes.push(answer.code);
    return Response.json({ type: "host:auth-code", ...answer });
  }

  function hostPage(): string {
    const src = options.src?.(launch) ?? opened.url;
    return `<!doctype html><title>Host</title><link rel="icon" href="data:,">
      <iframe name="plugin" ${options.attributes ?? ""} src="${src.replaceAll("&", "&amp;")}"></iframe>
      ${sites.beside}
      <script>
        const inits = [], plugin = document.querySelector("iframe").contentWindow;
        window.post = (message) => plugin.postMessage(message, ${JSON.stringify(plugin.origin)});
        let reply = (answer, post) => post(answer);
        addEventListener("message", async ({ source, origin, data }) => {
          if (source !== plugin || origin !== ${JSON.stringify(plugin.origin)}) return;
          if (data?.type !== "plugin:pkce-init") return;
          inits.push(data);
          const answer = await fetch("/authorise", { method: "POST", body: JSON.stringify(data) });
          if (answer.ok) reply(await answer.json(), post);
        });
        ${options.script ?? ""}
      </script>`;
  }

  async function answerOfPlugin(request: Request, path: string): Promise<Response> {
    if (path === "/") return html(PAGE);
    // A page with an opaque origin loads it across origins.
    const headers = { "content-type": "text/javascript", "access-control-allow-origin": "*" };
    if (path === "/page.js") return new Response(await pageBundle(), { headers });
    if (path.startsWith("/auth/")) return backend(request);
    try {
      return Response.json(unwrap(await (await backend.connect(request)).call("listDevices")));
    } catch (error) {
      return backend.answer(error);
    }
  }

  const sites: Sites = {
    host: { ...host, launch, codes },
    plugin,
    evil,
    clock,
    evilHtml: "<!doctype html>",
    beside: "",
    hold() {
      const { promise, release } = latch();
      gate = promise;
      return release;
    },
  };
  return sites;
}

export async function pageWorld(browser: Browser, options: WorldOptions = {}): Promise<World> {
  const sites = await pageSites(options);
  const { origin } = sites.host;
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const errors: string[] = [];
  context.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  context.on("weberror", (error) => errors.push(String(error.error())));
  // The pages read `evilHtml` and `beside` of the same object that tests change.
  return Object.assign(sites, {
    context,
    errors,
    async launch() {
      const page = await context.newPage();
      await page.goto(origin);
      return { page, frame: frameOf(page) };
    },
    begin: (at: Frame | Page, options = {}) =>
      run(at, "begin", { hostOrigins: [origin], ...options }),
  });
}

/** Launches the plugin in a new world, and calls `startSession` in its frame. */
export async function launched(
  browser: Browser,
  worldOptions: WorldOptions = {},
  options: object = {},
): Promise<{ world: World; page: Page; frame: Frame; outcome: Outcome }> {
  const world = await pageWorld(browser, worldOptions);
  const { page, frame } = await world.launch();
  const outcome = await world.begin(frame, options);
  return { world, page, frame, outcome };
}

/** The bodies that came to the backend's route `launch`. */
export function launchesOf({ plugin }: Pick<Sites, "plugin">): Record<string, string>[] {
  const posted = plugin.requests.filter(({ url }) => url.pathname === "/auth/launch");
  return posted.map(({ body }) => JSON.parse(body));
}

/** The plugin's frame. */
export function frameOf(page: Page): Frame {
  const frame = page.frame({ name: "plugin" });
  if (frame === null) throw new Error("the host has no frame named plugin");
  return frame;
}

/** Calls a global function of the page: `begin(options)`, `call(url, init)` or `post(message)`. */
export function run<T = Outcome>(
  frame: Frame | Page,
  name: string,
  ...values: unknown[]
): Promise<T> {
  return frame.evaluate(
    ([name, values]) => {
      const named = (globalThis as unknown as Record<string, (...all: unknown[]) => T>)[name];
      if (named === undefined) throw new Error(`the page has no ${name}`);
      return named(...values);
    },
    [name, values] as const,
  );
}

const PAGE = `<!doctype html><title>Plugin</title><link rel="icon" href="data:,">
<script type="module">
  import { isPageError, startSession } from "/page.js";
  window.startSession = startSession;
  window.endings = [];
  window.heard = 0;
  addEventListener("message", ({ data }) => { if (data?.code === "evil") window.heard++; });
  const plain = (error) => ({ code: error.code, message: error.message, reason: error.reason,
    name: error.name, isPageError: isPageError(error), cause: String(error.cause) });
  window.begin = (options) => startSession({ onEnded: (end) => endings.push(end), ...options }).then(
    (session) => { window.session = session; return { session: JSON.parse(JSON.stringify(session)) }; },
    (error) => ({ error: plain(error) }));
  window.leave = (options) => void begin(options);
  window.call = (...request) => session.fetch(...request).then(
    async (response) => ({ status: response.status, text: await response.text() }),
    (error) => ({ error: plain(error) }));
</script>`;

export interface SiteRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Site {
  readonly origin: string;
  readonly requests: SiteRequest[];
}

async function site(
  name: string,
  answer: (request: Request) => Response | Promise<Response>,
): Promise<Site> {
  const requests: SiteRequest[] = [];
  const handler = toNodeHandler(async (request) => {
    const { method, url, headers } = request;
    const body = await request.clone().text();
    requests.push({ method, url: new URL(url), headers: Object.fromEntries(headers), body });
    return answer(request);
  });
  return { origin: `http://${name}.localhost:${await servingOn(createServer(handler))}`, requests };
}

function html(page: string): Response {
  return new Response(page, { headers: { "content-type": "text/html" } });
}

/**
 * Everything that a page keeps where other scripts or later visits may find it, as one string. Runs
 * in the page.
 */
export async function readKept(): Promise<string> {
  const places: Record<string, () => unknown> = {
    local: () => ({ ...localStorage }),
    session: () => ({ ...sessionStorage }),
    databases: async () => (await indexedDB.databases()).map(({ name }) => name),
    caches: () => caches.keys(),
    cookie: () => document.cookie,
    address: () => [location.href, document.referrer, window.name, history.state],
    markup: () => document.documentElement.outerHTML,
    // Other scripts see properties, but not closures.
    globals: () =>
      Object.entries(globalThis)
        .filter(([, value]) => value !== globalThis && !(value instanceof Node))
        .map(([name, value]) => `${name}: ${describe(value)}`),
  };
  function describe(value: unknown): string {
    if (typeof value !== "object" || value === null) return String(value);
    return Reflect.ownKeys(value)
      .map((key) => `${String(key)}: ${String(Reflect.get(value, key))}`)
      .join();
  }
  const entries = Object.entries(places).map(async ([place, read]) => {
    try {
      return [place, await read()];
    } catch (error) {
      return [place, `denied: ${error}`];
    }
  });
  return JSON.stringify(await Promise.all(entries));
}
