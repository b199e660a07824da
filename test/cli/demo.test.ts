// `bivariant demo`: four deployments, as text and as JSON.
import { afterEach, describe, expect, it, vi } from "vitest";
import { demoDeployments } from "../../src/cli/commands/demo.js";
import { leaksOf } from "./cli-deployment.js";
import { cli, startCli } from "./command-line.js";

afterEach(() => vi.restoreAllMocks());

const device = expect.objectContaining({ id: expect.any(String), name: expect.any(String) });
const found = {
  tokenLifetimeSeconds: 3600,
  devices: 3,
  data: [device, device, device],
  error: null,
  asExpected: true,
};

describe("demo", () => {
  it("with --json prints one row for each deployment", async () => {
    const result = await cli(["demo", "--json"]);
    expect(result).toMatchObject({ code: 0, stderr: "" });
    const rows = JSON.parse(result.stdout);
    expect(rows).toMatchObject([
      { served: ["A"], asked: ["A"], variant: "A", isLifetimeAssumed: false, ...found },
      { served: ["B"], asked: ["A", "B"], variant: "B", isLifetimeAssumed: true, ...found },
      { served: ["A", "B"], asked: ["A"], variant: "A", isLifetimeAssumed: false, ...found },
      {
        served: [],
        asked: ["A", "B"],
        variant: null,
        devices: null,
        tokenLifetimeSeconds: null,
        error: { code: "variant_not_served", exitCode: 4 },
        asExpected: true,
      },
    ]);
    expect(rows.map(({ evidence }: { evidence: unknown[] }) => evidence.length)).toEqual([1, 3, 1, 2]);
    expect(leaksOf(result)).toEqual([]);
  });

  it("prints evidence, verdict, token lifetime and devices, and the error of the last deployment", async () => {
    const result = await cli(["demo"]);
    expect(result).toMatchObject({ code: 0, stderr: "" });
    expect(result.stdout.match(/ {2}as expected\n/g)).toHaveLength(4);
    expect(result.stdout.match(/token +valid for 3600 s/g)).toHaveLength(3);
    expect(result.stdout.match(/devices +3\n/g)).toHaveLength(3);
    expect(result.stdout).toContain("verdict   Variant B");
    expect(result.stdout).toContain("error variant_not_served: ");
    expect(leaksOf(result)).toEqual([]);
  });

  it("exits 1 when a deployment gives another result than expected", async () => {
    const [first] = demoDeployments;
    vi.spyOn(first as { expected: unknown }, "expected", "get").mockReturnValue("B");
    const { code, stdout } = await cli(["demo", "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout).map(({ asExpected }: { asExpected: boolean }) => asExpected)).toEqual([
      false,
      true,
      true,
      true,
    ]);
  });

  it("exits 130 when it is interrupted", async () => {
    const running = startCli(["demo", "--json"]);
    running.interrupt();
    expect((await running.ended).code).toBe(130);
  });
});
