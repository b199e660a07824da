// `bivariant doctor` with a stored login.
import { writeFile } from "node:fs/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Finding } from "../../src/cli/doctor/finding.js";
import {
  clientSecret,
  type LoginDeployment,
  leaksOf,
  logIn,
  privateKeyPem,
  startLoginDeployment,
} from "./cli-deployment.js";
import { cli, type Environment } from "./command-line.js";

afterEach(() => vi.restoreAllMocks());

async function loggedIn(): Promise<LoginDeployment> {
  const deployment = await startLoginDeployment({ variants: ["B"] });
  expect((await logIn(deployment)).ended.code).toBe(0);
  return deployment;
}

function passTime(hours: number): void {
  const now = Date.now;
  vi.spyOn(Date, "now").mockImplementation(() => now() + hours * 3_600_000);
}

/** The deployment is made anew: it knows the client, and no token. */
async function forgetTokens({ emulator }: LoginDeployment): Promise<void> {
  emulator.reset();
  emulator.registerApiClient({ clientId: "portal", redirectUris: ["http://127.0.0.1/callback"] });
}

interface Examination {
  readonly code: number | null;
  readonly of: Readonly<Record<string, Finding>>;
}

async function doctor(env: Environment, ...args: string[]): Promise<Examination> {
  const result = await cli(["doctor", "--json", ...args], env);
  expect(leaksOf(result)).toEqual([]);
  const { findings } = JSON.parse(result.stdout) as { findings: Finding[] };
  return { code: result.code, of: Object.fromEntries(findings.map((one) => [one.check, one])) };
}

describe("doctor after a login", () => {
  it("passes without a token request and calls as that person", async () => {
    const { env, emulator } = await loggedIn();
    const before = emulator.journal.tokenRequests({ status: 200 }).length;
    const { code, of } = await doctor(env);
    expect(of.token).toMatchObject({ verdict: "pass", evidence: expect.stringContaining("stored login") });
    expect(of.api_call).toMatchObject({ verdict: "pass" });
    expect(of.detection).toMatchObject({ verdict: "pass" });
    expect(code).toBe(0);
    expect(emulator.journal.tokenRequests({ status: 200 })).toHaveLength(before);
    expect(emulator.journal.entries({ operation: "listDevices" })).toHaveLength(1);
  });

  it("uses the login with --login, although a service account and a plugin are configured", async () => {
    const { env } = await loggedIn();
    const machines = {
      BIVARIANT_B_CLIENT_ID: "account",
      BIVARIANT_B_CLIENT_SECRET: clientSecret,
      BIVARIANT_B_LOGIN_CLIENT_ID: "portal",
      BIVARIANT_A_CLIENT_ID: "reporter",
      BIVARIANT_A_PRIVATE_KEY: privateKeyPem,
    };
    const { code, of } = await doctor({ ...env, ...machines }, "--login");
    expect(of.token?.evidence).toContain("stored login");
    expect(code).toBe(0);
    const machine = await doctor({ ...env, ...machines, BIVARIANT_VARIANT: "B" });
    expect(machine.of.token).toMatchObject({ verdict: "fail" });
    expect(machine.of.token?.evidence).not.toContain("login");
  });

  it("renews an expired token", async () => {
    const { env, emulator } = await loggedIn();
    passTime(2);
    const { of } = await doctor(env);
    expect(of.token).toMatchObject({ verdict: "pass" });
    expect(emulator.journal.tokenRequests({ status: 200 }).length).toBe(2);
  });

  const remedy = "Run bivariant login.";
  const damage = async ({ file }: LoginDeployment) => writeFile(file, "torn", { mode: 0o600 });
  const spoiled = async (_: LoginDeployment) => {};
  it.each([
    { name: "a login that ended elsewhere", spoil: forgetTokens, hours: 2, args: "", remedy },
    { name: "a forgotten token", spoil: forgetTokens, hours: 0.5, check: "api_call", args: "", remedy },
    { name: "a login for another tenant", spoil: spoiled, args: "--login --tenant other", remedy },
    {
      ...{ name: "a login for another tenant, without --login", spoil: spoiled, args: "--tenant other" },
      remedy: "Set it with --tenant or BIVARIANT_TENANT.",
    },
    { name: "a store that is damaged", spoil: damage, args: "", remedy: "BIVARIANT_STORE_FILE" },
  ])("reports $name with a remedy", async ({ args, spoil, check = "token", hours = 0, remedy }) => {
    const deployment = await loggedIn();
    await spoil(deployment);
    passTime(hours);
    const { code, of } = await doctor(deployment.env, ...args.split(" ").filter(Boolean));
    expect(code).toBe(1);
    expect(of[check]).toMatchObject({ verdict: "fail", remedy: expect.stringContaining(remedy) });
  });
});
