// Compares first tokens for many tenants with those that one gets by hand: with oauth4webapi, and
// with jose and fetch.
import { exportPKCS8, generateKeyPair, SignJWT } from "jose";
import * as oauth from "oauth4webapi";
import { type Cost, costOf, inWords, medianCost, type Row, sample, shuffled } from "../measure.js";

const TENANTS = 10_000;
/**
 * Tokens of each side in a sample. The tenants of a connector are used up after several samples.
 */
const SLICE = 500;
const CONCURRENCY = 50;
/** About the size of an assertion's header and claims. */
const ASSERTION_BYTES = 450;
const BASE_URL = "https://service.example";
const CLIENT_ID = "bench";
const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** Reads the body as fetch would, since a URLSearchParams does its work only then. */
async function answer(_url: string, init?: { readonly body?: unknown }): Promise<Response> {
  if (!String(init?.body).includes("client_assertion="))
    throw new Error("a token request had no assertion");
  return Response.json({ access_token: "token", token_type: "Bearer", expires_in: 3600 });
}

function tokenUrl(index: number): string {
  return `${BASE_URL}/api/v1/t${index}/external-plugin/oauth/token`;
}

/** Gets the first token of a tenant. */
type Task = (index: number) => Promise<unknown>;

/** The functions that make each side's task, for the tenants of one connector. */
async function sidesOf(main: string) {
  const { createConnector, servicePlugin } = (await import(
    main
  )) as typeof import("../../../src/index.js");
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const pem = await exportPKCS8(privateKey);
  const bytes = new Uint8Array(ASSERTION_BYTES);
  const ours = (): Task => {
    const credentials = [servicePlugin({ clientId: CLIENT_ID, privateKey: pem })];
    const connector = createConnector({ credentials, fetch: answer });
    return async (index) => {
      const service = await connector.connect({ baseUrl: BASE_URL, tenantId: `t${index}` });
      return service.auth.getAccessToken();
    };
  };
  const byOauth4webapi = (): Task => {
    const client = { client_id: CLIENT_ID };
    const authentication = oauth.PrivateKeyJwt({ key: privateKey, kid: "key-1" });
    return async (index) => {
      const server = { issuer: tokenUrl(index), token_endpoint: tokenUrl(index) };
      const options = { [oauth.customFetch]: answer };
      const response = await oauth.clientCredentialsGrantRequest(
        server,
        client,
        authentication,
        {},
        options,
      );
      return oauth.processClientCredentialsResponse(server, client, response);
    };
  };
  const byJose = (): Task => async (index) => {
    const assertion = await new SignJWT()
      .setProtectedHeader({ alg: "RS256", kid: "key-1" })
      .setIssuer(CLIENT_ID)
      .setSubject(CLIENT_ID)
      .setAudience(tokenUrl(index))
      .setJti(crypto.randomUUID())
      .setIssuedAt()
      .setExpirationTime("60s")
      .sign(privateKey);
    const body = new URLSearchParams({
      grant_type: "client_credentials",
      client_id: CLIENT_ID,
      client_assertion_type: ASSERTION_TYPE,
      client_assertion: assertion,
    });
    const response = await answer(tokenUrl(index), { body });
    return response.json();
  };
  const signing = (): Task => () => crypto.subtle.sign("RSASSA-PKCS1-v1_5", privateKey, bytes);
  return { ours, byOauth4webapi, byJose, signing };
}

/**
 * Runs a task for the tenants from `start` on, CONCURRENCY at a time, and returns the cost of one.
 */
async function costPerToken(task: Task, start: number): Promise<Cost> {
  let next = start;
  const worker = async () => {
    while (next < start + SLICE) await task(next++);
  };
  const { cpuMs, wallMs } = await costOf(() =>
    Promise.all(Array.from({ length: CONCURRENCY }, worker)),
  );
  return { cpuMs: cpuMs / SLICE, wallMs: wallMs / SLICE };
}

/**
 * The ratio is that of processor time. Signatures are made in Node's thread pool, so at this
 * concurrency every core is busy, and the rate is the number of cores divided by the processor time
 * of a token. Wall time says the same on a quiet machine only.
 */
export const firstTokens: Row = {
  name: "first-tokens",
  title:
    `first tokens for ${TENANTS} tenants against oauth4webapi by hand, ` +
    `${CONCURRENCY} at a time`,
  unit: "times",
  aim: 1,
  seconds: 25,
  async measure({ main }, limit) {
    const makers = await sidesOf(main);
    const names = ["ours", "byOauth4webapi", "byJose", "signing"] as const;
    const costs = Object.fromEntries(names.map((name) => [name, [] as Cost[]])) as Record<
      (typeof names)[number],
      Cost[]
    >;
    let tasks: Record<(typeof names)[number], Task> | undefined;
    let start = 0;
    const round = async (): Promise<Record<(typeof names)[number], Cost>> => {
      if (tasks === undefined || start >= TENANTS) {
        start = 0;
        const { ours, byOauth4webapi, byJose, signing } = makers;
        tasks = {
          ours: ours(),
          byOauth4webapi: byOauth4webapi(),
          byJose: byJose(),
          signing: signing(),
        };
      }
      const costOfSide = {} as Record<(typeof names)[number], Cost>;
      for (const name of shuffled(names)) costOfSide[name] = await costPerToken(tasks[name], start);
      start += SLICE;
      return costOfSide;
    };
    for (let warmUp = 0; warmUp < 3; warmUp++) await round();
    const interval = await sample(async () => {
      const cost = await round();
      for (const name of names) costs[name].push(cost[name]);
      return cost.ours.cpuMs / cost.byOauth4webapi.cpuMs;
    }, limit);
    const shown = (name: (typeof names)[number]) => inWords(medianCost(costs[name]));
    const detail = `jose by hand ${shown("byJose")}; bare signing ${shown("signing")}`;
    return { ...interval, ours: shown("ours"), theirs: shown("byOauth4webapi"), detail };
  },
};
