// Ctrl-C ends a command. No process is started, since a signal does the same in all commands.
import { expect, test } from "vitest";
import { startDeployment } from "./cli-deployment.js";
import { startCli } from "./command-line.js";
import { listen } from "./servers.js";

test.each(["detect", "doctor", "call listDevices", "token"])(
  "%s exits 130 at Ctrl-C",
  async (command) => {
    const { env } = await startDeployment();
    const { url } = await listen(() => running.interrupt());
    const running = startCli(command.split(" "), { ...env, BIVARIANT_BASE_URL: url });
    expect(await running.ended).toMatchObject({ code: 130, stdout: "", stderr: "Interrupted.\n" });
  },
);

test("demo exits 130 at Ctrl-C", async () => {
  const running = startCli(["demo"]);
  await running.seen(/A only/i);
  running.interrupt();
  expect(await running.ended).toMatchObject({ code: 130 });
});
