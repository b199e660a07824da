// What the errors of the core say about the service and the request, so that a log of many tenants
// can be joined to events.
import { describe, expect, test } from "vitest";
import {
  apiClient,
  completeLogin,
  connect,
  createAuth,
  createService,
  redeemLaunch,
  unwrap,
  userInterfacePlugin,
} from "../../src/index.js";
import { BASE_URL, scriptedAuth } from "../support/auth.js";
import { ACCOUNT_ID, account, plugin } from "../support/deployment.js";
import { type FetchScript, scriptedFetch, tokenAnswer } from "../support/fetch.js";
import { pkcs8, rsaKey } from "../support/keys.js";
import { rejectionOf } from "../support/wait.js";

const isToken = (url: string) => url.endsWith("/token");
const refusal = () => Response.json({ error: "invalid_client" }, { status: 401 });
const broken = (): never => {
  throw new TypeError("fetch failed");
};
const ofTenant = { tenantId: "acme", baseUrl: BASE_URL, variant: "B" };
const options = { baseUrl: BASE_URL, tenantId: "acme", retryDeadlineMs: 0 } as const;

describe("the error of a call says whose it is and which request it is about:", () => {
  const ofCall = { operationId: "listDevices" };
  const ofToken = { clientId: ACCOUNT_ID };
  const late = () => new Response(null, { status: 429, headers: { "retry-after": "60" } });
  const page = () => new Response("<p>");
  test.each<{ name: string; token?: () => Response; api?: () => Response; expected: object }>([
    { name: "ApiError", api: () => Response.json({}, { status: 404 }), expected: ofCall },
    { name: "UnexpectedResponseError", api: page, expected: ofCall },
    { name: "TransportError", api: broken, expected: ofCall },
    { name: "TokenRequestError", token: refusal, expected: ofToken },
    { name: "TransportError", token: broken, expected: ofToken },
    { name: "UnexpectedResponseError", token: page, expected: ofToken },
    { name: "RateLimitedError", token: late, expected: ofToken },
  ])("$name with $expected", async ({ name, token = tokenAnswer, api = broken, expected }) => {
    const script: FetchScript = ({ url }) => (isToken(url) ? token() : api());
    const { auth, events } = scriptedAuth("B", script, { retryDeadlineMs: 0 });
    const outcome = createService(auth, { maxRetries: 0 }).call("listDevices");
    const error = await outcome.then(({ error }) => error, rejected);
    const { requestId } = events[0] ?? {};
    expect(requestId).toBeTypeOf("string");
    expect(error).toMatchObject({ ...ofTenant, name, ...expected, requestId });
    // Calls of other operations may wait for the same token.
    expect("clientId" in Object(error) && "operationId" in Object(error)).toBe(false);
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({ ...ofTenant, requestId });
  });

  test("an argument that is refused before the call has begun", async () => {
    const service = createService(scriptedAuth("B", broken).auth);
    const error = await rejectionOf(service.call("listDevices", { maxRetries: -1 }));
    expect(error).toMatchObject({
      ...ofTenant,
      code: "option_invalid",
      operationId: "listDevices",
    });
  });

  test("a fault of service.fetch", async () => {
    const { auth, events } = scriptedAuth("B", ({ url }) =>
      isToken(url) ? tokenAnswer() : broken(),
    );
    const error = await rejectionOf(createService(auth).fetch("v1/x"));
    expect(error).toMatchObject({
      ...ofTenant,
      name: "TransportError",
      requestId: events[0]?.requestId,
    });
    expect(error).not.toHaveProperty("operationId");
  });
});

test("calls that share a refused token request get its error, with the requestId of the one that started it", async () => {
  const { auth, events } = scriptedAuth("B", refusal);
  const service = createService(auth);
  const [one, other] = await Promise.all([
    rejectionOf(service.call("listDevices")),
    rejectionOf(service.fetch("v1/x")),
  ]);
  const failed = events.find(({ type }) => type === "token_failed");
  expect(one).toMatchObject({ requestId: failed?.requestId });
  expect(other).toMatchObject({ requestId: failed?.requestId });
  expect(one).not.toHaveProperty("operationId");
});

test.each(["A", "B"] as const)(
  "the message of a refused token request names the tenant (%s)",
  async (variant) => {
    const answer = { error: "invalid_client", error_description: "The token request was rejected" };
    const { auth } = scriptedAuth(variant, () => Response.json(answer, { status: 400 }));
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({
      message: expect.stringContaining(' for the tenant "acme".'),
    });
  },
);

test.each([
  { name: "VariantError", script: () => new Response("", { status: 404 }) },
  { name: "TransportError", script: broken },
])("the $name of a detection says for which tenant and deployment", async ({ name, script }) => {
  const credentials = [plugin(), account()];
  const error = await rejectionOf(
    connect({ ...options, fetch: scriptedFetch(script), credentials }),
  );
  expect(error).toMatchObject({ name, tenantId: "acme", baseUrl: BASE_URL });
});

test("a key that cannot be read says for which tenant", async () => {
  const credentials = [plugin({ privateKey: "garbage" })];
  const error = await rejectionOf(connect({ ...options, credentials }));
  expect(error).toMatchObject({ ...ofTenant, name: "ConfigurationError", variant: "A" });
});

test("a launch that is refused, and a login whose state differs, say whose they are", async () => {
  const fetch = scriptedFetch(() => Response.json({ error: "invalid_grant" }, { status: 400 }));
  const credential = userInterfacePlugin({ clientId: "page", privateKey: pkcs8(rsaKey()) });
  const launch = { ...options, credential, code: "a-code", codeVerifier: "v".repeat(43), fetch };
  expect(await rejectionOf(redeemLaunch(launch))).toMatchObject({
    ...ofTenant,
    name: "RelaunchRequiredError",
    variant: "A",
    clientId: "page",
  });
  const redirectUri = "https://portal.example/callback";
  const client = {
    clientId: "portal",
    redirectUri,
    authorizationEndpoint: `${BASE_URL}/authorize`,
  };
  const login = { state: "one", codeVerifier: "v".repeat(43), redirectUri, clientId: "portal" };
  const callbackUrl = `${redirectUri}?code=c&state=other`;
  const completed = completeLogin({
    ...options,
    credential: apiClient(client),
    login,
    callbackUrl,
    fetch,
  });
  expect(await rejectionOf(completed)).toMatchObject({
    ...ofTenant,
    code: "state_mismatch",
    clientId: "portal",
  });
});

test("the stack of a refused token request ends with the frames of its caller, also of one that gets a stored error", async () => {
  const service = createService(
    createAuth({ ...options, credential: account(), fetch: scriptedFetch(refusal) }),
  );
  const nightlyJob = async () => unwrap(await service.call("listDevices"));
  const shown = async () => service.auth.getAccessToken();
  const first = (await rejectionOf(nightlyJob())) as Error;
  expect(first.stack).toMatch(/\bexplainRefusal[\s\S]*\bnightlyJob\b/);
  const again = (await rejectionOf(shown())) as Error;
  expect(again).toBe(first);
  expect(again.stack).toMatch(/\bexplainRefusal[\s\S]*\bshown\b/);
  expect(again.stack).not.toContain("nightlyJob");
});

test("a stored error that the application has frozen still reaches later callers", async () => {
  const auth = createAuth({ ...options, credential: account(), fetch: scriptedFetch(refusal) });
  const { signal } = new AbortController();
  const first = Object.freeze(await rejectionOf(auth.getAccessToken({ signal })));
  expect(await rejectionOf(auth.getAccessToken({ signal }))).toBe(first);
});

test("an error has a requestId without a listener too", async () => {
  const auth = createAuth({ ...options, credential: account(), fetch: scriptedFetch(refusal) });
  const known = { ...ofTenant, clientId: ACCOUNT_ID, requestId: expect.any(String) };
  expect(await rejectionOf(auth.getAccessToken())).toMatchObject(known);
});

function rejected(error: unknown): unknown {
  return error;
}
