// Compares token requests to the emulator and to oidc-provider: private_key_jwt and client_credentials over HTTP.
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { KeepAliveClient } from "../keep-alive-client.js";
import { type Build, intervalOf, medianOf, type Row } from "../measure.js";
import { startScript } from "../script.js";
import type { ServerTask } from "../token-server.js";

const AIM = 5;
const REQUESTS = 400;
const ROUNDS = 15;
/** After these rounds each server has answered thousands of requests, and its code is compiled. */
const WARM_UP_ROUNDS = 25;
const CONNECTIONS = 8;
const KEY_ID = "key-1";
const CLIENT = { tenantIds: ["acme"], clientId: "bench" };
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

/** A token server in a process of its own, the connections to it, and the times of its rounds. */
interface Side {
  readonly tokenUrl: string;
  readonly client: KeepAliveClient;
  readonly times: number[];
  close(): Promise<void>;
}

async function startSide(build: Build, kind: ServerTask["kind"], { publicKey }: Pair): Promise<Side> {
  const emulatorMain = pathToFileURL(join(build.folder, "dist/src/emulator/index.js")).href;
  const publicJwk = { ...publicKey.export({ format: "jwk" }), kid: KEY_ID };
  const task: ServerTask = { ...CLIENT, kind, publicJwk, emulatorMain };
  const server = await startScript(build, "token-server", task);
  const tokenUrl = server.answer as string;
  const client = new KeepAliveClient(tokenUrl, CONNECTIONS);
  const close = async (): Promise<void> => {
    client.close();
    await server.stop();
  };
  return { tokenUrl, client, times: [], close };
}

function rateOf(times: readonly number[]): string {
  return `${Math.round((REQUESTS * 1000) / medianOf(times))}/s`;
}

export const emulatorRate: Row = {
  name: "emulator-rate",
  title: `a token request to the emulator against one to oidc-provider, over HTTP (aim: ${AIM} times its rate)`,
  unit: "times",
  aim: 1 / AIM,
  seconds: 40,
  async measure(build) {
    const pair = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const ours = await startSide(build, "emulator", pair);
    const theirs = await startSide(build, "oidc-provider", pair);
    try {
      for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
        for (const { tokenUrl, client, times } of [ours, theirs]) {
          const ms = await client.time(formsFor(tokenUrl, pair.privateKey));
          if (round >= WARM_UP_ROUNDS) times.push(ms);
        }
      }
    } finally {
      await ours.close();
      await theirs.close();
    }
    const interval = intervalOf(ours.times.map((ms, round) => ms / (theirs.times[round] ?? Number.NaN)));
    const detail = `${(1 / interval.value).toFixed(1)} times the rate`;
    return { ...interval, ours: rateOf(ours.times), theirs: rateOf(theirs.times), detail };
  },
};
