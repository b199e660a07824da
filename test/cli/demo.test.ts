// `bivariant demo`: four deployments, as text and as JSON.
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { demoDeployments } from "../../src/cli/commands/demo.js";
import { leaksOf } from "./cli-deployment.js";
import { cli } from "./command-line.js";

const found = { tokenLifetimeSeconds: 3600, devices: 3, error: null, asExpected: true };

describe("demo", () => {
  it("with --json prints one row for each deployment", async () => {
    const result = await cli(["demo", "--json"]);
    expect(result).toMatchObject({ code: 0, stderr: "" });
    const rows = JSON.parse(result.stdout);
    const error = { code: "variant_not_served", exitCode: 4 };
    expect(rows).toMatchObject([
      { served: ["A"], asked: ["A"], variant: "A", isLifetimeAssumed: false, ...found },
      { served: ["B"], asked: ["A", "B"], variant: "B", isLifetimeAssumed: true, ...found },
      { served: ["A", "B"], asked: ["A"], variant: "A", isLifetimeAssumed: false, ...found },
      { served: [], asked: ["A", "B"], variant: null, devices: null, error, asExpected: true },
    ]);
    expect(rows[0].data[0]).toEqual({ id: expect.any(String), name: expect.any(String) });
    const evidence = rows.map(({ evidence }: { evidence: unknown[] }) => evidence.length);
    expect(evidence).toEqual([1, 3, 1, 2]);
    expect(leaksOf(result)).toEqual([]);
  });

  it("prints evidence, verdict, token lifetime and devices, and exits 1 for an unexpected result", async () => {
    const [first] = demoDeployments;
    const spy = vi.spyOn(first as { expected: unknown }, "expected", "get").mockReturnValue("B");
    onTestFinished(() => spy.mockRestore());
    const result = await cli(["demo"]);
    expect(result).toMatchObject({ code: 1, stderr: "" });
    expect(result.stdout.match(/ {2}as expected\n/g)).toHaveLength(3);
    expect(result.stdout.match(/NOT as expected\n/g)).toHaveLength(1);
    expect(result.stdout.match(/token +valid for 3600 s/g)).toHaveLength(3);
    expect(result.stdout.match(/devices +3\n/g)).toHaveLength(3);
    expect(result.stdout).toMatch(/verdict {3}Variant B[\s\S]*error {5}variant_not_served: /);
    expect(leaksOf(result)).toEqual([]);
  });
});
