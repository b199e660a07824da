// A plugin: its page, and a backend that keeps to the protocol between the two. It believes nothing: a code is redeemed
// only with the verifier of its challenge, once, for its own host and tenant.
import { createHash, randomUUID } from "node:crypto";
import type { FakeHost } from "./fake-host.js";
import { answerWith, loopbackSite, type Site, type SiteAnswer, type SiteRequest } from "./loopback-site.js";
import { pageBundle } from "./page-bundle.js";

const EXPIRES_AT = 4_000_000_000_000;

export interface FakePluginOptions {
  /** Sessions in a cookie, with a CSRF token. */
  readonly cookie?: boolean;
  /** Answers instead of the backend; `undefined` leaves it to the backend. */
  readonly answer?: (request: SiteRequest) => SiteAnswer | undefined;
  /** Changes the page helper before it is served. */
  readonly bundle?: (text: string) => string;
  /** What a login comes to. Default: a session; `lost` is one without a cookie. */
  readonly login?: "lost" | { readonly error: string };
}

export interface FakePlugin extends Site {
  /** The bodies that came to /auth/launch. */
  readonly launches: Record<string, string>[];
  /** Every token that was given out. */
  readonly tokens: string[];
  /** From then on calls are answered 401 with this code. */
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
  const text = await pageBundle();
  const bundle = options.bundle?.(text) ?? text;

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

  /** The way to the authorization endpoint and back, without the person on it. */
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
    // The page of an opaque origin loads it across origins.
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
