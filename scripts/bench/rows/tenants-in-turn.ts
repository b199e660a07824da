// Counts the token requests for many tenants that are called in turn through one connector, and
// through what peers keep.
import { OAuth2Client, OAuth2Fetch } from "@badgateway/oauth2-client";
import {
  ClientSecretPost,
  Configuration,
  clientCredentialsGrant,
  customFetch,
} from "openid-client";
import type { Row } from "../measure.js";

const TENANTS = 25_000;
const CONCURRENCY = 50;
const BASE_URL = "https://service.example";
const [clientId, clientSecret] = ["bench", "secret"];

/** Gets the token that a call to the tenant would carry. */
type GetToken = (tenantId: string) => Promise<unknown>;

let requests = 0;
const answer = async (): Promise<Response> => {
  requests++;
  return Response.json({ access_token: "token", token_type: "Bearer", expires_in: 3600 });
};

/** Keeps for each tenant what the peer has for it, as its documentation says. */
function kept<T>(make: (tenantId: string) => T): (tenantId: string) => T {
  const all = new Map<string, T>();
  return (tenantId) => {
    const one = all.get(tenantId) ?? make(tenantId);
    all.set(tenantId, one);
    return one;
  };
}

const peers: Readonly<Record<string, () => GetToken>> = {
  /** It has no memory for tokens: an app calls the grant again, or keeps them itself. */
  "openid-client": () => {
    const configurationOf = kept((tenantId) => {
      const server = { issuer: BASE_URL, token_endpoint: `${BASE_URL}/${tenantId}/token` };
      const configuration = new Configuration(server, clientId, {}, ClientSecretPost(clientSecret));
      configuration[customFetch] = answer;
      return configuration;
    });
    return (tenantId) => clientCredentialsGrant(configurationOf(tenantId));
  },
  "@badgateway/oauth2-client": () => {
    // It calls the global fetch and accepts no other. This process measures nothing else.
    globalThis.fetch = answer;
    const fetchOf = kept((tenantId) => {
      const tokenEndpoint = `/${tenantId}/token`;
      const client = new OAuth2Client({ server: BASE_URL, clientId, clientSecret, tokenEndpoint });
      return new OAuth2Fetch({
        client,
        getNewToken: () => client.clientCredentials(),
        scheduleRefresh: false,
      });
    });
    return (tenantId) => fetchOf(tenantId).getAccessToken();
  },
};

/** Returns the token requests of the first and of the second round. */
async function rounds(getToken: GetToken): Promise<readonly [number, number]> {
  const round = async (): Promise<number> => {
    const before = requests;
    let next = 0;
    const worker = async () => {
      while (next < TENANTS) await getToken(`tenant-${next++}`);
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, worker));
    return requests - before;
  };
  return [await round(), await round()];
}

export const tenantsInTurn: Row = {
  name: "tenants-in-turn",
  title:
    `token requests of the second round, of ${TENANTS} tenants that are called in turn ` +
    "through one connector",
  unit: "requests",
  aim: 0,
  seconds: 6,
  async measure({ main }) {
    const { createConnector, servicePlugin } = (await import(
      main
    )) as typeof import("../../../src/index.js");
    // A real signature would take most of the time.
    const privateKey = { keyId: "key-1", sign: () => new Uint8Array(256) };
    const connector = createConnector({
      credentials: [servicePlugin({ clientId, privateKey })],
      fetch: answer,
    });
    const [first, second] = await rounds(async (tenantId) => {
      const service = await connector.connect({ baseUrl: BASE_URL, tenantId });
      return service.auth.getAccessToken();
    });
    const theirs: string[] = [];
    for (const [name, make] of Object.entries(peers))
      theirs.push(`${name} ${(await rounds(make()))[1]} requests`);
    const words = { ours: `${second} requests`, theirs: theirs.join(", ") };
    return {
      value: second,
      low: second,
      high: second,
      ...words,
      detail: `${first} requests in the first round`,
    };
  },
};
