// Compares a write of the store in a folder with a bare durable write, and a large store with a
// small one.
import { mkdtempSync, rmSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { join } from "node:path";
import type { TokenStore } from "../../../src/index.js";
import {
  type Build,
  duration,
  type Figures,
  type Limit,
  medianOf,
  type Row,
  sample,
} from "../measure.js";

const SMALL = 10;
const LARGE = 10_000;
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
async function inTurn(ours: Task, theirs: Task, limit: Limit): Promise<Figures> {
  const rounds: { ours: number; theirs: number }[] = [];
  const time = async (task: Task, round: number) => {
    const startedAt = performance.now();
    await task(round);
    return performance.now() - startedAt;
  };
  let round = 0;
  const once = async () => ({ ours: await time(ours, round), theirs: await time(theirs, round++) });
  while (round < WARM_UP_ROUNDS) await once();
  const interval = await sample(async () => {
    const both = await once();
    rounds.push(both);
    return both.ours / both.theirs;
  }, limit);
  const median = (side: "ours" | "theirs") =>
    duration(medianOf(rounds.map((round) => round[side])));
  return { ...interval, ours: median("ours"), theirs: median("theirs") };
}

export const fileStoreSet: Row = {
  name: "file-store-set",
  title:
    "fileStore: set of an entry, encrypted, against a bare write, fsync and rename on " +
    "the same disk",
  unit: "times",
  aim: 5,
  seconds: 8,
  measure: (build, limit) =>
    withStores(build, async (opened, folder) => {
      const store = await opened("small", SMALL);
      const bare = async () => {
        const handle = await open(join(folder, "made"), "w", 0o600);
        await handle.writeFile(value);
        await handle.sync();
        await handle.close();
        await rename(join(folder, "made"), join(folder, "bare"));
      };
      return inTurn((round) => store.set(`entry ${round % SMALL}`, value), bare, limit);
    }),
};

export const fileStoreFlat: Row = {
  name: "file-store-flat",
  title: `fileStore: set and get with ${LARGE} entries against ${SMALL}`,
  unit: "times",
  aim: 1.5,
  seconds: 15,
  measure: (build, limit) =>
    withStores(build, async (opened) => {
      const [large, small] = [await opened("large", LARGE), await opened("small", SMALL)];
      const both = (store: TokenStore, entries: number) => async (round: number) => {
        // The factor is a prime, so that the rounds reach all parts of the large store.
        const key = `entry ${(round * 7_919) % entries}`;
        await store.set(key, value);
        await store.get(key);
      };
      return inTurn(both(large, LARGE), both(small, SMALL), limit);
    }),
};
