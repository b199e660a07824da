// Sixty hours of one connector with a thousand tenants and one backend with ten thousand sessions,
// in an hour of real time: `npm run soak -- --minutes 60 --svg soak.svg`. Memory, handles and store
// entries must not grow; exit code 1 if they do. It is bundled before it runs, since tsx holds 256
// bytes more for each closure: its name.
import { writeFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createConnector, serviceAccount, type TokenStore } from "../../src/index.js";
import { bearer, OWN, rig, SERVICE } from "../backend/rig.js";
import { TestBrowser } from "../backend/test-browser.js";
import { waitless } from "../support/clock.js";
import { drawSoak, type Sample } from "./picture.js";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "60" },
    tenants: { type: "string", default: "1000" },
    sessions: { type: "string", default: "10000" },
    svg: { type: "string" },
  },
});
const minutes = Number(values.minutes);
const hourMs = 3_600_000;
/**
 * Sessions last eight hours, and their end is remembered for a day: nothing is steady before 32
 * hours.
 */
const [steadyHour, lastHour] = [36, 60];
const steps = 7_200;
const samplesInAll = 120;
const stepMs = (lastHour * hourMs) / steps;
/**
 * A person of Variant A launches again after an hour, one of Variant B logs in again after eight.
 */
const launches = Math.round(Number(values.sessions) / 10);

/** Counts the entries of a store that have not expired. */
function counted(inner: TokenStore): { readonly store: TokenStore; size(now: number): number } {
  const ends = new Map<string, number>();
  const store: TokenStore = {
    get: (key) => inner.get(key),
    lock: (...args) => inner.lock(...args),
    set(key, value, options) {
      ends.set(key, options?.expiresAt ?? Number.POSITIVE_INFINITY);
      return inner.set(key, value, options);
    },
    delete(key) {
      ends.delete(key);
      return inner.delete(key);
    },
  };
  return {
    store,
    size(now) {
      for (const [key, end] of ends) if (end <= now) ends.delete(key);
      return ends.size;
    },
  };
}

let size: (now: number) => number = () => 0;
const parts = rig({
  session: { lifetimeMs: 8 * hourMs, idleMs: 8 * hourMs },
  // The emulator remembers a login until its end, which by default comes after ninety days.
  emulator: { refreshTokens: { lifetimeSeconds: 8 * 3_600 } },
  wrapStore(inner) {
    const made = counted(inner);
    size = made.size;
    return made.store;
  },
});
const { emulator, clock, backend, store } = parts;
const tenants = Array.from({ length: Number(values.tenants) }, (_, index) => `tenant-${index}`);
const clientSecret = "not a real secret";
for (const tenantId of tenants)
  emulator.registerServiceAccount({ tenantId, clientId: `account-of-${tenantId}`, clientSecret });
const connector = createConnector({
  credentials: [
    serviceAccount(({ tenantId }) => ({ clientId: `account-of-${tenantId}`, clientSecret })),
  ],
  store,
  clock: waitless(clock.now),
  fetch: emulator.fetch,
});

const counts = { calls: 0, launches: 0, logins: 0, refused: 0 };

async function signedIn(isLaunch: boolean): Promise<string> {
  const browser = new TestBrowser(backend, OWN);
  counts[isLaunch ? "launches" : "logins"]++;
  const { session = "" } = isLaunch ? await parts.launch(browser) : await parts.loggedIn(browser);
  return session;
}

/** A call as the person of a session; a session that is over is replaced. */
async function callAs(sessions: string[], index: number): Promise<void> {
  try {
    const request = new Request(`${OWN}/devices`, { headers: bearer(sessions[index]) });
    const outcome = await (await backend.connect(request)).call("listDevices");
    counts.calls++;
    if (!outcome.ok) counts.refused++;
  } catch {
    sessions[index] = await signedIn(index < launches);
  }
}

async function callOf(tenantId: string): Promise<void> {
  const service = await connector.connect({ baseUrl: SERVICE, tenantId });
  const outcome = await service.call("listDevices");
  counts.calls++;
  if (!outcome.ok) counts.refused++;
}

const collectGarbage = (globalThis as { gc?: () => void }).gc ?? (() => undefined);
const samples: Sample[] = [];
function sample(step: number): void {
  collectGarbage();
  const { heapUsed, rss } = process.memoryUsage();
  const handles = process.getActiveResourcesInfo().length;
  const entries = size(clock.now());
  samples.push({
    hour: (step * stepMs) / hourMs,
    heapMB: heapUsed / 1e6,
    rssMB: rss / 1e6,
    handles,
    entries,
  });
}

const startedAt = performance.now();
const sessions: string[] = [];
for (let index = 0; index < Number(values.sessions); index++)
  sessions.push(await signedIn(index < launches));
console.error(
  `${sessions.length} sessions after ${Math.round((performance.now() - startedAt) / 1000)} s`,
);
const beganAt = performance.now();
for (let step = 0; step <= steps; step++) {
  clock.advance(stepMs);
  for (let turn = 0; turn < 24; turn++)
    await callAs(sessions, (step * 24 + turn) % sessions.length);
  for (let turn = 0; turn < 8; turn++)
    await callOf(tenants[(step * 8 + turn) % tenants.length] ?? "");
  if (step % (steps / samplesInAll) === 0) {
    sample(step);
    const { heapMB, handles, entries } = samples.at(-1) as Sample;
    console.error(
      `hour ${((step * stepMs) / hourMs).toFixed(2)}: ` +
        `${heapMB.toFixed(1)} MB, ${handles} handles, ${entries} entries`,
    );
  }
  const aheadMs = beganAt + (minutes * 60_000 * step) / steps - performance.now();
  if (aheadMs > 0) await setTimeout(aheadMs);
}

const median = (rows: readonly number[]) =>
  [...rows].sort((a, b) => a - b)[Math.floor(rows.length / 2)] ?? 0;
const settled = samples.filter(({ hour }) => hour >= steadyHour);
const [earlier, later] = [settled.slice(0, settled.length / 2), settled.slice(settled.length / 2)];
let grew = false;
for (const name of ["heapMB", "handles", "entries"] as const) {
  const [before, after] = [earlier, later].map((rows) => median(rows.map((one) => one[name]))) as [
    number,
    number,
  ];
  grew ||= after > before * 1.05 + 1;
  console.log(
    `${name}: ${before.toFixed(1)} in hours 36 to 48, ${after.toFixed(1)} in hours 48 to 60`,
  );
}
console.log(
  `${Math.round((performance.now() - beganAt) / 60_000)} minutes, ${JSON.stringify(counts)}`,
);
if (values.svg) writeFileSync(values.svg, drawSoak(samples));
process.exitCode = grew || counts.refused > 0 ? 1 : 0;
