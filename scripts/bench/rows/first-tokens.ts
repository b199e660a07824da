// Compares first tokens for many tenants with the bare signatures that they need, at the same concurrency.
import { exportPKCS8, generateKeyPair } from "jose";
import { medianOf, type Row, sample } from "../measure.js";

const TENANTS = 10_000;
const CONCURRENCY = 50;
/** About the size of an assertion's header and claims. */
const ASSERTION_BYTES = 450;

async function answer(): Promise<Response> {
  return Response.json({ access_token: "token", token_type: "Bearer", expires_in: 3600 });
}

/** Runs every task, CONCURRENCY at a time, and returns the milliseconds. */
async function timeAll(task: (index: number) => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  let next = 0;
  const worker = async () => {
    while (next < TENANTS) await task(next++);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return performance.now() - startedAt;
}

export const firstTokens: Row = {
  name: "first-tokens",
  title: `first tokens for ${TENANTS} tenants against as many bare RS256 signatures (aim: 0.85 of their rate)`,
  unit: "times",
  aim: Number((1 / 0.85).toFixed(2)),
  seconds: 25,
  async measure({ main }, limit) {
    const { createConnector, servicePlugin } = (await import(main)) as typeof import("../../../src/index.js");
    const { privateKey } = await generateKeyPair("RS256", { extractable: true });
    const pem = await exportPKCS8(privateKey);
    const bytes = new Uint8Array(ASSERTION_BYTES);
    const algorithm = "RSASSA-PKCS1-v1_5";
    const rounds: { ours: number; theirs: number }[] = [];
    const interval = await sample(async () => {
      const connector = createConnector({
        credentials: [servicePlugin({ clientId: "bench", privateKey: pem })],
        fetch: answer,
      });
      const ours = await timeAll(async (index) => {
        const service = await connector.connect({
          baseUrl: "https://service.example",
          tenantId: `t${index}`,
        });
        return service.auth.getAccessToken();
      });
      const theirs = await timeAll(() => crypto.subtle.sign(algorithm, privateKey, bytes));
      rounds.push({ ours, theirs });
      return ours / theirs;
    }, limit);
    const ours = medianOf(rounds.map((round) => round.ours));
    const theirs = medianOf(rounds.map((round) => round.theirs));
    const rate = (ms: number): string => `${Math.round(TENANTS / (ms / 1000))}/s`;
    const detail = `${(theirs / ours).toFixed(2)} of the rate`;
    return { ...interval, ours: rate(ours), theirs: rate(theirs), detail };
  },
};
