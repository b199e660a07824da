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
  const good = [
    { name: "one", origins: ["https://customer.example"] },
    { name: "several, with ports", origins: ["https://a.example:8443", "http://localhost:3000"] },
    { name: "none, for a page that no host may embed", origins: [] },
    { name: "an IP literal", origins: ["http://127.0.0.1:8080", "http://[::1]:8080"] },
  ];
  test.each(good)("$name is accepted", ({ origins }) => expect(areOrigins(origins)).toBe(true));

  const bad = [
    { name: "undefined", origins: undefined },
    { name: "a star", origins: ["*"] },
    { name: "a wildcard", origins: ["https://*.example"] },
    { name: "a star among origins", origins: ["https://a.example", "*"] },
    { name: "a pattern", origins: ["https://*.example/"] },
    { name: "a trailing slash", origins: ["https://a.example/"] },
    { name: "a path", origins: ["https://a.example/host"] },
    { name: "a default port", origins: ["https://a.example:443"] },
    { name: "capitals", origins: ["https://A.example"] },
    { name: "user and password", origins: ["https://u:p@a.example"] },
    { name: "no scheme", origins: ["a.example"] },
    { name: "an opaque origin", origins: ["null"] },
    { name: "a file", origins: ["file:///"] },
    { name: "an empty text", origins: [""] },
    { name: "a string instead of a list", origins: "https://a.example" },
    { name: "a number instead of a list", origins: 5 },
    { name: "null instead of a list", origins: null },
  ];
  test.each(bad)("$name is refused", ({ origins }) => {
    expect(areOrigins(origins as string[])).toBeFalsy();
  });
});

describe("the origin of the host application", () => {
  const [host, other] = ["https://customer.example", "https://a.example"];
  const unknown = "host_origin_unknown";
  const row = (
    name: string,
    is: string,
    allowed: string[],
    ancestors?: string[],
    referrer?: string,
  ) => ({ name, is, allowed, ancestors, referrer });
  test.each([
    row("ancestorOrigins, without a referrer", host, [other, host], [host]),
    row("the parent, not the top", unknown, [host], [other, host]),
    row("ancestorOrigins rather than the referrer", host, [other, host], [host], `${other}/`),
    row(
      "the referrer in browsers without ancestorOrigins",
      host,
      [other, host],
      undefined,
      `${host}/app`,
    ),
    row("a withheld ancestor and the only allowed host", host, [host, host], ["null"]),
    row("no hint and the only allowed host", host, [host]),
    row("no hint among several allowed hosts", unknown, [other, host]),
    row("a host that is not allowed", unknown, [host], undefined, `${other}/`),
  ])("from $name is $is", ({ ancestors, referrer = "", allowed, is }) => {
    vi.stubGlobal("self", {});
    vi.stubGlobal("parent", {});
    vi.stubGlobal("location", { ancestorOrigins: ancestors });
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

describe("a message is not a host:auth-code:", () => {
  const types = [{ type: "plugin:pkce-init" }, { type: ["host:auth-code"] }];
  const others = [undefined, null, 0, "host:auth-code", [], {}, ...types].map((data) => ({ data }));
  test.each(others)("$data", ({ data }) => expect(readAuthCode(data)).toBeUndefined());
  test("a host:auth-code is recognised", () => expect(readAuthCode(right)).toMatchObject(right));
});

describe("a host:auth-code must hold three strings of 1 to 4096 characters:", () => {
  const rows = [
    { name: "a usual message", change: {}, valid: true },
    { name: "a code of 4096 characters", change: { code: "c".repeat(4096) }, valid: true },
    { name: "a code of 100 kB", change: { code: "c".repeat(100_000) }, valid: false },
    { name: "a state of 100 kB", change: { state: "s".repeat(100_000) }, valid: false },
    { name: "no code", change: { code: undefined }, valid: false },
    { name: "no state", change: { state: undefined }, valid: false },
    { name: "no tenantId", change: { tenantId: undefined }, valid: false },
    { name: "an empty code", change: { code: "" }, valid: false },
    { name: "an empty tenantId", change: { tenantId: "" }, valid: false },
    { name: "a code that is a number", change: { code: 1 }, valid: false },
    { name: "a code that is a list", change: { code: ["c"] }, valid: false },
    { name: "a tenantId that is an object", change: { tenantId: { length: 1 } }, valid: false },
  ];
  test.each(rows)("$name is valid: $valid", ({ change, valid }) => {
    expect(isAuthCodeValid({ ...right, ...change } as never)).toBe(valid);
  });
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

describe("an error code from an answer or an address", () => {
  const rows = [
    { value: "login_denied", code: "login_denied" },
    { value: "<script>", code: "backend_failed" },
    { value: "a".repeat(41), code: "backend_failed" },
    { value: "", code: "backend_failed" },
    { value: undefined, code: "backend_failed" },
    { value: null, code: "backend_failed" },
    { value: 404, code: "backend_failed" },
  ];
  test.each(rows)("$value becomes $code", ({ value, code }) =>
    expect(errorCodeOf(value)).toBe(code),
  );
});

describe("a session", () => {
  const info = { variant: "A", tenantId: "acme", expiresAt: 1 };

  interface Sent {
    readonly url: string;
    readonly init: RequestInit;
  }

  /** A session whose backend answers calls with `answer`, with what was sent and how it ended. */
  async function opened(
    answer: () => Response | Promise<Response> = () => new Response(),
    change: object = { session: "s" },
  ) {
    const sent: Sent[] = [];
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
    const session = await openSession(
      backend,
      Response.json({ ...info, ...change }),
      undefined,
      (end) => ends.push(end),
    );
    return { session, sent, ends };
  }

  test.each([
    { input: "/api/devices", url: "https://plugin.example/api/devices" },
    { input: "devices", url: "https://plugin.example/devices" },
    { input: "https://plugin.example/a", url: "https://plugin.example/a" },
  ])("sends a call to $input with its bearer token", async ({ input, url }) => {
    const { session, sent } = await opened();
    const headers = { Authorization: "Bearer mine", "x-own": "1" };
    await session.fetch(input, { method: "POST", headers });
    const [call] = sent;
    expect([call?.url, call?.init.method]).toEqual([url, "POST"]);
    expect(Object.fromEntries(call?.init.headers as Headers)).toEqual({
      authorization: "Bearer s",
      "x-own": "1",
    });
  });

  test("in a cookie sends the CSRF token instead of a bearer token", async () => {
    const { session, sent } = await opened(undefined, { csrf: "c" });
    await session.fetch("/api");
    expect(Object.fromEntries(sent[0]?.init.headers as Headers)).toEqual({
      "x-bivariant-csrf": "c",
    });
  });

  test.each([
    "https://evil.example/steal",
    "//evil.example/steal",
    "\\\\evil.example\\steal",
    "https://plugin.example@evil.example/",
    "https://plugin.example:9/",
    "http://plugin.example/",
    "data:,x",
  ])("sends nothing to %s: origin_refused", async (input) => {
    const { session, sent } = await opened();
    expect(await rejectionOf(session.fetch(input))).toMatchObject({ code: "origin_refused" });
    expect(sent).toEqual([]);
  });

  test.each([
    ...[
      "relaunch_required",
      "login_required",
      "session_missing",
      "session_unknown",
      "session_expired",
    ],
  ])("ends at a 401 with %s, once", async (reason) => {
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
  });

  test.each([
    { name: "a 401 of the application itself", status: 401, body: '{"error":"api_unauthorized"}' },
    { name: "a 403", status: 403, body: '{"error":"session_expired"}' },
    { name: "a 500", status: 500, body: '{"error":"relaunch_required"}' },
    { name: "a 503 of a store that is down", status: 503, body: '{"error":"store_unavailable"}' },
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

  test("ends at once at a logout, which is sent once, and refuses a call during it", async () => {
    const { session, sent, ends } = await opened();
    const logout = session.logout();
    const during = rejectionOf(session.fetch("/api"));
    await Promise.all([logout, session.logout()]);
    expect(await during).toMatchObject({ code: "session_ended", reason: "logged_out" });
    const url = "https://plugin.example/auth/logout";
    expect(sent).toMatchObject([{ url, init: { method: "POST", body: "{}" } }]);
    const headers = { authorization: "Bearer s", "content-type": "application/json" };
    expect(Object.fromEntries(new Headers(sent[0]?.init.headers))).toEqual(headers);
    expect(ends).toEqual([{ reason: "logged_out", ask: "relaunch" }]);
  });

  test.each([200, 204, 401])("ends at a logout that is answered %i", async (status) => {
    const { session, ends } = await opened(() => new Response(null, { status }));
    await session.logout();
    expect(ends).toEqual([{ reason: "logged_out", ask: "relaunch" }]);
  });

  test.each([301, 403, 404, 500, 503])(
    "reports a logout that is answered %i, and ends",
    async (status) => {
      const { session } = await opened(() => new Response(null, { status }));
      expect(await rejectionOf(session.logout())).toMatchObject({ code: "backend_failed" });
      expect(await rejectionOf(session.fetch("/api"))).toMatchObject({ code: "session_ended" });
    },
  );

  test.each([401, 409, 503])(
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
    ...[7, "", "AB", "C", true, undefined].map((variant) => ({
      name: `the variant ${JSON.stringify(variant)}`,
      answer: Response.json({ ...info, session: "s", variant }),
    })),
    { name: "a page", answer: new Response("<!doctype html>") },
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
