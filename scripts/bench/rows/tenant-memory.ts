// Measures the memory of a tenant in a connector that holds many, and the time to create one.
import { type Build, medianOf, type Row, spreadOf } from "../measure.js";
import { startScript } from "../script.js";
import type { TenantCost, TenantsTask } from "../tenants.js";

const TENANTS = 100_000;
/** Of the other kinds of credential. */
const FEWER_TENANTS = 5_000;
const ROUNDS = 3;
/** A round that would begin later is left out, as on a machine that does other work too. */
const LONGEST_MS = 20_000;

async function costOf(build: Build, wanted: Omit<TenantsTask, "main">): Promise<TenantCost> {
  const task: TenantsTask = { main: build.main, ...wanted };
  const { answer, stop } = await startScript(build, "tenants", task, ["--expose-gc"]);
  await stop();
  return answer as TenantCost;
}

const kB = (bytes: number): string => `${(bytes / 1_000).toFixed(2)} kB`;

export const tenantMemory: Row = {
  name: "tenant-memory",
  title: `heap of an idle tenant with its token of 36 characters, of ${TENANTS} in one connector, their services dropped`,
  unit: "kB",
  aim: 2.5,
  async measure(build) {
    const startedAt = performance.now();
    const account = await costOf(build, { tenants: FEWER_TENANTS, credential: "serviceAccount" });
    const both = await costOf(build, { tenants: FEWER_TENANTS, credential: "both" });
    const rounds: TenantCost[] = [];
    do rounds.push(await costOf(build, { tenants: TENANTS, credential: "servicePlugin" }));
    while (rounds.length < ROUNDS && performance.now() - startedAt < LONGEST_MS);
    const { median, low, high } = spreadOf(rounds.map(({ bytes }) => bytes / 1_000));
    const kept = medianOf(rounds.map(({ bytesWithService }) => bytesWithService));
    const microseconds = medianOf(rounds.map((round) => round.microseconds));
    const seconds = ((microseconds * TENANTS) / 1e6).toFixed(1);
    const detail = [
      `${kB(kept)} with its service held`,
      `${kB(account.bytes)} with serviceAccount instead of servicePlugin, ${kB(both.bytes)} with both and a detection`,
      `connected with a first token in ${microseconds.toFixed(0)} µs, all in ${seconds} s, without the time to sign`,
    ].join("; ");
    return { value: median, low, high, detail };
  },
};
