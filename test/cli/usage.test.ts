// Arguments that are wrong: exit code 2, a hint, and never the value; help and version.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { privateKeyPem } from "./cli-deployment.js";
import { cli } from "./command-line.js";

const planted = "planted-in-argv";

const refused = [
  { args: ["token", "--b-client-secret", planted], says: "BIVARIANT_B_CLIENT_SECRET_FILE" },
  { args: ["token", `--b-client-secret=${planted}`], says: "--b-client-secret-file" },
  { args: ["token", "--client-secret", planted], says: "BIVARIANT_B_CLIENT_SECRET" },
  { args: [`--a-private-key=${planted}`, "token"], says: "BIVARIANT_A_PRIVATE_KEY_FILE" },
  { args: ["call", "listDevices", "--token", planted], says: "bivariant token --help" },
  {
    args: ["call", "listDevices", "--data", `{"k":"-----BEGIN PRIVATE KEY-----${planted}"}`],
    says: "private key",
  },
  {
    args: ["token", `--a-private-key-file={"kty":"RSA","d":"${planted}"}`, "--a-client-id", "x"],
    says: "path of a file",
  },
  { args: ["token", "--tenent", planted], says: "Unknown option --tenent. Did you mean --tenant?" },
  { args: ["token", `--tenent=${planted}`], says: "Unknown option --tenent." },
  { args: ["token", "--frobnicate", planted], says: "Unknown option --frobnicate." },
  { args: ["token", `-p${planted}`], says: "There is an unknown option." },
  { args: ["token", planted], says: "Too many arguments" },
  { args: [planted], says: "There is no such command. See bivariant --help." },
  { args: ["call"], says: "Missing required argument 'operationId'. See bivariant call --help." },
  { args: ["keys", "new", "--bit", planted], says: "Did you mean --bits? See bivariant keys new --help." },
  { args: ["token", "--tenant"], says: "argument missing" },
  { args: ["token", "--variant", planted], says: "--variant or BIVARIANT_VARIANT must be A or B." },
  { args: ["token", "--timeout-ms", planted], says: "--timeout-ms must be whole milliseconds." },
  { args: ["detect", "--timeout-ms", "0"], says: "--timeout-ms must be above 0." },
  { args: ["detect"], says: "--base-url or BIVARIANT_BASE_URL" },
  { args: ["detect", "--base-url", "https://x.example"], says: "--tenant or BIVARIANT_TENANT" },
  {
    args: ["detect", "--base-url", `https://user:${planted}@x.example`, "--tenant", "a"],
    says: "base_url_invalid",
  },
  { args: ["detect", "--base-url", "http://x.example", "--tenant", "a"], says: "base_url_insecure" },
  {
    args: ["detect", "--base-url", "https://x.example", "--tenant", "{tenantId}"],
    says: "tenant_id_invalid",
  },
  { args: ["emulate", "--variant", planted], says: "--variant must be A, B or both." },
  { args: ["emulate", "--port", planted], says: "--port must be a port number." },
  { args: ["emulate", "--port", "65536"], says: "--port must be a port number." },
  { args: ["emulate", "--scope", planted], says: "seed_invalid" },
  { args: ["emulate", "--public-url", planted], says: "option_invalid" },
];

describe("arguments", () => {
  it.each(refused)("$args are refused without repeating a value", async ({ args, says }) => {
    const people = await cli(args);
    expect(people).toMatchObject({ code: 2, stdout: "" });
    expect(people.stderr).toContain(says);
    const script = await cli(["--json", ...args]);
    expect(script).toMatchObject({ code: 2, stderr: "" });
    expect(JSON.parse(script.stdout).error).toMatchObject({ exitCode: 2 });
    for (const { stdout, stderr } of [people, script]) expect(stdout + stderr).not.toContain(planted);
  });

  it("with a secret are refused by the real program too", async () => {
    const [named, key] = await Promise.all([
      cli(["token", "--b-client-secret", planted]),
      cli(["token", "--a-private-key-file", privateKeyPem]),
    ]);
    for (const { code, stdout, stderr } of [named, key]) {
      expect(code).toBe(2);
      expect(stdout).toBe("");
      expect(stderr).not.toContain(planted);
      expect(stderr).not.toContain(privateKeyPem.split("\n")[1]);
    }
  });

  it("that are none print the help and exit 2", async () => {
    const { code, stdout, stderr } = await cli([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("Usage: bivariant");
  });
});

describe("help", () => {
  it.each(["demo", "detect", "token", "call", "emulate"])(
    "of %s goes to stdout with an example",
    async (command) => {
      const { code, stdout, stderr } = await cli([command, "--help"]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toContain(`Usage: bivariant ${command}`);
      expect(stdout).toMatch(/Examples?.*\n +\$ .*bivariant/);
      expect(stdout).toContain("--json");
    },
  );

  it.each(["token", "call"])("of %s names every environment variable", async (command) => {
    const { stdout } = await cli([command, "--help"]);
    for (const name of [
      "BASE_URL",
      "TENANT",
      "VARIANT",
      "A_CLIENT_ID",
      "A_PRIVATE_KEY",
      "A_PRIVATE_KEY_FILE",
      "A_KEY_ID",
      "B_CLIENT_ID",
      "B_CLIENT_SECRET",
      "B_CLIENT_SECRET_FILE",
    ])
      expect(stdout).toMatch(new RegExp(`^ +BIVARIANT_${name}$`, "m"));
  });

  it("is joined by the version, which is the package's", async () => {
    const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
    expect(await cli(["--version"])).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: "" });
  });
});
