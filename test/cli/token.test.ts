// `bivariant detect` and `bivariant token`: the output and the exit code for each outcome.
import { describe, expect, it } from "vitest";
import { leaksOf, startDeployment } from "./cli-deployment.js";
import { cli, startCli } from "./command-line.js";
import { listen, plantedToken, startPlanted } from "./servers.js";

describe("detect", () => {
  it.each([
    { name: "Variant A only", variants: ["A"], code: 0, served: { A: "yes", B: "no" } },
    { name: "Variant B only", variants: ["B"], code: 0, served: { A: "no", B: "yes" } },
    { name: "neither variant", variants: [], code: 4, served: { A: "no", B: "no" } },
  ] as const)("exits $code for $name, and needs no credential", async (row) => {
    const { env, emulator } = await startDeployment({ variants: row.variants });
    const { BIVARIANT_BASE_URL, BIVARIANT_TENANT } = env;
    const result = await cli(["detect", "--json"], { BIVARIANT_BASE_URL, BIVARIANT_TENANT });
    expect(result).toMatchObject({ code: row.code, stderr: "" });
    expect(emulator.journal.entries().length).toBeLessThanOrEqual(3);
    const detection = JSON.parse(result.stdout);
    expect(detection.served).toEqual(row.served);
    expect(detection.evidence.length).toBeGreaterThanOrEqual(2);
    expect(leaksOf(result)).toEqual([]);
  });

  it("prints the evidence, and what to do when no variant is found", async () => {
    const { env } = await startDeployment({ variants: [] });
    const result = await cli(["detect"], env);
    expect(result.code).toBe(4);
    expect(result.stdout).toMatch(/Variant A +no\nVariant B +no\n/);
    expect(result.stdout).toContain(`POST ${env.BIVARIANT_BASE_URL}/v1/auth/token`);
    expect(result.stderr).toContain("BIVARIANT_VARIANT");
  });

  // The command line has the machine's time. It prints the note after a second.
  it("notes what it waits for, and exits 5 at the time limit", async () => {
    const { url } = await listen(() => {});
    const args = ["detect", "--base-url", url, "--tenant", "acme", "--timeout-ms", "1500"];
    const running = startCli(args);
    await running.seen(/Still asking which variant is served\. Press Ctrl-C to stop\./);
    const result = await running.ended;
    expect(result).toMatchObject({ code: 5, stdout: "" });
    expect(result.stderr).toContain("error timed_out");
  });
});

describe("token", () => {
  it.each(["A", "B"] as const)("of Variant %s is alone on stdout", async (variant) => {
    const { env } = await startDeployment({ variants: [variant] });
    const { code, stdout, stderr } = await cli(["token"], env);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^[\w-]{43}\n$/);
    const details = `^Variant ${variant}, tenant acme; expires \\S+Z \\(in 3\\d\\d\\d s\\)\\.\n$`;
    expect(stderr).toMatch(new RegExp(details));
    expect(leaksOf({ stdout: "", stderr })).toEqual([]);
  });

  it("with --json is an object with its expiry in epoch milliseconds", async () => {
    const { env } = await startPlanted(() => {});
    const { code, stdout, stderr } = await cli(["token", "--json"], env);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const { expires_at, ...rest } = JSON.parse(stdout);
    expect(rest).toEqual({ access_token: plantedToken, variant: "B", tenant: null });
    expect(Math.abs(expires_at - Date.now() - 3_600_000)).toBeLessThan(600_000);
  });

  it("refused exits 3 with the names of client and tenant, the ranked causes and their remedies", async () => {
    const { env } = await startDeployment({ variants: ["A"] });
    const result = await cli(["token", "--a-client-id", "unheard-of"], env);
    expect(result).toMatchObject({ code: 3, stdout: "" });
    expect(result.stderr).toMatch(
      /^error token_refused: For the client unheard-of: .* for the tenant "acme"\.\n/,
    );
    const cause = /1\. The plugin is not registered.*\n +evidence {2}.*\n +remedy {2}/;
    expect(result.stderr).toMatch(cause);
    expect(leaksOf(result)).toEqual([]);
  });

  it("signs with the aud of --audience or its variable, for a service behind a proxy", async () => {
    const publicUrl = "https://x.example";
    const { env, emulator } = await startDeployment({ variants: ["A"], publicUrl });
    const audience = `${publicUrl}/api/v1/acme/external-plugin/oauth/token`;
    expect((await cli(["token", "--audience", audience], env)).code).toBe(0);
    expect((await cli(["token"], { ...env, BIVARIANT_A_AUDIENCE: audience })).code).toBe(0);
    const { stderr } = await cli(["token"], env);
    expect(stderr).toContain("set audience to the URL that the service itself sees");
    expect(emulator.customerLog.entries({ rule: "assertion.audience" })).toHaveLength(1);
  });

  it("refused with --json prints the error on stdout", async () => {
    const { env } = await startDeployment({ variants: ["B"] });
    const secret = "planted-wrong-secret";
    const wrong = { BIVARIANT_B_CLIENT_SECRET_FILE: "", BIVARIANT_B_CLIENT_SECRET: secret };
    const result = await cli(["token", "--json"], { ...env, ...wrong });
    expect(result.code).toBe(3);
    const error = { code: "token_refused", name: "TokenRequestError", variant: "B", exitCode: 3 };
    const retryAt = expect.any(Number);
    expect(JSON.parse(result.stdout).error).toMatchObject({ ...error, retryAt });
    expect(leaksOf(result, [secret])).toEqual([]);
  });

  it("exits 3 when the rate limit lasts beyond the deadline, with the time of the next try", async () => {
    const rateLimit = { requests: 1, windowSeconds: 3600 };
    const { env } = await startDeployment({ variants: ["A"], rateLimit });
    const result = await cli(["token"], env);
    expect(result.code).toBe(3);
    const note = /The rate limit of the tenant is reached\. .* at \S+Z \(in \d+ s\)\./;
    expect(result.stderr).toMatch(note);
    const error = /error rate_limited: For .* acme: .*Ask again after .*retryDeadlineMs/;
    expect(result.stderr).toMatch(error);
    expect(leaksOf(result)).toEqual([]);
  });

  it.each([
    { name: "a variant that is not served", flag: "A", status: 404, code: "variant_not_served" },
    { name: "a variant that is not found out", flag: "", status: 403, code: "variant_unknown" },
    { name: "a page", flag: "B", status: 200, exit: 5, code: "response_not_json" },
  ])("exits with $code for $name", async ({ flag, status, exit = 4, code }) => {
    const { env } = await startDeployment();
    const { url } = await listen((request, response) => {
      request.resume();
      response.writeHead(status, { "content-type": "text/html" }).end("<p>a page");
    });
    const args = ["token", "--json", "--base-url", url];
    const result = await cli(args, { ...env, BIVARIANT_VARIANT: flag });
    expect(result.code).toBe(exit);
    const { error } = JSON.parse(result.stdout);
    expect(error.code).toBe(code);
    if (exit === 4) expect(error.detection.evidence).not.toEqual([]);
    expect(leaksOf(result)).toEqual([]);
  });
});
