// Token requests to the emulator against the same to oidc-provider: private_key_jwt and client_credentials over HTTP.
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Pool } from "undici";
import type { Build, Row } from "../row.js";
import { spreadOf } from "../spread.js";
import { type RunningServer, startTokenServer } from "../start-token-server.js";

const AIM = 5;
const REQUESTS = 400;
const ROUNDS = 15;
/** Each server has then answered some thousand requests. */
const WARM_UP_ROUNDS = 5;
const CONNECTIONS = 8;
const CLIENT = { tenantId: "acme", clientId: "bench" };
const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

let signed = 0;

/** The body of one request; signed ahead, so that no signature is measured. */
function body(audience: string, privateKey: KeyObject): string {
  const iat = Math.floor(Date.now() / 1000);
  signed += 1;
  const { clientId } = CLIENT;
  const claims = { iss: clientId, sub: clientId, aud: audience, jti: `jti-${signed}`, iat, exp: iat + 120 };
  const parts = [{ alg: "RS256", kid: "key-1" }, claims];
  const input = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  const signature = sign("sha256", Buffer.from(input), privateKey).toString("base64url");
  return String(
    new URLSearchParams({
      grant_type: "client_credentials",
      client_id: clientId,
      client_assertion_type: ASSERTION_TYPE,
      client_assertion: `${input}.${signature}`,
    }),
  );
}

const headers = { "content-type": "application/x-www-form-urlencoded" };

/** Sends all of them, each connection one after the other; milliseconds. @throws if one gets no token */
async function timeAll(bodies: readonly string[], post: (body: string) => Promise<unknown>): Promise<number> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let own = next++; own < bodies.length; own = next++) {
      const answer = (await post(bodies[own] ?? "")) as { access_token?: unknown };
      if (typeof answer.access_token !== "string") throw new Error(`no token: ${JSON.stringify(answer)}`);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  return performance.now() - startedAt;
}

/** One server and the connections to it, which stay open from round to round. */
class Side {
  readonly #server: RunningServer;
  readonly #pool: Pool;
  readonly #privateKey: KeyObject;
  readonly rounds: { readonly ms: number; readonly cpu: number }[] = [];

  constructor(server: RunningServer, privateKey: KeyObject) {
    this.#server = server;
    this.#privateKey = privateKey;
    this.#pool = new Pool(new URL(server.tokenUrl).origin, { connections: CONNECTIONS });
  }

  async round(): Promise<void> {
    const { tokenUrl } = this.#server;
    const bodies = Array.from({ length: REQUESTS }, () => body(tokenUrl, this.#privateKey));
    const path = new URL(tokenUrl).pathname;
    const before = await this.#server.cpu();
    const ms = await timeAll(bodies, async (one) => {
      const answer = await this.#pool.request({ path, method: "POST", headers, body: one });
      return answer.body.json();
    });
    this.rounds.push({ ms, cpu: (await this.#server.cpu()) - before });
  }

  /** Microseconds of the processor for one request. */
  get cpu(): number {
    return spreadOf(this.rounds.slice(WARM_UP_ROUNDS).map(({ cpu }) => cpu / REQUESTS)).median;
  }

  /** Requests a second. */
  get rate(): number {
    return spreadOf(this.rounds.slice(WARM_UP_ROUNDS).map(({ ms }) => (REQUESTS * 1000) / ms)).median;
  }

  async close(): Promise<void> {
    await this.#pool.close();
    await this.#server.close();
  }
}

/** Without HTTP, in this process; requests a second. */
async function inProcessRate({ folder }: Build, publicJwk: object, privateKey: KeyObject): Promise<number> {
  const main = pathToFileURL(join(folder, "dist/src/emulator/index.js")).href;
  const { createEmulator } = (await import(main)) as typeof import("../../../src/emulator/index.js");
  const emulator = createEmulator({ variants: ["A"] });
  emulator.registerPlugin({ ...CLIENT, type: "service", jwks: { keys: [publicJwk] } });
  const url = `${emulator.publicUrl}/api/v1/${CLIENT.tenantId}/external-plugin/oauth/token`;
  const rates: number[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    const bodies = Array.from({ length: REQUESTS }, () => body(url, privateKey));
    const ms = await timeAll(bodies, async (one) =>
      (await emulator.fetch(url, { method: "POST", headers, body: one })).json(),
    );
    rates.push((REQUESTS * 1000) / ms);
  }
  return spreadOf(rates.slice(WARM_UP_ROUNDS)).median;
}

export const emulatorRate: Row = {
  name: "emulator-rate",
  title: `a token request to the emulator against one to oidc-provider, over HTTP (aim: ${AIM} times its rate)`,
  unit: "times",
  aim: 1 / AIM,
  async measure(build) {
    const pair = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const publicJwk = { ...pair.publicKey.export({ format: "jwk" }), kid: "key-1" };
    const task = { ...CLIENT, publicJwk };
    const ours = new Side(await startTokenServer(build, { ...task, kind: "emulator" }), pair.privateKey);
    const theirs = new Side(
      await startTokenServer(build, { ...task, kind: "oidc-provider" }),
      pair.privateKey,
    );
    try {
      for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
        await ours.round();
        await theirs.round();
      }
    } finally {
      await ours.close();
      await theirs.close();
    }
    const ratios = ours.rounds.map(({ ms }, round) => ms / (theirs.rounds[round]?.ms ?? Number.NaN));
    const { median, low, high } = spreadOf(ratios.slice(WARM_UP_ROUNDS));
    const inProcess = await inProcessRate(build, publicJwk, pair.privateKey);
    const rate = (of: number): string => `${Math.round(of)}/s`;
    const us = (of: number): string => `${of.toFixed(0)} µs`;
    return {
      value: median,
      low,
      high,
      detail: `${rate(ours.rate)} to ${rate(theirs.rate)}: ${(1 / median).toFixed(1)} times the rate; the processor's time for one ${us(ours.cpu)} to ${us(theirs.cpu)}; in-process ${rate(inProcess)}`,
    };
  },
};
