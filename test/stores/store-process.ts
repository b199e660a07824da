// A process with a file store. It does what its arguments say, and reports each step as a line of
// JSON.
import { randomBytes } from "node:crypto";
import { isBivariantError } from "../../src/errors.js";
import { fileStore } from "../../src/stores/file.js";

const [what, path = "", count = "0"] = process.argv.slice(2);
const store = fileStore(path, { key: process.env.STORE_KEY });
const tell = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);

/** Counts by compare-and-set, without a lock. */
async function compete(): Promise<void> {
  for (let times = 0; times < Number(count); ) {
    const entry = await store.get("counter");
    const next = String(Number(entry?.value ?? "0") + 1);
    const written = store.set("counter", next, { ifVersion: entry?.version ?? null });
    times += await written
      .then(() => 1)
      .catch((error) => {
        if (error.code !== "store_conflict") throw error;
        return 0;
      });
    tell({ step: "counted", number: times });
  }
}

/**
 * Holds the lock until a line comes in, then, once the lease is lost, writes over the version that
 * it read before.
 */
async function hold(): Promise<void> {
  await store.lock("counter", async (lease) => {
    const entry = await store.get("counter");
    tell({ step: "held" });
    await new Promise((resolve) => process.stdin.once("data", resolve));
    if (!lease?.aborted) await new Promise((resolve) => lease?.addEventListener("abort", resolve));
    tell({ step: "lost", code: lease?.reason.code });
    await store.set("counter", "late", { ifVersion: entry?.version ?? null });
  });
}

/**
 * Writes numbers for ever, and reports each after it is written. The length of the values differs.
 */
async function write(): Promise<void> {
  for (let number = 1; ; number++) {
    await store.set("number", `${number}:${"x".repeat((number * 7_919) % 50_000)}`);
    tell({ step: "written", number });
  }
}

/** Writes more than the limit on file sizes allows. */
async function fill(): Promise<void> {
  await store.set("large", randomBytes(1_000_000).toString("hex"));
}

try {
  await { compete, hold, write, fill }[what as "compete"]();
  tell({ step: "done" });
} catch (error) {
  tell({
    step: "failed",
    ...(isBivariantError(error) ? error.toJSON() : { message: String(error) }),
  });
}
process.stdin.destroy();
