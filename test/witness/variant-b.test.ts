/** The client's client secret, judged by oidc-provider, which we did not write, behind Variant B's JSON body. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createAuth, serviceAccount, TokenRequestError } from "../../src/index.js";
import { jsonToForm } from "./json-to-form.js";
import { type Served, serve } from "./serve.js";
import { startTokenServer, type TokenServer } from "./token-server.js";

const clientId = "nightly-report";
const clientSecret = "spaces & signs: 1+1=2, 100%";
const seen: { contentType: string | undefined; fields: unknown }[] = [];
let shownFields: readonly string[] | undefined;
let provider: TokenServer;
let front: Served;

beforeAll(async () => {
  provider = await startTokenServer({
    tokenPath: "/oauth/token",
    method: "client_secret_post",
    client: { client_id: clientId, client_secret: clientSecret },
  });
  front = await serve();
  front.handle(jsonToForm({ target: `${provider.url}/oauth/token`, seen, only: () => shownFields }));
});
afterAll(() => Promise.all([front.close(), provider.close()]));
beforeEach(() => {
  seen.length = 0;
  shownFields = undefined;
});

function authOf(secret = clientSecret) {
  const credential = serviceAccount({ clientId, clientSecret: secret });
  return createAuth({ baseUrl: front.url, credential });
}

describe("oidc-provider behind Variant B's JSON body", () => {
  test("gives a token for the three fields of section 4.2, sent as JSON and changed into a form on the way", async () => {
    const before = Date.now();

    const token = await authOf().getAccessToken();

    expect(token.value).toMatch(/^[\w-]{20,}$/);
    expect(token.expiresAt - before).toBeGreaterThan(590_000);
    expect(token.expiresAt - before).toBeLessThan(610_000);
    expect(seen).toEqual([
      {
        contentType: "application/json",
        fields: { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret },
      },
    ]);
  });

  test("gives one that is used for an hour where the answer shows access_token only", async () => {
    shownFields = ["access_token"];
    const before = Date.now();

    const token = await authOf().getAccessToken();

    expect(token.value).toMatch(/^[\w-]{20,}$/);
    expect(token.expiresAt - before).toBeGreaterThanOrEqual(3_600_000);
    expect(token.expiresAt - before).toBeLessThan(3_610_000);
  });

  test("refuses a wrong secret, and the client says so with a TokenRequestError that holds neither secret", async () => {
    const error = await authOf("wrong secret")
      .getAccessToken()
      .catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(TokenRequestError);
    expect(error).toMatchObject({ error: "invalid_client", status: 401, variant: "B" });
    expect(provider.refusals.at(-1)).toMatch(/invalid secret provided/);
    expect(JSON.stringify(error) + String(error)).not.toMatch(/wrong secret|spaces/);
  });
});
