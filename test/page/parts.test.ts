// The parts of the page that need no browser: exact origins, host:auth-code, PKCE, sessions and the
// bundle.
import { gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  areOrigins,
  challengeOf,
  createVerifier,
  hostOriginOf,
  isAuthCodeValid,
  readAuthCode,
} from "../../src/page/handshake.js";
import type { PageError } from "../../src/page/page-error.js";
import { errorCodeOf, openSession, type SessionEnd } from "../../src/page/session.js";
import { rejectionOf } from "../support/wait.js";
import { pageBundle } from "./page-bundle.js";

describe("hostOrigins must be exact origins:", () => {
  test.each([
    { name: "several, with ports", origins: ["https://a.example:8443", "http://localhost:3000"] },
    { name: "none, for a page that no host may embed", origins: [] },
    { name: "an IP literal", origins: ["http://[::1]:8080"] },
  ])("$name is accepted", ({ origins }) => expect(areOrigins(origins)).toBe(true));

  test.each([
    { name: "undefined", origins: undefined },
    { name: "null", origins: null },
    { name: "a string instead of a list", origins: "https://a.example" },
    { name: "a star among origins", origins: ["https://a.example", "*"] },
    { name: "a wildcard", origins: ["https://*.example"] },
    { name: "a trailing slash", origins: ["https://a.example/"] },
    { name: "a default port", origins: ["https://a.example:443"] },
    { name: "capitals", origins: ["https://A.example"] },
    { name: "user and password", origins: ["https://u:p@a.example"] },
    { name: "no scheme", origins: ["a.example"] },
    { name: "an opaque origin", origins: ["null"] },
    { name: "a file", origins: ["file:///"] },
  ])("$name is refused", ({ origins }) => {
    expect(areOrigins(origins as string[])).toBeFalsy();
  });
});

describe("the origin of the host application", () => {
  const [host, other] = ["https://customer.example", "https://a.example"];
  const both = [other, host];
  const unknown = "host_origin_unknown";
  test.each<{ name: string; is: string; allowed: string[]; names?: string[]; referrer?: string }>([
    { name: "ancestorOrigins", is: host, allowed: both, names: [host] },
    { name: "the parent, not the top", is: unknown, allowed: [host], names: both },
    { name: "both hints", is: host, allowed: both, names: [host], referrer: `${other}/` },
    { name: "the referrer alone", is: host, allowed: both, referrer: `${host}/app` },
    { name: "a withheld ancestor", is: host, allowed: [host, host], names: ["null"] },
    { name: "no hint and one allowed host", is: host, allowed: [host] },
    { name: "no hint and several allowed hosts", is: unknown, allowed: both },
    { name: "a host that is not allowed", is: unknown, allowed: [host], referrer: `${other}/` },
  ])("from $name is $is", ({ names, referrer = "", allowed, is }) => {
    vi.stubGlobal("self", {});
    vi.stubGlobal("parent", {});
    vi.stubGlobal("location", { ancestorOrigins: names });
    vi.stubGlobal("document", { referrer });
    onTestFinished(() => void vi.unstubAllGlobals());
    let found: string | undefined;
    try {
      found = hostOriginOf(allowed);
    } catch (error) {
      found = (error as PageError).code;
    }
    expect(found).toBe(is);
  });
});

const right = { type: "host:auth-code", code: "c", state: "s", tenantId: "acme" };

test.each([undefined, null, "host:auth-code", [], { type: ["host:auth-code"] }])(
  "%j is not a host:auth-code",
  (data) => expect(readAuthCode(data)).toBeUndefined(),
);

test.each([
  { name: "a usual message", change: {}, valid: true },
  { name: "a code of 4096 characters", change: { code: "c".repeat(4096) }, valid: true },
  { name: "a longer code", change: { code: "c".repeat(4097) }, valid: false },
  { name: "no state", change: { state: undefined }, valid: false },
  { name: "an empty tenantId", change: { tenantId: "" }, valid: false },
  { name: "a code that is a list", change: { code: ["c"] }, valid: false },
])("a host:auth-code must hold three strings of 1 to 4096 characters: $name", (row) => {
  expect(readAuthCode(right)).toBe(right);
  expect(isAuthCodeValid({ ...right, ...row.change } as never)).toBe(row.valid);
});

describe("PKCE", () => {
  test("makes the S256 challenge of the example in RFC 7636 appendix B", async () => {
    const challenge = await challengeOf("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
    expect(challenge).toBe("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
  });

  test("makes a verifier of 43 unreserved characters that differs each time", () => {
    const verifiers = Array.from({ length: 500 }, createVerifier);
    expect(verifiers.every((verifier) => /^[A-Za-z0-9_-]{43}$/.test(verifier))).toBe(true);
    expect(new Set(verifiers).size).toBe(500);
  });
});

test("an error code from an answer or an address has 1 to 40 lower-case letters, or is backend_failed", () => {
  expect(errorCodeOf("login_denied")).toBe("login_denied");
  for (const value of ["<script>", "a".repeat(41), "", undefined, null, 404])
    expect(errorCodeOf(value)).toBe("backend_failed");
});

describe("a session", () => {
  const info = { variant: "A", tenantId: "acme", expiresAt: 1 };

  /** A session whose backend answers calls with `answer`, with what was sent and how it ended. */
  async function opened(
    answer: () => Response | Promise<Response> = () => new Response(),
    change: object = { session: "s" },
  ) {
    const sent: { readonly url: string; readonly init: RequestInit }[] = [];
    const ends: SessionEnd[] = [];
    const backend = {
      url: new URL("https://plugin.example/auth"),
      timeoutMs: 50,
      fetch: async (url: string, init: RequestInit) => {
        init.signal?.throwIfAborted();
        sent.push({ url, init });
        return answer();
      },
    };
    const answered = Response.json({ ...info, ...change });
    const session = await openSession(backend, answered, undefined, (end) => ends.push(end));
    return { session, sent, ends };
  }

  test.each([
    { change: { session: "s" }, name: "authorization", value: "Bearer s" },
    { change: { csrf: "c" }, name: "x-bivariant-csrf", value: "c" },
  ])("sends its own $name with a call to its backend's origin", async ({ change, name, value }) => {
    const { session, sent } = await opened(undefined, change);
    const headers = { [name]: "of the caller", "x-own": "1" };
    for (const input of ["/api", "api", "https://plugin.example/api"])
      await session.fetch(input, { method: "POST", headers });
    for (const { url, init } of sent) {
      expect([url, init.method]).toEqual(["https://plugin.example/api", "POST"]);
      expect(Object.fromEntries(init.headers as Headers)).toEqual({ ...headers, [name]: value });
    }
    expect(sent).toHaveLength(3);
  });

  test.each([
    "https://evil.example/steal",
    "\\\\evil.example\\steal",
    "https://plugin.example:9/",
    "data:,x",
  ])("sends nothing to %s: origin_refused", async (input) => {
    const { session, sent } = await opened();
    expect(await rejectionOf(session.fetch(input))).toMatchObject({ code: "origin_refused" });
    expect(sent).toEqual([]);
  });

  test.each(["relaunch_required", "login_required", "session_unknown"])(
    "ends at a 401 with %s, once",
    async (reason) => {
      const { session, sent, ends } = await opened(() =>
        Response.json({ error: reason }, { status: 401 }),
      );
      for (let calls = 0; calls < 2; calls++)
        expect(await rejectionOf(session.fetch("/api"))).toMatchObject({
          code: "session_ended",
          reason,
        });
      expect(sent).toHaveLength(1);
      expect(ends).toEqual([{ reason, ask: "relaunch" }]);
    },
  );

  test.each([
    { name: "a 401 of the application itself", status: 401, body: '{"error":"api_unauthorized"}' },
    { name: "a 403", status: 403, body: '{"error":"session_expired"}' },
    { name: "a 401 without JSON", status: 401, body: "session_expired" },
    { name: "a 401 whose JSON is null", status: 401, body: "null" },
    { name: "a 401 with a longer code", status: 401, body: '{"error":"mfa_login_required"}' },
  ])("does not end at $name, and returns it whole", async ({ status, body }) => {
    const { session, ends } = await opened(() => new Response(body, { status }));
    const answer = await session.fetch("/odd");
    expect([answer.status, await answer.text(), ends]).toEqual([status, body, []]);
  });

  test("does not wait for ever for the body of a 401", async () => {
    const endless = () => new ReadableStream({ pull: () => new Promise(() => {}) });
    const { session } = await opened(() => new Response(endless(), { status: 401 }));
    expect((await session.fetch("/api")).status).toBe(401);
  });

  test("continues after an aborted call, which rejects with the signal's reason", async () => {
    const { session } = await opened();
    const signal = AbortSignal.abort("enough");
    expect(await rejectionOf(session.fetch("/api", { signal }))).toBe("enough");
    expect((await session.fetch("/api")).status).toBe(200);
  });

  test("ends at once at a logout, and refuses a call during it", async () => {
    const { session, sent, ends } = await opened();
    const logout = session.logout();
    const during = rejectionOf(session.fetch("/api"));
    await logout;
    expect(await during).toMatchObject({ code: "session_ended", reason: "logged_out" });
    const url = "https://plugin.example/auth/logout";
    expect(sent).toMatchObject([{ url, init: { method: "POST", body: "{}" } }]);
    const headers = { authorization: "Bearer s", "content-type": "application/json" };
    expect(Object.fromEntries(new Headers(sent[0]?.init.headers))).toEqual(headers);
    expect(ends).toEqual([{ reason: "logged_out", ask: "relaunch" }]);
  });

  test.each([
    { status: 401, outcome: undefined },
    { status: 301, outcome: "backend_failed" },
    { status: 503, outcome: "backend_failed" },
  ])("ends at a logout that is answered $status, with the outcome $outcome", async (row) => {
    const { session } = await opened(() => new Response(null, { status: row.status }));
    expect(await session.logout().catch(({ code }) => code)).toBe(row.outcome);
    expect(await rejectionOf(session.fetch("/api"))).toMatchObject({ code: "session_ended" });
  });

  test("that is over here is logged out at the backend by the next logout, after one that failed", async () => {
    const answers = [503, 204, 401].map((status) => new Response(null, { status }));
    const { session, sent, ends } = await opened(() => answers.shift() as Response);
    expect(await rejectionOf(session.logout())).toMatchObject({ code: "backend_failed" });
    await session.logout();
    const everywhere = rejectionOf(session.logout({ everywhere: true }));
    expect(await everywhere).toMatchObject({ code: "backend_failed" });
    expect([sent.length, ends.length]).toEqual([3, 1]);
  });

  test.each([401, 503])(
    "ends at a logout everywhere at its answer, but not at a %i",
    async (status) => {
      const answers = [status, 204].map((code) => new Response(null, { status: code }));
      const { session, sent, ends } = await opened(() => answers.shift() as Response);
      const error = await rejectionOf(session.logout({ everywhere: true }));
      expect([error, ends]).toMatchObject([{ code: "backend_failed" }, []]);
      await session.logout({ everywhere: true });
      expect([sent[1]?.init.body, ends.length]).toEqual(['{"everywhere":true}', 1]);
    },
  );

  test.each([
    { name: "another variant", answer: Response.json({ ...info, session: "s", variant: "AB" }) },
    { name: "no variant", answer: Response.json({ ...info, session: "s", variant: undefined }) },
    { name: "an empty body", answer: new Response() },
    { name: "null", answer: new Response("null") },
    { name: "the 502 of a proxy", answer: new Response("<h1>Bad gateway</h1>", { status: 502 }) },
    { name: "an invalid error code", answer: Response.json({ error: "<b>" }, { status: 400 }) },
  ])("is not opened by $name, which is backend_failed", async ({ answer }) => {
    const backend = { url: new URL("https://plugin.example/auth"), timeoutMs: 50, fetch };
    const opening = openSession(backend, answer, undefined, undefined);
    expect(await rejectionOf(opening)).toMatchObject({ name: "PageError", code: "backend_failed" });
  });
});

describe("the bundle of the whole entry", () => {
  test("has at most 2.2 kB, minified and gzipped", async () => {
    expect(gzipSync(await pageBundle(), { level: 9 }).length).toBeLessThanOrEqual(2_200);
  });

  test("imports nothing", async () => {
    expect(await pageBundle()).not.toMatch(/\b(?:import|require)\b/);
  });
});
