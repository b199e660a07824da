// Token requests to the emulator against the same to oidc-provider: private_key_jwt and client_credentials over HTTP.
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { KeepAliveClient } from "../keep-alive-client.js";
import type { Build, Row } from "../row.js";
import { spreadOf } from "../spread.js";
import { type RunningServer, startTokenServer } from "../start-token-server.js";
import type { ServerTask } from "../token-server.js";

const AIM = 5;
const REQUESTS = 400;
const ROUNDS = 15;
/** Each server has then answered thousands of requests, and its code is compiled. */
const WARM_UP_ROUNDS = 25;
const CONNECTIONS = 8;
const KEY_ID = "key-1";
const CLIENT = { tenantId: "acme", clientId: "bench" };
const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

interface Pair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

let signed = 0;

/** For one round; signed ahead, so that no signature is measured. */
function formsFor(audience: string, privateKey: KeyObject): string[] {
  return Array.from({ length: REQUESTS }, () => form(audience, privateKey));
}

function form(audience: string, privateKey: KeyObject): string {
  const iat = Math.floor(Date.now() / 1000);
  signed += 1;
  const { clientId } = CLIENT;
  const claims = { iss: clientId, sub: clientId, aud: audience, jti: `jti-${signed}`, iat, exp: iat + 120 };
  const parts = [{ alg: "RS256", kid: KEY_ID }, claims];
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

/** One server and the connections to it, which stay open from round to round. */
class Side {
  readonly #server: RunningServer;
  readonly #client: KeepAliveClient;
  readonly #privateKey: KeyObject;
  readonly #rounds: { readonly ms: number; readonly cpu: number }[] = [];

  private constructor(server: RunningServer, client: KeepAliveClient, privateKey: KeyObject) {
    this.#server = server;
    this.#client = client;
    this.#privateKey = privateKey;
  }

  static async start(build: Build, kind: ServerTask["kind"], { publicKey, privateKey }: Pair): Promise<Side> {
    const publicJwk = { ...publicKey.export({ format: "jwk" }), kid: KEY_ID };
    const server = await startTokenServer(build, { ...CLIENT, kind, publicJwk });
    return new Side(server, await KeepAliveClient.open(server.tokenUrl, CONNECTIONS), privateKey);
  }

  async round(): Promise<void> {
    const forms = formsFor(this.#server.tokenUrl, this.#privateKey);
    const before = await this.#server.cpu();
    const ms = await this.#client.time(forms);
    this.#rounds.push({ ms, cpu: (await this.#server.cpu()) - before });
  }

  /** Milliseconds, of each round that counts. */
  get times(): number[] {
    return this.#rounds.slice(WARM_UP_ROUNDS).map(({ ms }) => ms);
  }

  /** Requests a second, and microseconds of the processor for one. */
  toString(): string {
    const cpu = spreadOf(this.#rounds.slice(WARM_UP_ROUNDS).map((round) => round.cpu / REQUESTS)).median;
    return `${rateOf(this.times)}/s (${cpu.toFixed(0)} µs of the processor each)`;
  }

  async close(): Promise<void> {
    this.#client.close();
    await this.#server.close();
  }
}

function rateOf(times: readonly number[]): number {
  return Math.round((REQUESTS * 1000) / spreadOf(times).median);
}

/** Without HTTP, in this process; requests a second. */
async function inProcessRate({ folder }: Build, { publicKey, privateKey }: Pair): Promise<number> {
  const main = pathToFileURL(join(folder, "dist/src/emulator/index.js")).href;
  const { createEmulator } = (await import(main)) as typeof import("../../../src/emulator/index.js");
  const emulator = createEmulator({ variants: ["A"] });
  const jwks = { keys: [{ ...publicKey.export({ format: "jwk" }), kid: KEY_ID }] };
  emulator.registerPlugin({ ...CLIENT, type: "service", jwks });
  const url = `${emulator.publicUrl}/api/v1/${CLIENT.tenantId}/external-plugin/oauth/token`;
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const times: number[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    const forms = formsFor(url, privateKey);
    const startedAt = performance.now();
    for (const body of forms) {
      const response = await emulator.fetch(url, { method: "POST", headers, body });
      if (response.status !== 200) throw new Error(`no token: ${await response.text()}`);
      await response.json();
    }
    times.push(performance.now() - startedAt);
  }
  return rateOf(times.slice(WARM_UP_ROUNDS));
}

export const emulatorRate: Row = {
  name: "emulator-rate",
  title: `a token request to the emulator against one to oidc-provider, over HTTP (aim: ${AIM} times its rate)`,
  unit: "times",
  aim: 1 / AIM,
  async measure(build) {
    const pair = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const ours = await Side.start(build, "emulator", pair);
    const theirs = await Side.start(build, "oidc-provider", pair);
    const floor = await Side.start(build, "floor", pair);
    try {
      for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
        for (const side of [ours, theirs, floor]) await side.round();
      }
    } finally {
      for (const side of [ours, theirs, floor]) await side.close();
    }
    const against = (side: Side) =>
      spreadOf(side.times.map((ms, round) => ms / (theirs.times[round] ?? Number.NaN)));
    const { median, low, high } = against(ours);
    const times = (ratio: number): string => `${(1 / ratio).toFixed(1)} times the rate`;
    return {
      value: median,
      low,
      high,
      detail:
        `${ours} to ${theirs}: ${times(median)}; node:http that verifies the signature and nothing else: ` +
        `${floor}, ${times(against(floor).median)}; the emulator in-process: ${await inProcessRate(build, pair)}/s`,
    };
  },
};
