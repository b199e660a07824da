/**
 * The contract kit judges oidc-provider, which we did not write, dressed as Variant A and as
 * Variant B. What it finds is on these lists, which were written from oidc-provider's documentation
 * and source before the first run.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ContractResult,
  type ContractTarget,
  contractCases,
  runContract,
} from "../../src/contract/index.js";
import { rsaKey } from "../support/keys.js";
import {
  type LoginProvider,
  type Served,
  serveFront,
  startLoginProvider,
  startTokenServer,
  type TokenServer,
  walkToCallback,
} from "./provider.js";

const clientId = "nightly-report";
const tenantId = "acme";

/**
 * The observations of every case of the variant that waits for nothing and changes nothing, by
 * result and id.
 */
async function judge(variant: "A" | "B", target: ContractTarget) {
  const tried = contractCases.filter(
    (one) => one.variant === variant && one.safe && one.costs.seconds === 0,
  );
  const results: ContractResult[] = [];
  for await (const result of runContract(target, { only: tried.map(({ id }) => id) }))
    results.push(result);
  const observed = (wanted: ContractResult["result"]) =>
    Object.fromEntries(
      results.filter(({ result }) => result === wanted).map(({ id, observed }) => [id, observed]),
    );
  return { breaks: observed("breaks"), learnt: observed("learnt"), holds: observed("holds") };
}

describe("oidc-provider at Variant A's token path", () => {
  let server: TokenServer;
  const { privateKey, publicKey } = rsaKey();
  const keyId = "key-2026";
  beforeAll(async () => {
    const jwk = { ...publicKey.export({ format: "jwk" }), kid: keyId, use: "sig", alg: "RS256" };
    server = await startTokenServer({
      tokenPath: `/api/v1/${tenantId}/external-plugin/oauth/token`,
      method: "private_key_jwt",
      client: {
        client_id: clientId,
        jwks: { keys: [jwk] },
        token_endpoint_auth_signing_alg: "RS256",
      },
    });
  });
  afterAll(() => server.close());

  /** A failed client authentication (RFC 6749 section 5.2); every failure of Variant A is 400. */
  const unauthorized = "401 invalid_client.";
  const accepted = "200 with an access token.";
  const ids = (answer: string, ...names: string[]) =>
    Object.fromEntries(names.map((name) => [name, answer]));
  const differences = {
    // It issues tokens without our members.
    "token-response.a": "revo.tenant is not a string.",
    // The grant is known to the server, so a client that may not use it sends an invalid_request.
    "token-request.grant-type.refresh-token": "400 invalid_request.",
    // error_description says what is wrong.
    "token-request.opacity": expect.stringContaining("A refusal has another text or field"),
    "token-request.failure-status": expect.stringContaining("401"),
    // sub names the client, so another one contradicts client_id.
    "assertion.subject": "400 invalid_request.",
    // Parameters of authentication methods that are not configured are ignored.
    ...ids(accepted, "token-request.one-authentication.secret"),
    // client_id is optional beside an assertion, whose sub names the client (RFC 7521 section 4.2).
    ...ids(accepted, "token-request.client-id"),
    // Its JOSE library understands b64 (RFC 7797), and keys in the header are ignored.
    ...ids(accepted, "assertion.critical-header.b64", "assertion.key-header"),
    // The issuer, the endpoint's URL, or a list with one of them will do.
    ...ids(accepted, "assertion.audience.base-url", "assertion.audience.array"),
    // iat is looked at only where exp is absent, and no lifetime is too long.
    ...ids(accepted, "assertion.issued-at.ahead", "assertion.issued-at.missing"),
    ...ids(accepted, "assertion.lifetime"),
    ...ids(unauthorized, "plugin.registered", "assertion.present", "assertion.signature"),
    ...ids(unauthorized, "assertion.algorithm.none", "assertion.algorithm.hs256"),
    ...ids(unauthorized, "assertion.algorithm.rs384", "assertion.algorithm.ps256"),
    ...ids(unauthorized, "assertion.critical-header.unknown", "assertion.issuer"),
    ...ids(unauthorized, "assertion.audience.other-tenant", "assertion.audience.trailing-slash"),
    ...ids(unauthorized, "assertion.audience.placeholder", "assertion.not-before"),
    ...ids(unauthorized, "assertion.expiry.missing", "assertion.expiry.past"),
    ...ids(unauthorized, "assertion.id.missing", "assertion.id.number"),
    ...ids(unauthorized, "assertion.replay.same-assertion", "assertion.replay.same-id"),
  };

  test("the differences are those on the list, and no others", async () => {
    const plugin = { clientId, privateKey: privateKey.export({ format: "jwk" }), keyId };
    const { breaks, learnt, holds } = await judge("A", { baseUrl: server.url, tenantId, plugin });
    expect(breaks).toEqual(differences);
    expect(learnt).toMatchObject({
      "token-lifetime.a": "expires_in is 600.",
      "key-id-rules": "An assertion without kid is accepted.",
      "clock-drift": expect.stringContaining("200"),
    });
    expect(Object.keys(holds)).toContain("token-request.one-authentication.header");
  });
});

describe("oidc-provider behind Variant B's JSON body", () => {
  const clientSecret = "a secret of the client";
  const redirectUri = "https://app.example/callback";
  const scope = "devices:read";
  let machines: TokenServer;
  let people: LoginProvider;
  const fronts: Served[] = [];
  let consents = true;

  const frontOf = async (target: string) => {
    const front = await serveFront({ target, seen: [] });
    fronts.push(front);
    return front.url;
  };

  beforeAll(async () => {
    machines = await startTokenServer({
      tokenPath: "/oauth/token",
      method: "client_secret_post",
      client: { client_id: clientId, client_secret: clientSecret },
    });
    const client = {
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: "client_secret_post",
      client_secret: clientSecret,
    };
    people = await startLoginProvider({
      clients: ["portal", "kiosk"].map((id) => ({ ...client, client_id: id })),
      scope,
      accountId: "ada",
      consents: () => consents,
    });
  });
  afterAll(() =>
    Promise.all([machines.close(), people.close(), ...fronts.map((front) => front.close())]),
  );

  test("a machine gets what the description says, and nothing else is accepted", async () => {
    const baseUrl = await frontOf(`${machines.url}/oauth/token`);
    const serviceAccount = { clientId, clientSecret };
    const { breaks, learnt } = await judge("B", { baseUrl, serviceAccount });
    expect(breaks).toEqual({});
    expect(learnt).toMatchObject({
      "variant-b-token-fields": "Also expires_in, token_type.",
      "variant-b-errors": "A JSON object as in RFC 6749 section 5.2, with 400, 401.",
    });
  });

  test("a login differs where the list says, and nowhere else", async () => {
    const { authorizationEndpoint, tokenEndpoint } = people;
    const login = { redirectUri, authorizationEndpoint, authorizationParameters: { scope } };
    const apiClient = (id: string) => ({ clientId: id, clientSecret, ...login });
    const walk = (consent: boolean) => (url: string) => {
      consents = consent;
      return walkToCallback(url, redirectUri);
    };
    const { breaks, learnt, holds } = await judge("B", {
      baseUrl: await frontOf(tokenEndpoint),
      apiClient: apiClient("portal"),
      otherApiClient: apiClient("kiosk"),
      login: walk(true),
      denyLogin: walk(false),
    });
    expect(breaks).toEqual({
      // No limit of its own: Node's parser has one of 16 KiB for all headers.
      "authorization.length": expect.stringMatching(/^30[23] to another page/),
      // Scopes that the server does not know are ignored.
      "authorization.scope": expect.stringMatching(/^30[23] to another page/),
    });
    // It sends iss (RFC 9207).
    expect(learnt).toMatchObject({ "authorization-endpoint.issuer": "The callback carries iss." });
    expect(Object.keys(holds)).toContain("client-code.verifier.wrong");
  });
});
