// `bivariant demo`: the main job against four deployments, told to people and to scripts.
import { afterEach, describe, expect, it, vi } from "vitest";
import { demoDeployments } from "../../src/cli/demo/deployments.js";
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
  it("with --json prints one row a deployment, and nothing else", async () => {
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

  it("tells people the evidence, the verdict, the lifetime, the devices, and the error of the last", async () => {
    const result = await cli(["demo"]);
    expect(result).toMatchObject({ code: 0, stderr: "" });
    expect(result.stdout.match(/ {2}as expected\n/g)).toHaveLength(4);
    expect(result.stdout.match(/token +lives 3600 s/g)).toHaveLength(3);
    expect(result.stdout.match(/devices +3\n/g)).toHaveLength(3);
    expect(result.stdout).toContain("verdict   Variant B");
    expect(result.stdout).toContain("error variant_not_served: ");
    expect(leaksOf(result)).toEqual([]);
  });

  it("exits 1 when a deployment comes out otherwise", async () => {
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

  it("is interrupted between two deployments", async () => {
    const { code, stdout } = await cli(["demo", "--json"], {}, { signal: AbortSignal.abort(130) });
    expect(code).toBe(130);
    expect(JSON.parse(stdout).error).toEqual({ code: "interrupted", message: "Interrupted.", exitCode: 130 });
  });

  it.skipIf(process.platform === "win32")("ends quietly when nobody reads its output", async () => {
    const running = startCli(["demo"]);
    running.child.stdout?.destroy();
    expect(await running.ended).toEqual({ code: 141, stdout: "", stderr: "" });
  });
});
