// Changes of a file store by a process that is killed, or suspended until others have changed the
// entry, before any of its calls that change the file system.
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { copyFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { TokenStore } from "../../src/index.js";
import { fileStore } from "../../src/stores/file.js";
import { type SteppedClock, steppedClock } from "../support/clock.js";
import { beforeCalls } from "./file-calls.js";
import { atOnceMs } from "./start-process.js";
import { entryFiles, expectNothingLeft, temporaryFolder } from "./temporary-folder.js";

const key = randomBytes(32);
let path: string;
let clock: SteppedClock;
let store: TokenStore;
beforeEach(() => {
  clock = steppedClock();
});
const open = () => fileStore(path, { key, clock });
const write = (value: string) => store.set("key", value);
const entryFile = () => entryFiles(path)[0] ?? "";
const tear = () => writeFileSync(entryFile(), "torn");

interface Change {
  readonly name: string;
  readonly prepare: () => unknown;
  /** By another process. */
  readonly change: (other: TokenStore) => Promise<unknown>;
  /** What may be stored after it was killed. */
  readonly left: readonly (string | undefined)[];
}
let version: string;
const overwriting: Change = {
  name: "a write over a version",
  prepare: async () => {
    version = (await write("old")).version;
  },
  change: (other) => other.set("key", "new", { ifVersion: version }),
  left: ["old", "new"],
};
const settingAside: Change = {
  name: "a read of a damaged file",
  prepare: async () => {
    await write("old");
    tear();
  },
  change: (other) => other.get("key"),
  left: ["store_corrupt", undefined],
};
const sweeping: Change = {
  name: "a write that sweeps an expired entry",
  async prepare() {
    await store.set("key", "old", { expiresAt: clock.now() + 1 });
    clock.advance(1);
  },
  change: (other) => other.set("other", "value"),
  left: [undefined],
};
const others: readonly Change[] = [
  {
    name: "the first write",
    prepare: () => {},
    change: (other) => other.set("key", "new"),
    left: [undefined, "new"],
  },
  {
    name: "a delete",
    prepare: () => write("old"),
    change: (other) => other.delete("key"),
    left: ["old", undefined],
  },
];

/**
 * Runs a change once for each of its calls that change the file system, in a new folder, and acts
 * before that call and those after it. Then runs `check`.
 */
async function atEachCall(
  { prepare, change }: Change,
  act: (isFirst: boolean) => void,
  check: (when: string) => Promise<void>,
): Promise<void> {
  for (let step = 0, isDone = false; !isDone; step++) {
    path = join(temporaryFolder(), "store");
    store = open();
    await prepare();
    let [calls, when] = [0, "without a stop"];
    const end = beforeCalls(({ name, at }) => {
      if (calls === step) when = `before call ${step}: ${name} ${String(at)}`;
      if (calls++ >= step) act(calls === step + 1);
    });
    await change(open()).catch(() => {});
    end();
    await check(when);
    isDone = calls <= step;
    if (isDone) expect(calls).toBeGreaterThan(6);
  }
}

describe("a process that is killed at any call leaves the old value or the new one, and no lock:", () => {
  const { pid } = process;
  const { pid: endedPid } = spawnSync(process.execPath, ["--version"]);
  const pretend = (value: number) => Object.defineProperty(process, "pid", { value });

  test.each([overwriting, settingAside, sweeping, ...others])("$name", async (change) => {
    onTestFinished(() => void pretend(pid));
    const kill = () => {
      throw new Error("killed");
    };
    const inAnother: Change = {
      ...change,
      change: (other) => change.change(pretend(endedPid) && other),
    };
    await atEachCall(inAnother, kill, async (when) => {
      pretend(pid);
      const startedAt = performance.now();
      const found = await store.get("key").then(
        (entry) => entry?.value,
        ({ code }) => code,
      );
      expect(change.left, when).toContain(found);
      await store.lock("key", () => write("after"));
      expect((await store.get("key"))?.value).toBe("after");
      await write("last");
      expectNothingLeft(path);
      expect(performance.now() - startedAt, when).toBeLessThan(atOnceMs);
    });
  });
});

describe("a process that is suspended at any call, until others took its lock and changed the entry, changes nothing:", () => {
  const rows = [
    { ...overwriting, since: "wrote it", isWritten: true },
    { ...overwriting, since: "removed it", isWritten: false },
    { ...settingAside, since: "wrote it", isWritten: true },
    { ...sweeping, since: "wrote it", isWritten: true },
  ];
  test.each(rows)("$name, and others $since", async ({ isWritten, ...change }) => {
    const newer = join(temporaryFolder(), "newer");
    let file = "";
    const prepare = async () => {
      await write("newer");
      file = entryFile();
      copyFileSync(file, newer);
      await change.prepare();
    };
    const takeOver = (isFirst: boolean) => {
      if (!isFirst) return;
      for (const lock of readdirSync(join(path, "locks")).filter((name) => name.endsWith(".entry")))
        rmSync(join(path, "locks", lock), { recursive: true });
      if (isWritten) {
        copyFileSync(newer, `${newer}~`);
        renameSync(`${newer}~`, file);
      } else rmSync(file, { force: true });
    };
    await atEachCall({ ...change, prepare }, takeOver, async (when) => {
      if (when === "without a stop") return;
      expect((await store.get("key"))?.value, when).toBe(isWritten ? "newer" : undefined);
      expectNothingLeft(path);
    });
  });
});
