/**
 * Deployments that answer as none should, and targets that must be refused before anything is sent.
 */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { inspect } from "node:util";
import { decodeJwt } from "jose";
import { describe, expect, test } from "vitest";
import { ContractError, runContract } from "../../src/contract/index.js";
import { recordingServer } from "../support/recording-server.js";
import { rejectionOf } from "../support/wait.js";
import { createRig } from "./rig.js";

const isTokenRequest = (url: string) => url.endsWith("/token");
const nested = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;

/**
 * Runs cases behind a front that answers in place of the emulator where `front` returns a response.
 */
async function runBehind(
  only: readonly string[],
  front: (url: string, init: RequestInit, count: number) => Response | undefined,
) {
  const { run, emulator, options } = createRig({ rateLimit: false });
  let count = 0;
  const { wait, ...given } = options;
  return run({
    ...given,
    ...(only.length > 0 && { only }),
    wait: wait as NonNullable<typeof wait>,
    fetch: async (url, init) => front(url, init, ++count) ?? emulator.fetch(url, init),
  });
}

describe("an answer", () => {
  test.each([
    ["of 100,000 levels", `{"error":"invalid_client","x":${nested}}`],
    ["whose error is an object that cannot be text", `{"error":{"toString":1,"valueOf":1}}`],
    ["with a token of a million characters", JSON.stringify({ access_token: "é".repeat(500_000) })],
    ["whose expires_in is such an object", `{"expires_in":{"toString":1},"access_token":"t"}`],
  ])("%s ends no run", async (_, body) => {
    const only = ["token-request.client-id", "token-request.grant-type", "assertion.form"];
    const headers = { "content-type": "application/json" };
    const results = await runBehind(only, (url, _init, count) =>
      isTokenRequest(url) && count > 2 ? new Response(body, { status: 400, headers }) : undefined,
    );
    expect(results.size).toBe(4);
  });

  test("with a token is not a refusal, whatever its status", async () => {
    const body = { error: "invalid_client", access_token: "a token" };
    const only = ["assertion.issuer", "client.authentication"];
    const results = await runBehind(only, (url, _init, count) =>
      isTokenRequest(url) && ![1, 2, 4, 5].includes(count)
        ? Response.json(body, { status: 400 })
        : undefined,
    );
    expect([...results.values()].map(({ result }) => result)).toEqual(["breaks", "breaks"]);
  });

  test("that repeats a secret as the name of a header, in lower case, is shown without it", async () => {
    const clientSecret = "Sup3rSecretValueOfTheAccount";
    const { run } = createRig({ rateLimit: false });
    const headers = { [`x-${clientSecret}`]: "1", "content-type": `application/${clientSecret}` };
    const fetch = async () => Response.json({ error: "invalid_client" }, { status: 400, headers });
    const target = { serviceAccount: { clientId: "nightly", clientSecret } };
    const results = await run({ only: ["token-response.b"], fetch }, target);
    expect(results.size).toBeGreaterThan(0);
    expect(JSON.stringify([...results.values()])).not.toMatch(/sup3rsecret/i);
  });
});

test("a client that is locked out during a run breaks its last case, because refusals then prove nothing", async () => {
  const error_description = "The token request was rejected.";
  const body = { error: "invalid_client", error_description };
  const results = await runBehind([], (url, _init, count) =>
    isTokenRequest(url) && count > 20 ? Response.json(body, { status: 400 }) : undefined,
  );
  expect(results.get("credential-still-accepted.a")?.result).toBe("breaks");
});

test("a deployment that gives everyone a token is served, and breaks", async () => {
  const token = { access_token: "a token", token_type: "Bearer" };
  const results = await runBehind(["current-variant.a", "assertion.signature"], (url) =>
    isTokenRequest(url) ? Response.json(token) : undefined,
  );
  expect([...results.values()].map(({ result }) => result)).toEqual(["learnt", "breaks"]);
});

test("the Date of a deployment gets no assertion that is valid another year", async () => {
  const issued: number[] = [];
  const { run, emulator } = createRig({ rateLimit: false });
  await run({
    only: ["token-response.a"],
    async fetch(url, init) {
      const assertion = new URLSearchParams(String(init.body)).get("client_assertion");
      if (assertion) issued.push((decodeJwt(assertion).iat ?? 0) * 1000);
      const answer = await emulator.fetch(url, init);
      answer.headers.set("date", "Sat, 01 Jan 2050 00:00:00 GMT");
      return answer;
    },
  });
  expect(issued.length).toBeGreaterThan(0);
  for (const at of issued) expect(Math.abs(at - emulator.clock.now())).toBeLessThan(60_000);
});

test("a request that is answered 421 reaches the deployment once, also through Node's fetch", async () => {
  const { url, requests } = await recordingServer(() => ({ status: 421 }));
  const { run } = createRig({ rateLimit: false });
  const fetch = (input: string, init: RequestInit) => globalThis.fetch(input, init);
  await run({ only: ["token-response.a"], fetch }, { baseUrl: url });
  // Each has an assertion with a `jti` of its own.
  expect(requests.length).toBeGreaterThan(0);
  expect(new Set(requests.map(({ body }) => body)).size).toBe(requests.length);
});

test("a wait of more than 24 days does not end at once", async () => {
  const { target, options } = createRig({ rateLimit: false, tokenLifetimeSeconds: 2_592_000 });
  const { wait: _, ...rest } = options;
  const only = ["bearer.lifetime.a"];
  const run = runContract(target, { ...rest, only, signal: AbortSignal.timeout(300) });
  await expect(run.next()).rejects.toMatchObject({ name: "TimeoutError" });
});

describe("a target is refused before anything is sent", () => {
  const rsa = (modulusLength: number) => generateKeyPairSync("rsa", { modulusLength });
  const plugin = (key: KeyObject) => ({
    plugin: { clientId: "reports", privateKey: key.export({ format: "jwk" }), keyId: "k" },
  });
  const at = (end: string) => () => ({ baseUrl: `http://service.localhost/${end}` });
  test.each<[name: string, changed: () => object, code?: string]>([
    ["whose base URL ends with #", at("#")],
    ["whose base URL ends with ?", at("?")],
    ["with a route that leaves the base", () => ({ closedRoute: "GET /../other/api" })],
    ["with a refresh path that leaves the base", () => ({ refreshPath: "/%2e%2e/other" })],
    ["with a refresh path of another host", () => ({ refreshPath: "//other.example/" })],
    ["with a key of 1024 bits", () => plugin(rsa(1024).privateKey), "key_invalid"],
    ["with a public key", () => plugin(rsa(2048).publicKey), "key_invalid"],
  ])("%s", async (_, changed, code = "target_invalid") => {
    const { target, options } = createRig({ rateLimit: false });
    const fetch = () => Promise.reject(new Error("nothing may be sent"));
    const error = await rejectionOf(
      runContract({ ...target, ...changed() }, { ...options, fetch }).next(),
    );
    expect(error).toBeInstanceOf(ContractError);
    expect(error).toMatchObject({ code });
  });
});

test("the error of a key that cannot be read shows nothing of the key", async () => {
  const { target, options } = createRig({ rateLimit: false });
  const privateKey = '{"kty":"RSA","d":canary-of-the-key}';
  const error = await rejectionOf(
    runContract({ ...target, plugin: { clientId: "reports", privateKey } }, options).next(),
  );
  expect(error).toMatchObject({ code: "key_invalid" });
  expect(inspect(error, { depth: 9 }) + JSON.stringify(error)).not.toContain("canary");
});
