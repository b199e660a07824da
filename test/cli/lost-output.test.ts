// Output that cannot be written: told where it still can be, and never an exit code of success.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, openSync } from "node:fs";
import { expect, test } from "vitest";
import { startCli } from "./command-line.js";

test.skipIf(!existsSync("/dev/full"))(
  "a full disk is told on stderr, with the exit code of a fault",
  async () => {
    const child = spawn(process.execPath, ["--import", "tsx", main, "--help"], {
      env: { PATH: process.env.PATH },
      stdio: ["ignore", openSync("/dev/full", "w"), "pipe"],
    });
    let told = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      told += text;
    });
    const [code] = await once(child, "close");
    expect({ code, told }).toEqual({ code: 70, told: "The output could not be written (ENOSPC).\n" });
  },
);

test("a reader who has gone is told nothing, and the exit code is a shell's for that", async () => {
  const { child, ended } = startCli(["unknowns"]);
  child.stdout?.destroy();
  const { code, stderr } = await ended;
  expect({ code, stderr }).toEqual({ code: 141, stderr: "" });
});
