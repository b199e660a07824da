// 20 instances that are alike to the last random value, each over HTTP and all at once: what is spent, moved, broken or
// changed in one of them is so in no other.
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createEmulator, type Emulator } from "../../src/emulator/index.js";
import { ada } from "./launched-plugin.js";
import { newPkce } from "./pkce.js";
import { ASSERTION_TYPE, pluginKey, START } from "./plugin-client.js";
import { CALLBACK } from "./portal.js";
import { compactJws, rs256 } from "./signing-key.js";

interface Instance {
  readonly emulator: Emulator;
  readonly url: string;
}

const COUNT = 20;
const BASE_URL = "https://customer.example";
const TOKEN_PATH = "/api/v1/acme/external-plugin/oauth/token";
const pkce = newPkce();
const plugin = {
  tenantId: "acme",
  jwks: { keys: [pluginKey.publicJwk] },
  scopes: ["devices:read"],
};
let instances: readonly Instance[];
let close: () => Promise<unknown>;

beforeAll(async () => {
  const emulators = Array.from({ length: COUNT }, () =>
    createEmulator({
      publicUrl: BASE_URL,
      // With the same number they hand out the same tokens and codes.
      randomSeed: 7,
      seed: {
        clock: { at: START, frozen: true },
        plugins: [
          { ...plugin, clientId: "reporter", type: "service" },
          { ...plugin, clientId: "planner", type: "user_interface" },
        ],
        operators: [ada],
        apiClients: [{ clientId: "portal", redirectUris: [CALLBACK] }],
      },
    }),
  );
  const servers = await Promise.all(emulators.map((emulator) => emulator.listen()));
  instances = emulators.map((emulator, index) => ({ emulator, url: servers[index]?.url ?? "" }));
  close = () => Promise.all(servers.map((server) => server.close()));
});
afterAll(() => close());
beforeEach(() => {
  for (const { emulator } of instances) emulator.reset();
});

type Ask = (one: Instance, index: number) => Promise<Response>;
const statusesOf = async (ask: Ask): Promise<number[]> =>
  (await Promise.all(instances.map(ask))).map(({ status }) => status);
const everywhere = (status: number): number[] => Array.from({ length: COUNT }, () => status);
/** One status where `isSo`, the other elsewhere. */
const where = (isSo: (index: number) => boolean, status: number, otherwise: number): number[] =>
  Array.from({ length: COUNT }, (_, index) => (isSo(index) ? status : otherwise));
const isOdd = (index: number): boolean => index % 2 === 1;

function formOf(clientId: string, jti: string, more: Record<string, string>): URLSearchParams {
  const iat = START / 1000;
  const claims = { iss: clientId, sub: clientId, aud: BASE_URL + TOKEN_PATH, jti, iat, exp: iat + 60 };
  return new URLSearchParams({
    client_id: clientId,
    client_assertion_type: ASSERTION_TYPE,
    client_assertion: compactJws({ alg: "RS256", kid: pluginKey.kid }, claims, rs256(pluginKey)),
    ...more,
  });
}

const serviceForm = (jti: string): URLSearchParams =>
  formOf("reporter", jti, { grant_type: "client_credentials" });
const post =
  (form: URLSearchParams): Ask =>
  ({ url }) =>
    fetch(url + TOKEN_PATH, { method: "POST", body: form });
const postJson =
  (fields: object): Ask =>
  ({ url }) => {
    const headers = { "content-type": "application/json" };
    return fetch(`${url}/v1/auth/token`, { method: "POST", headers, body: JSON.stringify(fields) });
  };
const call =
  (token: string, path = "/api/v1/acme/devices"): Ask =>
  ({ url }) =>
    fetch(url + path, { headers: { authorization: `Bearer ${token}` } });

/** What all of them answer alike. */
async function sameAnswer(ask: Ask): Promise<Record<string, string>> {
  const texts = await Promise.all(instances.map(async (one, index) => (await ask(one, index)).text()));
  expect(new Set(texts).size).toBe(1);
  return JSON.parse(texts[0] ?? "") as Record<string, string>;
}

/** The one value that each of them gave. */
function sameValue(ask: (emulator: Emulator) => string): string {
  const values = new Set(instances.map(({ emulator }) => ask(emulator)));
  expect(values.size).toBe(1);
  return [...values][0] ?? "";
}

test("one assertion is good once in each", async () => {
  const form = serviceForm("one");
  await sameAnswer(post(form));
  expect(await statusesOf(post(form))).toEqual(everywhere(400));
  expect(instances.map(({ emulator }) => emulator.customerLog.entries().length)).toEqual(everywhere(1));
  expect(instances.map(({ emulator }) => emulator.journal.tokenRequests().length)).toEqual(everywhere(2));
});

test("one launch code is good once in each, and where it was spent before not at all", async () => {
  const launch = { tenantId: "acme", clientId: "planner", userId: "ada" };
  const code = sameValue((emulator) => emulator.launch(launch).authorize(pkce).code);
  const fields = { grant_type: "authorization_code", code, code_verifier: pkce.codeVerifier };
  await Promise.all(instances.filter((_, index) => isOdd(index)).map(post(new URLSearchParams(fields))));
  const exchange = post(formOf("planner", "two", fields));
  expect(await statusesOf(exchange)).toEqual(where(isOdd, 400, 200));
});

test("one login code and one refresh token are good once in each; a reuse in one ends the login there alone", async () => {
  const query = new URLSearchParams({
    response_type: "code",
    client_id: "portal",
    redirect_uri: CALLBACK,
    code_challenge: pkce.codeChallenge,
    code_challenge_method: "S256",
  });
  const url = `${BASE_URL}/v1/auth/authorize?${query}`;
  const code = sameValue(
    (emulator) => new URL(emulator.login({ url, userId: "ada" }).callbackUrl).searchParams.get("code") ?? "",
  );
  const exchange = { code, code_verifier: pkce.codeVerifier, client_id: "portal", redirect_uri: CALLBACK };
  const { refresh_token } = await sameAnswer(postJson(exchange));
  const refresh = postJson({ grant_type: "refresh_token", refresh_token, client_id: "portal" });
  const { access_token = "" } = await sameAnswer(refresh);
  await Promise.all(instances.map((one, index) => (isOdd(index) ? refresh(one, index) : undefined)));
  expect(await statusesOf(call(access_token, "/v1/devices"))).toEqual(where(isOdd, 401, 200));
});

test("each has its own clock", async () => {
  const { access_token = "" } = await sameAnswer(post(serviceForm("three")));
  instances.forEach(({ emulator }, index) => {
    emulator.clock.advance(index * 360_000);
  });
  expect(await statusesOf(call(access_token))).toEqual(where((index) => index >= 10, 401, 200));
  const dates = await Promise.all(instances.map(async (one) => (await fetch(one.url)).headers.get("date")));
  expect(dates).toEqual(instances.map((_, index) => new Date(START + index * 360_000).toUTCString()));
});

test("each has its own faults, rules and registrations", async () => {
  const form = serviceForm("four");
  const { access_token = "" } = await sameAnswer(post(form));
  instances.forEach(({ emulator }, index) => {
    if (isOdd(index)) emulator.faults.add({ name: "status", status: 503, at: "resource" });
    emulator.rules.enforce("assertion.replay", index % 3 > 0);
    if (index === 0) emulator.updatePlugin({ tenantId: "acme", clientId: "reporter", scopes: [] });
  });
  expect(await statusesOf(post(form))).toEqual(where((index) => index % 3 > 0, 400, 200));
  const statuses = where(isOdd, 503, 200);
  expect(await statusesOf(call(access_token))).toEqual([403, ...statuses.slice(1)]);
  expect(await statusesOf(call(access_token))).toEqual([403, ...everywhere(200).slice(1)]);
});

test("a reset of one is none of another", async () => {
  const { access_token = "" } = await sameAnswer(post(serviceForm("five")));
  instances.forEach(({ emulator }, index) => {
    if (isOdd(index)) emulator.reset();
  });
  expect(await statusesOf(call(access_token))).toEqual(where(isOdd, 401, 200));
});
