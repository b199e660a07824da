// Files that a command reads: endless ones are refused, and pipes without an end are left when
// Ctrl-C comes.
import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { type CliDeployment, startDeployment } from "./cli-deployment.js";
import { type Ended, type Running, refused, startCli, startProcess } from "./command-line.js";

/** One for each way to read a file. That every command reads in one of them is shown by a pipe. */
const ways = [
  { args: "token --settings FILE", flag: "--settings" },
  { args: "generate --variant-a FILE --out nowhere", flag: "document_" },
  { args: "token --variant A --a-private-key-file FILE", flag: "--a-private-key-file" },
];
const piped = [
  "token --settings FILE",
  "token --variant A --a-private-key-file FILE",
  "call listDevices --variant B --data-file FILE",
  "doctor --jwks FILE",
  "contract --target FILE",
  "contract --baseline FILE",
  "emulate --seed-file FILE",
  "emulate --settings FILE",
  "emulate --variant-a FILE",
  "generate --variant-a FILE --out nowhere",
  "generate --overlay FILE --out nowhere",
  "survey FILE",
  "survey CUSTOMERS --since FILE",
  "survey KEYS",
];

let deployment: CliDeployment;
const at = (name: string) => join(deployment.folder, name);
beforeAll(async () => {
  deployment = await startDeployment();
  const row = "http://127.0.0.1:2,acme,B,account";
  const head = "baseUrl,tenantId,variant,bClientId,bClientSecretFile";
  await writeFile(at("CUSTOMERS"), `${head}\n${row},secret\n`);
  await writeFile(at("KEYS"), `${head}\n${row},${at("pipe survey-KEYS")}\n`);
});

const argsOf = (args: string, file: string) =>
  args.split(" ").map((word) => {
    if (word === "FILE") return file;
    return /^[A-Z]{2,}$/.test(word) ? at(word) : word;
  });

function makePipe(name: string): string {
  execFileSync("mkfifo", [at(name)]);
  return at(name);
}

/** Opens the pipe once the command has opened it. */
async function openWriter(path: string, { ended }: Running): Promise<number> {
  let result: Ended | undefined;
  ended.then((given) => {
    result = given;
  });
  for (;;)
    try {
      return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    } catch {
      if (result !== undefined)
        throw new Error(`It ended without reading: ${JSON.stringify(result)}`);
      await turn();
    }
}

describe.skipIf(process.platform === "win32")("a file", () => {
  test.each(ways)("without an end is refused: $args", async ({ args, flag }) => {
    const { stderr } = await refused(argsOf(args, "/dev/zero"), deployment.env, flag);
    expect(stderr).toMatch(/(?:has more|larger) than \d+ bytes/);
  });

  test.each(ways)("that is not UTF-8 is refused: $args", async ({ args, flag }) => {
    await writeFile(at("latin-1"), Buffer.from('{ "title": "Zürich" }', "latin1"));
    await refused(argsOf(args, at("latin-1")), deployment.env, flag, "UTF-8");
  });

  test.each(piped)("that is a pipe without a writer is left at Ctrl-C: %s", async (args) => {
    const pipe = makePipe(`pipe ${args.replaceAll(/\W+/g, "-")}`);
    const running = startCli(argsOf(args, pipe), deployment.env);
    const writer = await openWriter(pipe, running);
    running.interrupt();
    expect(await running.ended).toMatchObject({ code: 130, stdout: "" });
    closeSync(writer);
  });

  test("that is a pipe is read to its end", async () => {
    const pipe = makePipe("settings");
    const running = startCli(["token", "--settings", pipe], deployment.env);
    const writer = await openWriter(pipe, running);
    writeSync(writer, '{ "variante": "A" }');
    closeSync(writer);
    const { code, stderr } = await running.ended;
    expect(code).toBe(2);
    expect(stderr).toContain('unknown key: "variante"');
  });

  test("that is a pipe which nothing opens does not keep the process from ending", async () => {
    const pipe = makePipe("unopened");
    const args = ["generate", "--variant-a", pipe, "--variant-b", pipe, "--out", "nowhere"];
    const running = await startProcess(args);
    await running.seen(/Still generating/);
    running.interrupt();
    expect(await running.ended).toMatchObject({ code: 130, stdout: "" });
  });
});
