/** Who holds a lock of a file store, and whether that process is gone. */
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { performance } from "node:perf_hooks";

/** How often a holder shows that it lives. */
export const beatEveryMs = 1_000;
/** A holder that shows nothing for so long, while somebody watches, is gone. */
export const goneAfterMs = 5_000;
/** No more than this counts as watching between two looks: a watcher that slept itself has seen nothing. */
const mostPerLookMs = 250;

let machine: string | undefined;

/**
 * Says where a process id means something: this host since it was started, and this container. Where that cannot be
 * known (two containers may share a host name and a folder) no two processes are taken to be neighbours.
 */
function thisMachine(): string {
  if (machine !== undefined) return machine;
  const parts = [hostname(), process.platform];
  try {
    if (process.platform === "linux")
      parts.push(readFileSync("/proc/sys/kernel/random/boot_id", "utf8"), readlinkSync("/proc/self/ns/pid"));
  } catch {
    parts.push(randomBytes(8).toString("hex"));
  }
  machine = createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, 16);
  return machine;
}

/** A name for one holding of one lock: machine, process, and what no other holding has. Fit for a file name. */
export function newHolder(): string {
  return `${thisMachine()}.${process.pid}.${randomBytes(8).toString("hex")}`;
}

const holderShape = /^([0-9a-f]{16})\.([1-9]\d{0,9})\.[0-9a-f]{16}$/;

/** Other things may lie about: what a network share or a file browser leaves there. */
export function isHolder(name: string): boolean {
  return holderShape.test(name);
}

/** Whether the holder's process has surely ended: known at once, but only of this machine's. */
export function hasEnded(holder: string): boolean {
  const [, on, pid] = holderShape.exec(holder) ?? [];
  if (on !== thisMachine()) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as { code?: unknown }).code === "ESRCH";
  }
}

/** The holder in words, for messages. */
export function describeHolder(holder: string): string {
  const [on, pid] = holder.split(".");
  return on === thisMachine()
    ? `process ${pid} of this machine`
    : "a process of another machine or container";
}

export interface Watch {
  /** To be asked again and again, with the time of the holder's last beat, or with anything that beats change. */
  isGone(holder: string, beat: number): boolean;
}

/**
 * Watches holders whose end cannot be known otherwise: another machine's, and this one's whose process id was given to
 * another. No clock of theirs is compared with ours; what counts is that beats were awaited and none came.
 */
export function watchHolders(clock: () => number = () => performance.now()): Watch {
  const watched = new Map<string, { beat: number; lookedAt: number; silentMs: number }>();
  return {
    isGone(holder, beat) {
      const at = clock();
      const before = watched.get(holder);
      const silentMs =
        before?.beat === beat ? before.silentMs + Math.min(at - before.lookedAt, mostPerLookMs) : 0;
      watched.delete(holder);
      watched.set(holder, { beat, lookedAt: at, silentMs });
      // Those not looked at for the longest time were released long ago.
      if (watched.size > 1_000) watched.delete(watched.keys().next().value ?? holder);
      return silentMs >= goneAfterMs;
    },
  };
}
