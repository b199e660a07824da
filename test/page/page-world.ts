// A host, a plugin and an evil site, each with an origin of its own, in one browser context.

import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { Browser, BrowserContext, Frame, Page } from "playwright-core";
import { onTestFinished } from "vitest";
import { servingOn } from "../support/recording-server.js";
import { pageBundle } from "./page-bundle.js";

/** The outcome of `startSession`, as the page reports it. */
export interface Outcome {
  readonly session?: { readonly variant: string; readonly tenantId: string };
  readonly error?: { readonly code: string; readonly message: string; readonly reason?: string };
}

export interface World {
  readonly host: FakeHost;
  readonly plugin: FakePlugin;
  /** A site whose pages are `evilHtml`. */
  readonly evil: Site;
  evilHtml: string;
  readonly context: BrowserContext;
  /** Console errors and uncaught errors of every page of the context. */
  readonly errors: string[];
  /** Opens the host, and returns the page and the plugin's frame in it. */
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

/** Launches the plugin in a new world, and calls `startSession` in its frame. */
export async function launched(
  browser: Browser,
  worldOptions: Parameters<typeof pageWorld>[1] = {},
  options: object = {},
): Promise<{ world: World; page: Page; frame: Frame; outcome: Outcome }> {
  const world = await pageWorld(browser, worldOptions);
  const { page, frame } = await world.launch();
  const outcome = await run(frame, "begin", { hostOrigins: [world.host.origin], ...options });
  return { world, page, frame, outcome };
}

/** The plugin's frame. */
export function frameOf(page: Page): Frame {
  const frame = page.frame({ name: "plugin" });
  if (frame === null) throw new Error("the host has no frame named plugin");
  return frame;
}

/** Calls a global function of the page: `begin(options)`, `call(url, init)` or `post(message)`. */
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

export interface Launch {
  readonly opaqueCode: string;
  readonly state: string;
  readonly tenantId: string;
}

/** A code that the host issued, and what it is bound to. */
export interface Grant extends Launch {
  readonly challenge: string;
}

export interface FakeHostOptions {
  /** Attributes of the plugin's frame. */
  readonly attributes?: string;
  /** JavaScript; may define `reply(answer, post)`, which is called instead of `post(answer)`. */
  readonly script?: string;
  /** The address that is launched. */
  readonly src?: (launch: Launch) => string;
}

export interface FakeHost extends Site {
  readonly launch: Launch;
  readonly grants: Map<string, Grant>;
  /** More HTML for the host's page, such as sibling frames. */
  beside: string;
  /** Holds back the answers to `plugin:pkce-init` until the returned function is called. */
  hold(): () => void;
}

export async function fakeHost(pluginOrigin: () => string, options: FakeHostOptions): Promise<FakeHost> {
  const launch = { opaqueCode: `opaque-${randomUUID()}`, state: `state-${randomUUID()}`, tenantId: "acme" };
  const grants = new Map<string, Grant>();
  let gate = Promise.resolve();

  async function authorise({ body }: SiteRequest): Promise<SiteAnswer> {
    await gate;
    const { challenge, opaque_code } = JSON.parse(body);
    if (opaque_code !== launch.opaqueCode) return answerWith({}, 400);
    const code = `code-${randomUUID()}`;
    grants.set(code, { ...launch, challenge });
    return answerWith({ type: "host:auth-code", code, state: launch.state, tenantId: launch.tenantId });
  }

  function page(): SiteAnswer {
    const query = new URLSearchParams({ opaque_code: launch.opaqueCode, state: launch.state });
    const src = options.src?.(launch) ?? `${pluginOrigin()}/?${query}&lang=en`;
    const html = `<!doctype html><title>Host</title><link rel="icon" href="data:,">
      <iframe name="plugin" ${options.attributes ?? ""} src="${src.replaceAll("&", "&amp;")}"></iframe>
      ${host.beside}
      <script>
        const inits = [], plugin = document.querySelector("iframe").contentWindow;
        window.post = (message) => plugin.postMessage(message, ${JSON.stringify(pluginOrigin())});
        let reply = (answer, post) => post(answer);
        addEventListener("message", async ({ source, origin, data }) => {
          if (source !== plugin || origin !== ${JSON.stringify(pluginOrigin())}) return;
          if (data?.type !== "plugin:pkce-init") return;
          inits.push(data);
          const answer = await fetch("/authorise", { method: "POST", body: JSON.stringify(data) });
          if (answer.ok) reply(await answer.json(), post);
        });
        ${options.script ?? ""}
      </script>`;
    return answerWith(html);
  }

  const site = await loopbackSite("host", (request) =>
    request.url.pathname === "/authorise" ? authorise(request) : page(),
  );
  const host: FakeHost = {
    ...site,
    launch,
    grants,
    beside: "",
    hold() {
      let open = (): void => {};
      gate = new Promise((resolve) => {
        open = resolve;
      });
      return open;
    },
  };
  return host;
}

const EXPIRES_AT = 4_000_000_000_000;

export interface FakePluginOptions {
  /** Whether sessions are in a cookie, with a CSRF token. */
  readonly cookie?: boolean;
  /** Answers instead of the backend, unless it returns `undefined`. */
  readonly answer?: (request: SiteRequest) => SiteAnswer | undefined;
  /** The outcome of a login. Default: a session. `lost` sets no cookie. */
  readonly login?: "lost" | { readonly error: string };
}

export interface FakePlugin extends Site {
  /** The bodies that came to /auth/launch. */
  readonly launches: Record<string, string>[];
  /** Every token that was issued. */
  readonly tokens: string[];
  /** If set, calls are answered 401 with this code. */
  over: string | undefined;
}

const PAGE = `<!doctype html><title>Plugin</title><link rel="icon" href="data:,">
<script type="module">
  import { isPageError, startSession } from "/page.js";
  window.startSession = startSession;
  window.endings = [];
  window.heard = 0;
  addEventListener("message", ({ data }) => { if (data?.code === "evil") window.heard++; });
  const told = (error) => ({ code: error.code, message: error.message, reason: error.reason,
    name: error.name, isPageError: isPageError(error), cause: String(error.cause) });
  window.begin = (options) => startSession({ onEnded: (end) => endings.push(end), ...options }).then(
    (session) => { window.session = session; return { session: JSON.parse(JSON.stringify(session)) }; },
    (error) => ({ error: told(error) }));
  window.leave = (options) => void begin(options);
  window.call = (...request) => session.fetch(...request).then(
    async (response) => ({ status: response.status, text: await response.text() }),
    (error) => ({ error: told(error) }));
</script>`;

function cookiesOf({ headers }: SiteRequest): Record<string, string> {
  return Object.fromEntries((headers.cookie ?? "").split("; ").map((pair) => pair.split("=")));
}

export async function fakePlugin(host: () => FakeHost, options: FakePluginOptions): Promise<FakePlugin> {
  const launches: Record<string, string>[] = [];
  const tokens: string[] = [];
  const spent = new Set<string>();
  const logins = new Set<string>();
  const bundle = await pageBundle();

  function open(variant: "A" | "B"): SiteAnswer {
    const token = `session-${randomUUID()}`;
    tokens.push(token);
    const info = { variant, tenantId: "acme", operator: { userId: "ada" }, expiresAt: EXPIRES_AT };
    if (!options.cookie) return answerWith({ session: token, ...info });
    const answer = answerWith({ csrf: `csrf-${token}`, ...info });
    const cookie = `__Host-session=${token}; Secure; HttpOnly; SameSite=None; Partitioned; Path=/`;
    return { ...answer, headers: { ...answer.headers, "set-cookie": cookie } };
  }

  function launch(request: SiteRequest): SiteAnswer {
    const body = JSON.parse(request.body);
    launches.push(body);
    const { code, codeVerifier, tenantId, hostOrigin } = body;
    if (request.headers.origin !== plugin.origin) return answerWith({ error: "origin_refused" }, 403);
    if (hostOrigin !== host().origin) return answerWith({ error: "host_unknown" }, 403);
    const grant = host().grants.get(code);
    const challenge = createHash("sha256").update(codeVerifier).digest("base64url");
    if (spent.has(code)) return answerWith({ error: "code_spent", message: "This code was used." }, 409);
    spent.add(code);
    return grant?.challenge === challenge && grant.tenantId === tenantId
      ? open("A")
      : answerWith({ error: "relaunch_required", reason: "launch_refused", message: "Open it again." }, 401);
  }

  function session(request: SiteRequest): SiteAnswer {
    const { "__Host-session": token = "", login = "" } = cookiesOf(request);
    if (logins.delete(login)) return open("B");
    return tokens.includes(token)
      ? answerWith({ csrf: `csrf-${token}`, variant: "A", tenantId: "acme", expiresAt: EXPIRES_AT })
      : answerWith({ error: "session_missing", message: "Log in." }, 401);
  }

  /** Redirects back at once, without an authorization endpoint. */
  function login({ url }: SiteRequest): SiteAnswer {
    const returnTo = new URL(url.searchParams.get("return_to") ?? "", plugin.origin);
    if (typeof options.login === "object") returnTo.hash = `login_error=${options.login.error}`;
    const id = randomUUID();
    if (options.login === undefined) logins.add(id);
    return {
      status: 303,
      headers: {
        location: returnTo.href,
        "set-cookie": options.login ? [] : [`login=${id}; HttpOnly; SameSite=Lax; Path=/`],
      },
    };
  }

  function call(request: SiteRequest): SiteAnswer {
    if (plugin.over) return answerWith({ error: plugin.over, message: "It is over." }, 401);
    const token = request.headers.authorization?.slice("Bearer ".length);
    const csrf = request.headers["x-bivariant-csrf"]?.slice("csrf-".length);
    const isKnown = options.cookie
      ? tokens.includes(cookiesOf(request)["__Host-session"] ?? "") && csrf !== undefined
      : tokens.includes(token ?? "");
    return isKnown ? answerWith({ called: true }) : answerWith({ error: "session_unknown" }, 401);
  }

  const routes: Record<string, (request: SiteRequest) => SiteAnswer> = {
    "/": () => answerWith(PAGE),
    // A page with an opaque origin loads it across origins.
    "/page.js": () => ({
      headers: { "content-type": "text/javascript", "access-control-allow-origin": "*" },
      body: bundle,
    }),
    "/auth/launch": launch,
    "/auth/session": session,
    "/auth/login": login,
    "/auth/logout": () => ({ status: 204 }),
    "/own-401": () => answerWith({ error: "api_unauthorized" }, 401),
  };
  const site = await loopbackSite(
    "plugin",
    (request) => options.answer?.(request) ?? (routes[request.url.pathname] ?? call)(request),
  );
  const plugin: FakePlugin = { ...site, launches, tokens, over: undefined };
  return plugin;
}

export interface SiteRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface SiteAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string;
}

export interface Site {
  readonly origin: string;
  readonly requests: SiteRequest[];
}

/** Answers with JSON for an object, and with a page for a string. */
export function answerWith(body: string | object, status = 200): SiteAnswer {
  const isPage = typeof body === "string";
  const type = isPage ? "text/html" : "application/json";
  return { status, headers: { "content-type": type }, body: isPage ? body : JSON.stringify(body) };
}

export async function loopbackSite(
  name: string,
  answer: (request: SiteRequest) => SiteAnswer | Promise<SiteAnswer>,
): Promise<Site> {
  const requests: SiteRequest[] = [];
  let origin = "";
  const server = createServer(async (incoming, response) => {
    const request = await read(incoming, origin);
    requests.push(request);
    const { status = 200, headers = {}, body } = await answer(request);
    response.writeHead(status, { connection: "close", ...headers }).end(body);
  });
  origin = `http://${name}.localhost:${await servingOn(server)}`;
  return { origin, requests };
}

async function read(incoming: IncomingMessage, origin: string): Promise<SiteRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return {
    method: incoming.method ?? "",
    url: new URL(origin + incoming.url),
    headers: incoming.headers as Record<string, string>,
    body: Buffer.concat(chunks).toString(),
  };
}

/** Everything that a page keeps where other scripts or later visits may find it, as one string. */
export async function keptBy(frame: Frame | Page): Promise<string> {
  const kept = await frame.evaluate(async () => {
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
  });
  const context = "context" in frame ? frame.context() : frame.page().context();
  return kept + JSON.stringify(await context.cookies());
}
