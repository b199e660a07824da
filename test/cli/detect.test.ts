// `bivariant detect`: verdict, evidence and exit code, on stdout alone.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { leaksOf, startDeployment } from "./cli-deployment.js";
import { cli } from "./command-line.js";

const deployments = [
  { name: "Variant A only", variants: ["A"], exit: 0, served: { A: "yes", B: "no" } },
  { name: "Variant B only", variants: ["B"], exit: 0, served: { A: "no", B: "yes" } },
  { name: "neither", variants: [], exit: 4, served: { A: "no", B: "no" } },
] as const;

describe.concurrent("detect", () => {
  it.each(deployments)(
    "exits $exit where a deployment serves $name, and prints the same object either way",
    async ({ variants, exit, served }) => {
      const { env, close } = await startDeployment({ variants });
      const result = await cli(["detect", "--json"], env);
      await close();
      expect(result.code).toBe(exit);
      const detection = JSON.parse(result.stdout);
      expect(detection.served).toEqual(served);
      expect(detection.evidence.length).toBeGreaterThanOrEqual(2);
      expect(result.stderr).toBe("");
      expect(leaksOf(result)).toEqual([]);
    },
  );

  it("tells people the verdict, the evidence, and what to do when there is none", async () => {
    const { env, close } = await startDeployment({ variants: [] });
    const result = await cli(["detect"], env);
    await close();
    expect(result.code).toBe(4);
    expect(result.stdout).toMatch(/Variant A +no\nVariant B +no\n/);
    expect(result.stdout).toContain(`POST ${env.BIVARIANT_BASE_URL}/v1/auth/token`);
    expect(result.stderr).toContain("BIVARIANT_VARIANT");
    expect(result.stdout).not.toContain("\u001b");
  });

  it("needs no credential, and sends none", async () => {
    const { env, emulator, close } = await startDeployment();
    const { BIVARIANT_BASE_URL, BIVARIANT_TENANT } = env;
    const result = await cli(["detect"], { BIVARIANT_BASE_URL, BIVARIANT_TENANT });
    await close();
    expect(result.code).toBe(0);
    expect(emulator.journal.entries()).toHaveLength(3);
  });

  it("exits 5 where nobody answers", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const args = ["detect", "--json", "--base-url", `http://127.0.0.1:${port}`, "--tenant", "acme"];
    const result = await cli(args);
    expect(result.code).toBe(5);
    expect(JSON.parse(result.stdout).error).toMatchObject({ code: "network_failed", exitCode: 5 });
  });

  it("tells what it waits for after a second, and exits 5 at the time limit", async () => {
    const server = createServer(() => {}).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    const args = ["--base-url", `http://127.0.0.1:${port}`, "--tenant", "acme", "--timeout-ms", "1500"];
    const result = await cli(["detect", ...args]);
    server.closeAllConnections();
    server.close();
    expect(result.code).toBe(5);
    expect(result.stdout).toBe("");
    expect(result.stderr).toContain("Still asking which variant is served");
    expect(result.stderr).toContain("error timed_out");
  });
});
