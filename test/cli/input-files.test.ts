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

const commands = [
  { args: "token --settings FILE", flag: "--settings" },
  { args: "call listDevices --variant B --data-file FILE", flag: "--data-file" },
  { args: "doctor --jwks FILE", flag: "--jwks" },
  { args: "contract --target FILE", flag: "--target" },
  { args: "contract --baseline FILE", flag: "--baseline" },
  { args: "emulate --seed-file FILE", flag: "--seed-file" },
  { args: "emulate --settings FILE", flag: "--settings" },
  { args: "emulate --variant-a FILE", flag: "document_too_large" },
  { args: "generate --variant-a FILE --out nowhere", flag: "document_too_large" },
  { args: "token --variant A --a-private-key-file FILE", flag: "--a-private-key-file" },
  { args: "diff FILE FILE", flag: "document_too_large" },
  { args: "diff --variants --variant-a FILE", flag: "document_too_large" },
] as const;
const onlyPiped = [
  { args: "survey CUSTOMERS --since FILE" },
  { args: "survey FILE" },
  { args: "generate --overlay FILE --out nowhere" },
  { args: "survey KEYS" },
];

let deployment: CliDeployment;
beforeAll(async () => {
  deployment = await startDeployment();
});

const argsOf = (args: string, file: string) =>
  args.split(" ").map((word) => {
    if (word === "FILE") return file;
    return /^[A-Z]{2,}$/.test(word) ? join(deployment.folder, word) : word;
  });

function makePipe(name: string): string {
  const path = join(deployment.folder, name);
  execFileSync("mkfifo", [path]);
  return path;
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
  test.each(commands)("without an end is refused: $args", async ({ args, flag }) => {
    const { stderr } = await refused(argsOf(args, "/dev/zero"), deployment.env, flag);
    expect(stderr).toMatch(/(?:has more|larger) than \d+ bytes/);
  });

  test.each([...commands, ...onlyPiped])(
    "that is a pipe which nothing is written to is left at Ctrl-C: $args",
    async ({ args }) => {
      const pipe = makePipe(`pipe ${args.replaceAll(/\W+/g, "-")}`);
      const row = "http://127.0.0.1:2,acme,B,account";
      const head = "baseUrl,tenantId,variant,bClientId,bClientSecretFile";
      await writeFile(join(deployment.folder, "CUSTOMERS"), `${head}\n${row},secret\n`);
      await writeFile(join(deployment.folder, "KEYS"), `${head}\n${row},${pipe}\n`);
      const running = startCli(argsOf(args, pipe), deployment.env);
      const writer = await openWriter(pipe, running);
      running.interrupt();
      expect(await running.ended).toMatchObject({ code: 130, stdout: "" });
      closeSync(writer);
    },
  );

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
