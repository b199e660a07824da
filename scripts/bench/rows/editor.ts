// Measures how long an editor waits for the diagnosis of an edit, in a file with 200 calls.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Build, duration, type Row, sample } from "../measure.js";
import { CALLS, writePrograms } from "./type-check.js";

const SERVER = fileURLToPath(
  new URL("../../../node_modules/typescript/lib/tsserver.js", import.meta.url),
);
/** The longest wait for openapi-fetch, which has no aim. */
const MOST_SECONDS = 15;
const EDITS_OF_THEIRS = 3;

interface Editor {
  /** Milliseconds from the next edit to its diagnosis. */
  edit(): Promise<number>;
  close(): void;
}

/** Opens the file in TypeScript's server, as an editor does, and waits for the first diagnosis. */
async function openEditor(folder: string): Promise<Editor> {
  const file = join(folder, "calls.ts");
  const child = spawn(process.execPath, [SERVER, "--disableAutomaticTypingAcquisition"], {
    cwd: folder,
    stdio: ["pipe", "pipe", "ignore"],
  });
  let seq = 0;
  let diagnosed: ((count: number) => void) | undefined;
  // Each message is one line of JSON between lines of headers.
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = line.startsWith("{") ? JSON.parse(line) : {};
    if (message.event === "semanticDiag") diagnosed?.(message.body.diagnostics.length);
  });
  const send = (command: string, args: object): void => {
    seq += 1;
    child.stdin.write(`${JSON.stringify({ seq, type: "request", command, arguments: args })}\n`);
  };
  const diagnosis = async (expected: number): Promise<void> => {
    const answer = new Promise<number>((resolve) => {
      diagnosed = resolve;
    });
    send("geterr", { files: [file], delay: 0 });
    const found = await answer;
    if (found !== expected) throw new Error(`${file} has ${found} errors instead of ${expected}`);
  };
  const lines = readFileSync(file, "utf8").split("\n");
  send("open", { file });
  await diagnosis(0);
  const line = lines.findIndex((text) => text.includes(` call${CALLS / 2}()`)) + 1;
  const offset = (lines[line - 1] ?? "").lastIndexOf("data;") + 1;
  const place = { file, line, endLine: line, offset };
  let isWrong = false;
  return {
    edit: async () => {
      isWrong = !isWrong;
      const [before, after] = isWrong ? ["data", "daten"] : ["daten", "data"];
      const startedAt = performance.now();
      send("change", { ...place, endOffset: offset + before.length, insertString: after });
      await diagnosis(isWrong ? 1 : 0);
      return performance.now() - startedAt;
    },
    close: () => child.kill(),
  };
}

async function timeOfTheirs({ folder }: Build): Promise<string> {
  const editor = await openEditor(join(folder, "theirs"));
  try {
    let last = 0;
    for (let edit = 0; edit < EDITS_OF_THEIRS && last !== undefined; edit++) {
      const took = await Promise.race([editor.edit(), sleep(MOST_SECONDS * 1_000)]);
      if (took === undefined) return `no answer in ${MOST_SECONDS} s`;
      last = took;
    }
    return duration(last);
  } finally {
    editor.close();
  }
}

export const editorDiagnosis: Row = {
  name: "editor-diagnosis",
  title:
    `from an edit to its diagnosis by TypeScript 5.9 in a file with ${CALLS} calls; ` +
    "beside it openapi-fetch",
  unit: "s",
  aim: 1,
  seconds: 35,
  async measure(build, limit) {
    await writePrograms(build);
    const editor = await openEditor(join(build.folder, "ours"));
    try {
      const { aim } = limit;
      const seconds = limit.seconds / 3;
      const interval = await sample(async () => (await editor.edit()) / 1_000, { aim, seconds });
      return {
        ...interval,
        ours: duration(interval.value * 1_000),
        theirs: await timeOfTheirs(build),
      };
    } finally {
      editor.close();
    }
  },
};
