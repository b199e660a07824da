/**
 * Logins, codes and refresh tokens of Variant B at deployments that differ from the emulator's
 * defaults.
 */
import { afterEach, expect, test } from "vitest";
import { contractCases } from "../../src/contract/index.js";
import { createRig } from "./rig.js";

/** Shared, because its keys take seconds to make. Options are given by a reset. */
const rig = createRig();
const { emulator, target } = rig;
afterEach(() => emulator.reset({ refreshPath: undefined, codeLifetimeSeconds: undefined }));

/** Answers in place of the emulator, or passes the request on. */
type Front = (url: URL, body: Record<string, string>, type: string | null) => Response | undefined;

/** Runs cases through a front that sees every request, and keeps what was sent. */
async function runBehind(
  only: readonly string[],
  front: Front = () => undefined,
  lent: Partial<typeof target> = {},
) {
  const sent: { readonly path: string; readonly body: Record<string, string> }[] = [];
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const body = init.method === "POST" ? JSON.parse(String(init.body)) : {};
    sent.push({ path: new URL(url).pathname, body });
    const type = new Headers(init.headers).get("content-type");
    return front(new URL(url), body, type) ?? emulator.fetch(url, init);
  };
  return { results: await rig.run({ only, fetch }, lent), sent };
}

const refusal = () => Response.json({ error: "invalid_grant" }, { status: 400 });

test("each code is tried once if a failed exchange spends the code, and every case still holds", async () => {
  const tried = new Set<string>();
  const only = contractCases.filter(
    ({ id, safe }) => /^(client-code|api-client)\b/.test(id) && safe,
  );
  const ids = [...only.map(({ id }) => id), "variant-b-code-rules.failure"];
  const { results, sent } = await runBehind(ids, (_, { code }) => {
    if (code === undefined || !tried.has(code)) {
      tried.add(code ?? "");
      return undefined;
    }
    return refusal();
  });
  const odd = [...results.values()].filter(({ result }) => !/^(holds|learnt)$/.test(result));
  expect(odd.map(({ id, observed }) => `${id}: ${observed}`)).toEqual([]);
  expect(results.get("variant-b-code-rules.failure")?.observed).toBe(
    "A failed exchange spends the code.",
  );
  const codes = sent.flatMap(({ body: { code } }) => code ?? []);
  expect(codes.length - new Set(codes).size, "only the case about it sends a code again").toBe(1);
});

const failed = "`login` of the target failed";
const fail = (make: (url: string) => string) => (url: string) =>
  Promise.reject(new Error(make(url)));
const throwing = () => {
  throw new Error("no browser");
};
const quoted = "at https://app.example/?code=c0de&state=x, late";
const stateIn = (url: string) => `state ${new URL(url).searchParams.get("state")}`;

test.each<[name: string, login: (url: string) => Promise<string>, observed: string]>([
  ["rejects", fail(() => "no browser.\nfill(secret)"), `${failed}: no browser.`],
  ["throws at once", throwing, `${failed}: no browser.`],
  ["says much", fail(() => "x".repeat(300)), `${failed}: ${"x".repeat(200)}.`],
  ["says nothing", fail(() => ""), `${failed}.`],
  ["quotes a code", fail(() => quoted), `${failed}: at https://app.example/?... late.`],
  ["quotes a state", fail(stateIn), `${failed}.`],
  ["returns nothing", (() => undefined) as never, `${failed}: it returned nothing.`],
  ["returns no URL", async () => "/callback", "`login` of the target returned no URL."],
])("a login that %s is the reason why its cases are not tried", async (_, login, observed) => {
  const only = ["client-code.known"];
  const result = (await rig.run({ only }, { login })).get("client-code.known");
  expect(result).toMatchObject({ result: "not tried", observed });
});

const to = (location: string) => new Response(null, { status: 302, headers: { location } });

test.each([
  ["another page than a right request", "holds", () => to("/error")],
  ["the login page, as a right request is", "breaks", () => to("/sign-in/2?hint=1")],
  ["the redirect URI", "breaks", () => to("https://app.example/callback?error=x")],
  ["a fault of the server", "breaks", () => new Response("", { status: 500 })],
])("a made-up client that is answered with %s: %s", async (_, result, answer) => {
  const only = ["authorization.client"];
  const { results } = await runBehind(only, ({ pathname, searchParams }) => {
    if (pathname !== "/v1/auth/authorize") return undefined;
    return searchParams.get("client_id") === "portal" ? to("/sign-in/1") : answer();
  });
  expect(results.get("authorization.client")).toMatchObject({ result });
});

const portal = target.apiClient as NonNullable<typeof target.apiClient>;

test("the authorization endpoint may be a path under the base URL", async () => {
  const baseUrl = `${target.baseUrl}/`;
  const apiClient = { ...portal, authorizationEndpoint: "/v1/auth/authorize" };
  const results = await rig.run({ only: ["token-response.code"] }, { baseUrl, apiClient });
  expect(results.get("token-response.code")?.result).toBe("holds");
});

test("a login page on the host of the redirect URI is not a callback", async () => {
  const signIn: Front = ({ pathname }) =>
    pathname === "/v1/auth/authorize" ? to("https://app.example/sign-in") : undefined;
  const apiClient = { ...portal, redirectUri: "https://app.example/" };
  const { results } = await runBehind(["authorization.client"], signIn, { apiClient });
  expect(results.get("authorization.client")?.observed).toBe("302 to another page.");
});

test("a refresh token is sent to no path but that of the refresh, no credential to a guessed one, and no secret is in the results", async () => {
  emulator.reset({ refreshPath: "/v1/auth/renew" });
  const only = ["refresh-request", "refresh.scope", "client-code.client"];
  const { results, sent } = await runBehind(only);
  expect(results.get("refresh-request")?.settings).toEqual({ refreshPath: "/v1/auth/renew" });
  const real = sent.find(({ body }) => body.scope !== undefined)?.body.refresh_token;
  const ofReal = sent.filter(({ body }) => body.refresh_token === real);
  expect(ofReal.map(({ path }) => path)).toEqual(["/v1/auth/renew"]);
  const guessed = sent.filter(
    ({ path }) => !/^\/v1\/(?:auth\/(?:token|authorize|renew)|devices)$/.test(path),
  );
  expect(guessed.length).toBeGreaterThan(5);
  expect(JSON.stringify(guessed)).not.toMatch(/secret|portal/);
  const secrets = sent.flatMap(({ body }) =>
    ["code", "code_verifier", "refresh_token", "client_secret"].flatMap((name) => body[name] ?? []),
  );
  const shown = JSON.stringify([...results.values()]);
  expect(secrets.filter((secret) => shown.includes(secret))).toEqual([]);
  expect(secrets.length).toBeGreaterThan(10);
});

test("a lifetime between two plausible ones is observed, and no setting follows from it", async () => {
  const id = "variant-b-code-rules.lifetime";
  emulator.reset({ codeLifetimeSeconds: 100 });
  const result = (await rig.run({ only: [id] })).get(id);
  expect(result?.observed).toBe("A code can be exchanged for more than 66 s and at most 114 s.");
  expect(result?.settings).toEqual({});
});

test("of an error body that no standard describes only the shape is learnt", async () => {
  const odd = { message: "not for you, ada", details: { attempts: 3 } };
  const { results } = await runBehind(["variant-b-errors"], (_, body, type) => {
    const isRight = type === "application/json" && body.client_secret === "a secret of the account";
    return isRight && body.grant_type === "client_credentials"
      ? undefined
      : Response.json(odd, { status: 422 });
  });
  const settings = results.get("variant-b-errors")?.settings;
  const clientErrorBody = { message: "string", details: { attempts: 0 } };
  expect(settings).toEqual({ clientErrorStatus: 422, clientErrorBody });
});
