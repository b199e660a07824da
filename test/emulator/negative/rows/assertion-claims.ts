// Who an assertion speaks for, to whom, and whether it was seen before (section 2.2).
import type { RuleId } from "../../../../src/emulator/index.js";
import { globexToken, invalidClient, serviceToken } from "../answer.js";
import type { Row } from "../row.js";
import { type ChangedA, strangersKey, type World } from "../world.js";

function row(name: string, rules: readonly RuleId[], changed: (world: World) => ChangedA): Row {
  return {
    name,
    rules,
    request: (world) => world.requestToken(changed(world)),
    answer: rules.length === 0 ? serviceToken : invalidClient,
  };
}

function audience(name: string, aud: (world: World) => unknown): Row {
  return row(name, ["assertion.audience"], (world) => ({ claims: { aud: aud(world) } }));
}

const audiences: readonly Row[] = [
  audience(
    "F2 ensure-client-assertion-with-wrong-aud-fails: another server",
    () => "https://other.example/token",
  ),
  audience(
    "aud is the base URL, which OC ensure-client-assertion-with-iss-aud-succeeds would have accepted",
    ({ url }) => url,
  ),
  audience("F2 par-test-array-as-audience-fails: aud is an array of the token URL", (world) => [
    world.tokenUrl(),
  ]),
  audience("aud still holds {tenantId}", ({ url, tokenPath }) => url + tokenPath("{tenantId}")),
  audience("aud names another tenant", (world) => world.tokenUrl("globex")),
  audience("aud ends with a slash", (world) => `${world.tokenUrl()}/`),
  audience("aud has a query", (world) => `${world.tokenUrl()}?`),
  audience("aud has the host in upper case", (world) => world.tokenUrl().replace("http://", "HTTP://")),
  audience("aud names localhost for 127.0.0.1", (world) =>
    world.tokenUrl().replace("127.0.0.1", "localhost"),
  ),
  audience("aud leaves the version out", (world) => world.tokenUrl().replace("/v1", "")),
  audience("aud is Variant B's token URL", ({ url }) => `${url}/v1/auth/token`),
  audience("7523 3: aud is absent", () => undefined),
  {
    ...audience("doorkeeper #1926: aud as X-Forwarded-Host says", () => ""),
    request: (world) =>
      world.requestToken({
        headers: { "x-forwarded-host": "evil.example", "x-forwarded-proto": "https" },
        claims: { aud: `https://evil.example${world.tokenPath()}` },
      }),
  },
];

const subjects: readonly Row[] = [
  row("F2 ensure-client-assertion-with-no-sub-fails", ["assertion.subject"], () => ({
    claims: { sub: undefined },
  })),
  row("F1 …-with-wrong-sub-fails", ["assertion.subject"], () => ({
    claims: { sub: "archiver" },
  })),
  row("7523 3: iss is absent", ["assertion.issuer"], () => ({ claims: { iss: undefined } })),
  row("F1 …-with-wrong-iss-fails", ["assertion.issuer"], () => ({
    claims: { iss: "archiver" },
  })),
  row("iss differs in case", ["assertion.issuer"], () => ({ claims: { iss: "Reporter" } })),
  row(
    "F2 ensure-client-id-in-token-endpoint: client_id is another plugin's",
    ["assertion.issuer", "assertion.subject"],
    () => ({
      form: { client_id: "archiver" },
    }),
  ),
];

const ids: readonly Row[] = [
  row("7523 3: jti is absent", ["assertion.id"], () => ({ claims: { jti: undefined } })),
  row("jti is empty", ["assertion.id"], () => ({ claims: { jti: "" } })),
  row("jti is a number", ["assertion.id"], () => ({ claims: { jti: 1 } })),
];

/** Each sends two requests or more; the last one counts. */
const replays: readonly Row[] = [
  {
    name: "the same assertion twice",
    rules: ["assertion.replay"],
    async request(world) {
      const form = world.form();
      await world.postForm(form);
      return world.postForm(form);
    },
    answer: invalidClient,
  },
  {
    name: "another assertion with the same jti",
    rules: ["assertion.replay"],
    async request(world) {
      await world.requestToken({ claims: { jti: "one" } });
      return world.requestToken({ claims: { jti: "one" } });
    },
    answer: invalidClient,
  },
  {
    name: "Azure-Samples #413: a replay between exp and the end of its tolerance",
    rules: ["assertion.replay"],
    async request(world) {
      const form = world.form();
      await world.postForm(form);
      world.wait(75);
      return world.postForm(form);
    },
    answer: invalidClient,
  },
  {
    name: "a replay in the last second in which its iat is young enough",
    rules: ["assertion.replay"],
    async request(world) {
      const form = world.form({ claims: { exp: world.now + 300 } });
      await world.postForm(form);
      world.wait(330);
      return world.postForm(form);
    },
    answer: invalidClient,
  },
  {
    name: "a jti of an assertion that was spent on a refused grant",
    rules: ["assertion.replay"],
    async request(world) {
      await world.requestToken({
        claims: { jti: "one" },
        form: { grant_type: "authorization_code", code: "c" },
      });
      return world.requestToken({ claims: { jti: "one" } });
    },
    answer: invalidClient,
  },
  {
    name: "keycloak #49215: the jti of an assertion that was refused for its signature is not spent",
    rules: [],
    async request(world) {
      await world.requestToken({ claims: { jti: "one" }, key: strangersKey });
      return world.requestToken({ claims: { jti: "one" } });
    },
    answer: serviceToken,
  },
  {
    name: "keycloak #49215: two plugins may use the same jti",
    rules: [],
    async request(world) {
      await world.requestToken({ claims: { jti: "one" }, clientId: "archiver" });
      return world.requestToken({ claims: { jti: "one" } });
    },
    answer: serviceToken,
  },
  {
    name: "the plugins of two tenants may use the same jti",
    rules: [],
    async request(world) {
      await world.requestToken({ claims: { jti: "one" } });
      return world.requestToken({ claims: { jti: "one" }, tenantId: "globex" });
    },
    answer: globexToken,
  },
];

export const assertionClaims: readonly Row[] = [...audiences, ...subjects, ...ids, ...replays];
