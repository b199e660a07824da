// Floods a backend with a file store with anonymous logins, and launches beside them.
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { fileStore } from "../../src/stores/file.js";
import { OWN, rig } from "../backend/rig.js";
import { temporaryFolder } from "../stores/temporary-folder.js";
import { START } from "../support/clock.js";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Sends 25 anonymous logins a second. Returns the median times of an honest launch before and during that, in
 * milliseconds, and what the logins added to the store, in bytes.
 */
export async function floodOfLogins(
  seconds: number,
): Promise<{ usualMs: number; floodedMs: number; grownBytes: number }> {
  const path = join(temporaryFolder(), "store");
  const { backend, launch } = rig({ store: fileStore(path, { plaintext: true, now: () => START }) });
  const size = () => {
    const files = readdirSync(path, { recursive: true }).map((name) => join(path, String(name)));
    return files.reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0);
  };
  /** Launches five times a second, and returns how long each launch took. */
  const launches = async (count: number) => {
    const times: number[] = [];
    while (times.length < count) {
      await pause(200);
      const startedAt = performance.now();
      await launch();
      times.push(performance.now() - startedAt);
    }
    return times;
  };
  const median = (times: number[]) => times.sort((one, other) => one - other)[times.length >> 1] ?? 0;
  await launch();
  const sizes = [size()];
  const before = await launches(3 * seconds);
  sizes.push(size());
  let answered = 0;
  const timer = setInterval(async () => {
    if ((await backend(new Request(`${OWN}/auth/login`))).status === 302) answered++;
    // Timers are late, and there must be at least 25.
  }, 36);
  const during = await launches(5 * seconds);
  clearInterval(timer);
  await expect.poll(() => answered).toBeGreaterThanOrEqual(25 * seconds);
  sizes.push(size());
  const usualMs = median([...before, ...(await launches(3 * seconds))]);
  const [first = 0, second = 0, last = 0] = sizes;
  const perLaunch = (second - first) / before.length;
  return { usualMs, floodedMs: median(during), grownBytes: last - second - perLaunch * during.length };
}
