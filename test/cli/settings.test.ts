// Where settings come from, which of two wins, and what is said of a credential that cannot be read.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type CliDeployment,
  clientSecret,
  leaksOf,
  privateKeyPem,
  startDeployment,
} from "./cli-deployment.js";
import { cli, type Environment } from "./command-line.js";

let deployment: CliDeployment;

beforeAll(async () => {
  deployment = await startDeployment();
  const { folder } = deployment;
  await mkdir(join(folder, "directory"));
  await Promise.all([
    writeFile(join(folder, "empty"), " \n"),
    writeFile(join(folder, "garbage"), "planted-garbage"),
    writeFile(join(folder, "large"), "x".repeat(65_537)),
    writeFile(join(folder, "one-line-break"), `${clientSecret}\r\n`),
    writeFile(join(folder, "bom.pem"), `\ufeff${privateKeyPem}`),
  ]);
});
afterAll(() => deployment.close());

const at = (name: string) => join(deployment.folder, name);

/** The deployment's environment for one variant, changed; undefined removes. */
function environment(variant: "A" | "B", changes: Environment = {}): Environment {
  return { ...deployment.env, BIVARIANT_VARIANT: variant, ...changes };
}

describe("a credential that is told wrongly exits 2 before anything is sent:", () => {
  const rows = [
    {
      name: "none at all",
      variant: "A",
      changes: { BIVARIANT_A_CLIENT_ID: "", BIVARIANT_A_PRIVATE_KEY_FILE: "", BIVARIANT_A_KEY_ID: "" },
      code: "credential_missing",
      says: "BIVARIANT_A_CLIENT_ID",
    },
    {
      name: "a plugin without a key",
      variant: "A",
      changes: { BIVARIANT_A_PRIVATE_KEY_FILE: "" },
      code: "credential_missing",
      says: "BIVARIANT_A_PRIVATE_KEY_FILE",
    },
    {
      name: "a plugin without a client id",
      variant: "A",
      changes: { BIVARIANT_A_CLIENT_ID: "" },
      code: "credential_missing",
      says: "BIVARIANT_A_CLIENT_ID",
    },
    {
      name: "an account without a secret",
      variant: "B",
      changes: { BIVARIANT_B_CLIENT_SECRET_FILE: "" },
      code: "credential_missing",
      says: "BIVARIANT_B_CLIENT_SECRET_FILE",
    },
    {
      name: "an account without a client id",
      variant: "B",
      changes: { BIVARIANT_B_CLIENT_ID: "" },
      code: "credential_missing",
      says: "BIVARIANT_B_CLIENT_ID",
    },
    {
      name: "nothing of Variant B",
      variant: "B",
      changes: { BIVARIANT_B_CLIENT_ID: "", BIVARIANT_B_CLIENT_SECRET_FILE: "" },
      code: "credential_missing",
      says: "or log in as a person with bivariant login",
    },
    {
      name: "an address without TLS on another machine, by the name of the flag",
      variant: "B",
      changes: { BIVARIANT_BASE_URL: "http://customer.example" },
      code: "base_url_insecure",
      says: "Here that is --allow-insecure-http.",
    },
    {
      name: "a secret given twice",
      variant: "B",
      changes: { BIVARIANT_B_CLIENT_SECRET: clientSecret },
      code: "credential_invalid",
      says: "given twice",
    },
  ] as const;
  it.each(rows)("$name", async ({ variant, changes, code, says }) => {
    await expectRefused(environment(variant, changes), code, says);
  });

  const files = [
    { name: "missing", file: "no-such-file", code: "credential_invalid", says: "(ENOENT): " },
    { name: "a directory", file: "directory", code: "credential_invalid", says: "(EISDIR): " },
    { name: "empty", file: "empty", code: "credential_invalid", says: "is empty: " },
    { name: "larger than any key", file: "large", code: "credential_invalid", says: "more than 65536 bytes" },
    { name: "no key", file: "garbage", code: "key_invalid", says: "BIVARIANT_A_PRIVATE_KEY_FILE" },
  ] as const;
  it.each(files)("a key file that is $name", async ({ file, code, says }) => {
    const path = at(file);
    const result = await expectRefused(environment("A", { BIVARIANT_A_PRIVATE_KEY_FILE: path }), code, says);
    if (code !== "key_invalid") expect(result.stderr).toContain(path);
    expect(leaksOf(result, ["planted-garbage"])).toEqual([]);
  });

  async function expectRefused(env: Environment, code: string, says: string) {
    const before = deployment.emulator.journal.entries().length;
    const result = await cli(["token"], env);
    expect(result).toMatchObject({ code: 2, stdout: "" });
    expect(result.stderr).toContain(`error ${code}: `);
    expect(result.stderr).toContain(says);
    expect(leaksOf(result)).toEqual([]);
    expect(deployment.emulator.journal.entries()).toHaveLength(before);
    return result;
  }
});

describe("a credential is accepted", () => {
  const rows = [
    {
      name: "as a key in the environment",
      variant: "A",
      changes: () => ({ BIVARIANT_A_PRIVATE_KEY_FILE: "", BIVARIANT_A_PRIVATE_KEY: privateKeyPem }),
      args: () => [],
    },
    {
      name: "as a key on one line, its line breaks written out",
      variant: "A",
      changes: () => ({
        BIVARIANT_A_PRIVATE_KEY_FILE: "",
        BIVARIANT_A_PRIVATE_KEY: privateKeyPem.replaceAll("\n", "\\n"),
      }),
      args: () => [],
    },
    {
      name: "as a key file with a byte order mark",
      variant: "A",
      changes: () => ({ BIVARIANT_A_PRIVATE_KEY_FILE: at("bom.pem") }),
      args: () => [],
    },
    {
      name: "as a key file by a flag, which wins over a key in the environment",
      variant: "A",
      changes: () => ({ BIVARIANT_A_PRIVATE_KEY_FILE: "", BIVARIANT_A_PRIVATE_KEY: "garbage" }),
      args: () => ["--a-private-key-file", at("key.pem")],
    },
    {
      name: "as a secret in the environment",
      variant: "B",
      changes: () => ({ BIVARIANT_B_CLIENT_SECRET_FILE: "", BIVARIANT_B_CLIENT_SECRET: clientSecret }),
      args: () => [],
    },
    {
      name: "as a secret file that ends in a line break",
      variant: "B",
      changes: () => ({ BIVARIANT_B_CLIENT_SECRET_FILE: at("one-line-break") }),
      args: () => [],
    },
    {
      name: "when the other variant's is incomplete, but the variant is named",
      variant: "B",
      changes: () => ({ BIVARIANT_A_PRIVATE_KEY_FILE: "" }),
      args: () => [],
    },
    {
      name: "by flags, which win over the environment",
      variant: "A",
      changes: () => ({
        BIVARIANT_BASE_URL: "https://x.invalid",
        BIVARIANT_A_CLIENT_ID: "nobody",
        BIVARIANT_TENANT: "nowhere",
        BIVARIANT_VARIANT: "B",
        BIVARIANT_A_KEY_ID: "",
      }),
      args: () => [
        "--base-url",
        `${deployment.env.BIVARIANT_BASE_URL}/`,
        "--a-client-id",
        "reporter",
        "--tenant",
        "acme",
        "--variant",
        "A",
        "--a-key-id",
        "cli-key",
      ],
    },
  ] as const;
  it.each(rows)("$name", async ({ variant, changes, args }) => {
    const result = await cli(["token", ...args()], environment(variant, changes()));
    expect(result.stderr).toContain(`Variant ${variant}, tenant acme`);
    expect(result.code).toBe(0);
  });
});
