// Token requests to the emulator against the same to oidc-provider: private_key_jwt and client_credentials over HTTP.
import { fork } from "node:child_process";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build as bundle } from "esbuild";
import { KeepAliveClient } from "../keep-alive-client.js";
import { type Build, medianOf, type Row, spreadOf } from "../measure.js";
import type { ServerMessage, ServerTask } from "../token-server.js";

const AIM = 5;
const REQUESTS = 400;
const ROUNDS = 15;
/** After these each server has answered thousands of requests, and its code is compiled. */
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

/** The token requests of one round, signed ahead, so that no signature is measured. */
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

function emulatorMain({ folder }: Build): string {
  return pathToFileURL(join(folder, "dist/src/emulator/index.js")).href;
}

interface RunningServer {
  readonly tokenUrl: string;
  /** Microseconds of processor time that its process has used so far. */
  cpu(): Promise<number>;
  close(): Promise<void>;
}

/** Compiled with esbuild: tsx would measure its own wrappers too. */
async function startTokenServer(
  build: Build,
  task: Omit<ServerTask, "emulatorMain">,
): Promise<RunningServer> {
  const outfile = join(build.folder, "token-server.mjs");
  const source = fileURLToPath(new URL("../token-server.ts", import.meta.url));
  await bundle({ entryPoints: [source], outfile, format: "esm", target: "es2022", logLevel: "warning" });
  const child = fork(outfile, [JSON.stringify({ ...task, emulatorMain: emulatorMain(build) })], {
    env: { ...process.env, NODE_OPTIONS: "", NODE_ENV: "production" },
    // oidc-provider prints a warning that its memory is for development only.
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  const exited = once(child, "exit");
  const next = async (): Promise<ServerMessage> => {
    const [message] = await Promise.race([
      once(child, "message"),
      exited.then(() => Promise.reject(new Error(`the ${task.kind} did not start`))),
    ]);
    return message as ServerMessage;
  };
  const { tokenUrl } = await next();
  return {
    tokenUrl,
    async cpu() {
      const answer = next();
      child.send("cpu");
      return (await answer).cpu;
    },
    async close() {
      child.disconnect();
      await exited;
    },
  };
}

/** One server and the connections to it. */
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
    return new Side(server, new KeepAliveClient(server.tokenUrl, CONNECTIONS), privateKey);
  }

  async round(): Promise<void> {
    const forms = formsFor(this.#server.tokenUrl, this.#privateKey);
    const before = await this.#server.cpu();
    const ms = await this.#client.time(forms);
    this.#rounds.push({ ms, cpu: (await this.#server.cpu()) - before });
  }

  /** Milliseconds of each round after the warm-up. */
  get times(): number[] {
    return this.#rounds.slice(WARM_UP_ROUNDS).map(({ ms }) => ms);
  }

  /** Requests a second, and microseconds of processor time for each. */
  toString(): string {
    const cpu = medianOf(this.#rounds.slice(WARM_UP_ROUNDS).map((round) => round.cpu / REQUESTS));
    return `${rateOf(this.times)}/s (${cpu.toFixed(0)} µs of the processor each)`;
  }

  async close(): Promise<void> {
    this.#client.close();
    await this.#server.close();
  }
}

function rateOf(times: readonly number[]): number {
  return Math.round((REQUESTS * 1000) / medianOf(times));
}

/** Requests a second, without HTTP, in this process. */
async function inProcessRate(build: Build, { publicKey, privateKey }: Pair): Promise<number> {
  const { createEmulator } = (await import(
    emulatorMain(build)
  )) as typeof import("../../../src/emulator/index.js");
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
