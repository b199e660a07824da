// The parts that need no browser: exact origins, the shape of host:auth-code, the challenge.
import { describe, expect, test } from "vitest";
import { errorCodeOf } from "../../src/page/backend-client.js";
import {
  areOrigins,
  challengeOf,
  createVerifier,
  isAuthCodeValid,
  readAuthCode,
} from "../../src/page/handshake.js";
import { openSession, type Session, type SessionEnd } from "../../src/page/session.js";
import { rejectionOf } from "../support/wait.js";

describe("hostOrigins lists exact origins", () => {
  const good = [
    { name: "one", origins: ["https://customer.example"] },
    { name: "several, with ports", origins: ["https://a.example:8443", "http://localhost:3000"] },
    { name: "an IP literal", origins: ["http://127.0.0.1:8080", "http://[::1]:8080"] },
  ];
  test.each(good)("$name: accepted", ({ origins }) => expect(areOrigins(origins)).toBe(true));

  const bad = [
    { name: "none", origins: [] },
    { name: "nothing at all", origins: undefined },
    { name: "a star", origins: ["*"] },
    { name: "a star among origins", origins: ["https://a.example", "*"] },
    { name: "a pattern", origins: ["https://*.example/"] },
    { name: "a trailing slash", origins: ["https://a.example/"] },
    { name: "a path", origins: ["https://a.example/host"] },
    { name: "a default port", origins: ["https://a.example:443"] },
    { name: "capitals", origins: ["https://A.example"] },
    { name: "user and password", origins: ["https://u:p@a.example"] },
    { name: "no scheme", origins: ["a.example"] },
    { name: "null", origins: ["null"] },
    { name: "a file", origins: ["file:///"] },
    { name: "an empty one", origins: [""] },
    { name: "a text in place of a list", origins: "https://a.example" },
    { name: "a number in place of a list", origins: 5 },
    { name: "null in place of a list", origins: null },
  ];
  test.each(bad)("$name: refused", ({ origins }) => {
    expect(areOrigins(origins as string[])).toBeFalsy();
  });
});

const right = { type: "host:auth-code", code: "c", state: "s", tenantId: "acme" };

describe("another message than host:auth-code is none of ours", () => {
  const others = [
    undefined,
    null,
    0,
    "host:auth-code",
    [],
    {},
    { type: "plugin:pkce-init" },
    { type: ["host:auth-code"] },
  ];
  test.each(others.map((data) => ({ name: JSON.stringify(data), data })))("$name", ({ data }) => {
    expect(readAuthCode(data)).toBeUndefined();
  });
  test("and host:auth-code is", () => expect(readAuthCode(right)).toMatchObject(right));
});

describe("host:auth-code carries three strings of sensible length", () => {
  const rows = [
    { name: "as it should be", change: {}, valid: true },
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
  test.each(rows)("$name: $valid", ({ change, valid }) => {
    expect(isAuthCodeValid({ ...right, ...change } as never)).toBe(valid);
  });
});

describe("PKCE", () => {
  test("the challenge is S256: the example of RFC 7636 appendix B", async () => {
    const challenge = await challengeOf("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
    expect(challenge).toBe("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
  });

  test("a verifier is 43 unreserved characters, another each time", () => {
    const verifiers = Array.from({ length: 500 }, createVerifier);
    expect(verifiers.every((verifier) => /^[A-Za-z0-9_-]{43}$/.test(verifier))).toBe(true);
    expect(new Set(verifiers).size).toBe(500);
  });
});

describe("a code from outside is handed on only if it can be one", () => {
  const rows = [
    { value: "login_denied", code: "login_denied" },
    { value: "<script>", code: "backend_failed" },
    { value: "a".repeat(41), code: "backend_failed" },
    { value: "", code: "backend_failed" },
    { value: undefined, code: "backend_failed" },
    { value: null, code: "backend_failed" },
    { value: 404, code: "backend_failed" },
  ];
  test.each(rows)("$value: $code", ({ value, code }) => expect(errorCodeOf(value)).toBe(code));
});

describe("a session", () => {
  const info = { variant: "B", tenantId: "acme", expiresAt: 1 };

  function opened(
    answer: () => Response,
    given: object = { ...info, session: "s" },
    ended?: (end: SessionEnd) => void,
  ): Promise<Session> {
    const backend = {
      url: new URL("https://plugin.example/auth"),
      timeoutMs: 50,
      fetch: async () => answer(),
    };
    return openSession(backend, Response.json(given), undefined, ended);
  }

  test.each([200, 204, 401])("whose logout is answered %i is over", async (status) => {
    const ends: SessionEnd[] = [];
    const session = await opened(
      () => new Response(null, { status }),
      undefined,
      (end) => ends.push(end),
    );
    await session.logout();
    expect(ends).toEqual([{ reason: "logged_out", ask: "login" }]);
  });

  test.each([301, 403, 404, 500, 503])(
    "whose logout is answered %i goes on at the backend",
    async (status) => {
      const session = await opened(() => new Response(null, { status }));
      expect(await rejectionOf(session.logout())).toMatchObject({ code: "backend_failed" });
      expect(await rejectionOf(session.fetch("/api"))).toMatchObject({ code: "session_ended" });
    },
  );

  test("does not wait for ever for what a 401 says", async () => {
    const endless = () => new ReadableStream({ pull: () => new Promise(() => {}) });
    const session = await opened(() => new Response(endless(), { status: 401 }));
    expect((await session.fetch("/api")).status).toBe(401);
  });

  test.each([7, "", "AB", "C", true, undefined])("of variant %j is none", async (variant) => {
    const opening = opened(() => new Response(), { ...info, session: "s", variant });
    expect(await rejectionOf(opening)).toMatchObject({ name: "PageError", code: "backend_failed" });
  });
});
