// Compares token requests to the emulator and to oidc-provider: private_key_jwt and
// client_credentials over HTTP.
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Build, duration, medianOf, type Row, sample, shuffled } from "../measure.js";
import { startScript } from "../script.js";
import { TokenClient } from "../token-client.js";
import type { ServerTask } from "../token-server.js";

const REQUESTS = 100;
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
  const claims = {
    iss: clientId,
    sub: clientId,
    aud: audience,
    jti: `jti-${signed}`,
    iat,
    exp: iat + 120,
  };
  const parts = [{ alg: "RS256", kid: KEY_ID }, claims];
  const input = parts
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
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

/**
 * A token server in a process of its own, the connections to it, and the processor time of its
 * rounds.
 */
interface Side {
  readonly costs: number[];
  /** Posts the requests of a round. */
  run(): Promise<void>;
  close(): Promise<void>;
}

async function startSide(build: Build, kind: ServerTask["kind"], pair: Pair): Promise<Side> {
  const emulatorMain = pathToFileURL(join(build.folder, "dist/src/emulator/index.js")).href;
  const publicJwk = { ...pair.publicKey.export({ format: "jwk" }), kid: KEY_ID };
  const task: ServerTask = { ...CLIENT, kind, publicJwk, emulatorMain };
  const server = await startScript(build, "token-server", task);
  const tokenUrl = String(server.answer);
  const client = new TokenClient(tokenUrl, CONNECTIONS);
  const costs: number[] = [];
  const run = async (): Promise<void> => {
    const forms = formsFor(tokenUrl, pair.privateKey);
    const before = await server.cpuMs();
    await client.post(forms);
    costs.push(((await server.cpuMs()) - before) / REQUESTS);
  };
  const close = async (): Promise<void> => {
    await client.close();
    await server.stop();
  };
  return { costs, run, close };
}

function inWords(costs: readonly number[]): string {
  const ms = medianOf(costs);
  return `${duration(ms)} CPU, ${Math.round(1_000 / ms)}/s`;
}

export const emulatorRate: Row = {
  name: "emulator-rate",
  title:
    "a token request to the emulator against one to oidc-provider, over HTTP, processor time " +
    "of the server",
  unit: "times",
  aim: 1,
  seconds: 25,
  async measure(build, limit) {
    const pair = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const ours = await startSide(build, "emulator", pair);
    const theirs = await startSide(build, "oidc-provider", pair);
    const last = (side: Side): number => side.costs.at(-1) ?? Number.NaN;
    const round = async (): Promise<number> => {
      for (const side of shuffled([ours, theirs])) await side.run();
      return last(ours) / last(theirs);
    };
    try {
      // Each server answers thousands of requests until its code is compiled.
      const half = limit.seconds / 2;
      while (limit.seconds > half) await round();
      for (const { costs } of [ours, theirs]) costs.length = 0;
      const interval = await sample(round, limit);
      const detail = `${(1 / interval.value).toFixed(1)} times the rate`;
      return { ...interval, ours: inWords(ours.costs), theirs: inWords(theirs.costs), detail };
    } finally {
      await ours.close();
      await theirs.close();
    }
  },
};
