// Compares a write of the store in a folder with a bare durable write, and a large store with a small one.
import { mkdtempSync, rmSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { join } from "node:path";
import type { TokenStore } from "../../../src/index.js";
import { type Build, type Figures, medianOf, type Row, spreadOf } from "../measure.js";

const SMALL = 10;
const LARGE = 10_000;
const ROUNDS = 500;
const WARM_UP_ROUNDS = 50;
/** How many entries of the large store are written at the same time. */
const CONCURRENCY = 16;
/** About the size of a stored token. */
const value = "x".repeat(500);

type Task = (round: number) => Promise<unknown>;

/** Stores on the disk of the repository, with a key, and a folder for other files. */
async function withStores<T>(
  build: Build,
  use: (open: (name: string, entries: number) => Promise<TokenStore>, folder: string) => Promise<T>,
): Promise<T> {
  const module = new URL("stores/file.js", build.main).href;
  const { fileStore } = (await import(module)) as typeof import("../../../src/stores/file.js");
  const folder = mkdtempSync(join(build.folder, "stores-"));
  const opened = async (name: string, entries: number) => {
    const store = fileStore(join(folder, name), { key: new Uint8Array(32) });
    let next = 0;
    const worker = async () => {
      while (next < entries) await store.set(`entry ${next++}`, value);
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, worker));
    return store;
  };
  try {
    return await use(opened, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Times both tasks in turn. A round is long enough to be measured by itself. */
async function inTurn(ours: Task, theirs: Task, names: [string, string]): Promise<Figures> {
  const rounds: { ours: number; theirs: number }[] = [];
  const time = async (task: Task, round: number) => {
    const startedAt = performance.now();
    await task(round);
    return performance.now() - startedAt;
  };
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++)
    rounds.push({ ours: await time(ours, round), theirs: await time(theirs, round) });
  const kept = rounds.slice(WARM_UP_ROUNDS);
  const usual = medianOf(kept.map((round) => round.theirs));
  const { median, low, high } = spreadOf(kept.map((round) => round.ours / usual));
  const detail = `${names[0]} ${(median * usual).toFixed(2)} ms, ${names[1]} ${usual.toFixed(2)} ms`;
  return { value: median, low, high, detail };
}

export const fileStoreSet: Row = {
  name: "file-store-set",
  title: "fileStore: set of an entry, encrypted, against a bare write, fsync and rename on the same disk",
  unit: "times",
  aim: 5,
  measure: (build) =>
    withStores(build, async (opened, folder) => {
      const store = await opened("small", SMALL);
      const bare = async () => {
        const handle = await open(join(folder, "made"), "w", 0o600);
        await handle.writeFile(value);
        await handle.sync();
        await handle.close();
        await rename(join(folder, "made"), join(folder, "bare"));
      };
      return inTurn((round) => store.set(`entry ${round % SMALL}`, value), bare, ["set", "bare"]);
    }),
};

export const fileStoreFlat: Row = {
  name: "file-store-flat",
  title: `fileStore: set and get with ${LARGE} entries against ${SMALL}`,
  unit: "times",
  aim: 1.5,
  measure: (build) =>
    withStores(build, async (opened) => {
      const [large, small] = [await opened("large", LARGE), await opened("small", SMALL)];
      const both = (store: TokenStore, entries: number) => async (round: number) => {
        // A prime, so that all parts of the large store are met.
        const key = `entry ${(round * 7_919) % entries}`;
        await store.set(key, value);
        await store.get(key);
      };
      const names: [string, string] = [`${LARGE} entries`, `${SMALL} entries`];
      return inTurn(both(large, LARGE), both(small, SMALL), names);
    }),
};
