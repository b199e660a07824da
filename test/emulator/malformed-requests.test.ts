// Whatever is thrown at it, the emulator answers once, and never 5xx.
import fc from "fast-check";
import { expect, test } from "vitest";
import { ASSERTION_TYPE, PluginClient } from "./plugin-client.js";
import { CALLBACK, Portal } from "./portal.js";

const RUNS = 1500;
const plugin = new PluginClient({ rateLimit: false });
plugin.emulator.registerServiceAccount({ clientId: "worker", clientSecret: "s", tenantId: "acme" });

const part = fc.oneof(
  fc.json().map((json) => Buffer.from(json).toString("base64url")),
  fc.base64String(),
  fc.constant(plugin.assertion().split(".")[0] ?? ""),
);
const value = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom("client_credentials", "authorization_code", "reporter", ASSERTION_TYPE, "__proto__"),
  fc.tuple(part, part, part).map((parts) => parts.join(".")),
);
const name = fc.oneof(
  fc.constantFrom(
    "grant_type",
    "client_id",
    "client_assertion_type",
    "client_assertion",
    "code",
    "client_secret",
  ),
  fc.string(),
);

test("every POST to Variant A's token endpoint is answered 400 unless it is right", async () => {
  const form = fc.array(fc.tuple(name, value)).map((pairs) => String(new URLSearchParams(pairs)));
  const body = fc.oneof(form, fc.string({ unit: "binary" }));
  await fc.assert(
    fc.asyncProperty(body, async (text) => {
      expect((await plugin.post(text)).status).toBe(400);
    }),
    { numRuns: RUNS },
  );
});

test("a valid assertion with any one claim or header replaced is answered 200 or 400", async () => {
  const member = fc.constantFrom(
    "iss",
    "sub",
    "aud",
    "jti",
    "iat",
    "exp",
    "nbf",
    "alg",
    "kid",
    "crit",
    "b64",
    "typ",
  );
  await fc.assert(
    fc.asyncProperty(member, fc.jsonValue(), async (key, changed) => {
      const part = ["alg", "kid", "crit", "b64", "typ"].includes(key) ? "header" : "claims";
      const { status } = await plugin.requestToken({ [part]: { [key]: changed } });
      expect([200, 400]).toContain(status);
    }),
    { numRuns: RUNS },
  );
});

test("Variant B's token endpoint answers any JSON with a 4xx", async () => {
  const fields = fc.dictionary(
    fc.oneof(name, fc.constantFrom("code_verifier", "redirect_uri")),
    fc.oneof(value, fc.jsonValue()),
  );
  const body = fc.oneof(
    fields.map((object) => JSON.stringify(object)),
    fc.json(),
    fc.string({ unit: "binary" }),
  );
  await fc.assert(
    fc.asyncProperty(body, async (text) => {
      const init = { method: "POST", headers: { "content-type": "application/json" }, body: text };
      const { status } = await plugin.emulator.fetch("/v1/auth/token", init);
      expect([400, 401]).toContain(status);
    }),
    { numRuns: RUNS },
  );
});

test("any path, method and Authorization header is answered below 500", async () => {
  const segment = fc.oneof(
    fc.webSegment(),
    fc.constantFrom("api", "v1", "acme", "devices", "auth", "token", "%", "%2e", ".."),
  );
  const path = fc.array(segment, { maxLength: 7 }).map((segments) => `/${segments.join("/")}`);
  const method = fc.constantFrom("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY");
  const authorization = fc.string().map((text) => `Bearer ${text}`);
  await fc.assert(
    fc.asyncProperty(path, method, authorization, async (pathname, verb, header) => {
      const init = { method: verb, headers: { authorization: header } };
      const { status } = await plugin.emulator.fetch(new URL(`http://h.example${pathname}`), init);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
    }),
    { numRuns: RUNS },
  );
});

test("Variant B's authorization endpoint answers any query with a page or a redirect to the registered URI", async () => {
  const portal = new Portal();
  const names = ["response_type", "client_id", "redirect_uri", "state", "code_challenge", "scope"];
  const change = fc.dictionary(fc.constantFrom(...names, "code_challenge_method", "x"), fc.string());
  await fc.assert(
    fc.asyncProperty(change, async (changes) => {
      const response = await portal.emulator.fetch(portal.authorizationUrl(changes));
      expect([200, 302, 400]).toContain(response.status);
      const location = response.headers.get("location");
      if (response.status === 302) expect(location?.startsWith(`${CALLBACK}?error=`)).toBe(true);
    }),
    { numRuns: RUNS },
  );
});

test("the pages' forms and the host's script endpoints answer any body with a 4xx or a redirect to a page", async () => {
  const { emulator } = new Portal();
  const paths = ["/v1/auth/login", "/v1/auth/consent", "/host/acme/sign-in", "/host/acme/sign-out"];
  const path = fc.constantFrom(...paths, "/host/acme/launches", "/host/acme/authorizations");
  const type = fc.constantFrom("application/json", "application/x-www-form-urlencoded", "text/plain", "");
  const body = fc.oneof(fc.json(), fc.string(), fc.constant("form_token=&request=&decision=allow"));
  await fc.assert(
    fc.asyncProperty(path, type, body, fc.string(), async (pathname, contentType, text, token) => {
      const headers = {
        "content-type": contentType,
        "x-form-token": encodeURIComponent(token),
        cookie: "a=b",
      };
      const { status } = await emulator.fetch(pathname, { method: "POST", headers, body: text });
      expect([303, 400, 403]).toContain(status);
    }),
    { numRuns: RUNS },
  );
});
