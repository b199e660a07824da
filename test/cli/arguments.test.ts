// Arguments, settings and secrets: which source wins, and errors with exit code 2 that never repeat
// a value.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import {
  type CliDeployment,
  clientSecret,
  leaksOf,
  privateKeyPem,
  startDeployment,
} from "./cli-deployment.js";
import { cli, refused } from "./command-line.js";

const planted = "planted-in-argv";

describe("arguments", () => {
  const https = "--base-url https://x.example";
  const wrong: [args: string, says: string][] = [
    [`token --b-client-secret=${planted}`, "--b-client-secret-file"],
    [`token --client-secret ${planted}`, "BIVARIANT_B_CLIENT_SECRET"],
    [`--a-private-key=${planted} token`, "BIVARIANT_A_PRIVATE_KEY_FILE"],
    [`login --store-key ${planted}`, "BIVARIANT_STORE_KEY_FILE"],
    [`login --b-login-client-secret ${planted}`, "BIVARIANT_B_LOGIN_CLIENT_SECRET_FILE"],
    [`call listDevices --token ${planted}`, "bivariant token --help"],
    [`call listDevices --data -----BEGIN·PRIVATE·KEY-----${planted}`, "A_PRIVATE_KEY_FILE"],
    [`token --a-private-key-file={"d":"${planted}"} --a-client-id x`, "path of a file"],
    [`token --tenent ${planted}`, "Unknown option --tenent. Did you mean --tenant?"],
    [`token --tenent=${planted}`, "Unknown option --tenent."],
    [`token -p${planted}`, "There is an unknown option."],
    [`token ${planted}`, "Too many arguments"],
    [`detect https://x.example/${planted}`, "Pass the address of a deployment as --base-url."],
    [`${planted} --help`, "There is no such command. See bivariant --help."],
    ["help tokn", "There is no such command. Did you mean token?"],
    ["call", "Missing required argument 'operationId'. See bivariant call --help."],
    [`keys new --bit ${planted}`, "Did you mean --bits? See bivariant keys new --help."],
    ["token --tenant", "argument missing"],
    ["generate", "Required option '--out <folder>' not specified."],
    [`call listDevices --data ${planted} --data-file ${planted}`, "cannot be used with"],
    [`token --variant ${planted}`, "--variant or BIVARIANT_VARIANT is not valid. Allowed ch"],
    [`token --timeout-ms ${planted}`, "--timeout-ms is not valid. It must be a whole number"],
    ["detect --timeout-ms 0", "from 1 to"],
    ["detect", "--base-url or BIVARIANT_BASE_URL"],
    [`detect ${https}`, "--tenant or BIVARIANT_TENANT"],
    [`detect --base-url https://user:${planted}@x.example --tenant a`, "base_url_invalid"],
    ["detect --base-url http://x.example --tenant a", "Set it with --allow-insecure-http."],
    [`emulate --scope ${planted}`, "--scope must have the form area:read"],
    [`emulate --public-url ${planted}`, "--public-url must be http or https"],
    ["emulate --a-client-id=", "--a-client-id must not be empty."],
    [`emulate --page-url ${planted}`, "--page-url must be an http or https URL."],
    ["emulate --tenant ..", "--tenant must be letters, digits"],
    [`call listDevices ${planted}`, "Expected 1 argument but got 2. See bivariant call --help."],
    ["keys new --a-client-id=", "--a-client-id must not be empty."],
    ["keys new --device=", "--device must not be empty."],
    [`login ${https} --b-login-client-id=`, "Set it with --b-login-client-id"],
    ["emulate --port 65536", "It must be a port number from 0 to 65535."],
    [`login --port ${planted}`, "It must be a port number"],
    ["login --wait-seconds 0", "It must be a whole number of seconds from 1"],
    ["token --login --variant A", "--login uses Variant B"],
  ];
  it.each(wrong)("exit 2 without repeating a value: %s", async (args, says) => {
    const words = args.split(" ").map((word) => word.replaceAll("·", " "));
    const people = await refused(words, {}, says);
    const script = await cli(["--json", ...words]);
    expect(script).toMatchObject({ code: 2, stderr: "" });
    expect(JSON.parse(script.stdout).error).toMatchObject({ exitCode: 2 });
    expect([...leaksOf(people, [planted]), ...leaksOf(script, [planted])]).toEqual([]);
  });

  it.each([
    ["without a command", [], /Usage: bivariant /],
    ["with keys alone", ["keys"], /Usage: bivariant keys .*new .*jwks .*registration /s],
  ])("print the help on stderr and exit 2 %s", async (_, args, usage) => {
    const stderr = expect.stringMatching(usage);
    expect(await cli(args)).toMatchObject({ code: 2, stdout: "", stderr });
    const script = await cli([...args, "--json"]);
    expect(JSON.parse(script.stdout).error).toMatchObject({ code: "option_invalid", exitCode: 2 });
  });
});

describe("help", () => {
  const commands = [
    ..."demo detect token call login doctor survey emulate contract generate diff unknowns".split(
      " ",
    ),
    ...["keys new", "keys jwks", "keys registration"],
  ];
  it.each(commands)("of %s has an example, and lines of at most 80 columns", async (command) => {
    const { code, stdout, stderr } = await cli([...command.split(" "), "--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`Usage: bivariant ${command}`);
    expect(stdout).toMatch(/Example.*\n +\$ .*(?:\n.*)?bivariant/);
    expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  /** Commander prints the other defaults. What is said in words has the test named beside it. */
  const defaultsInWords = {
    "--a-key-id": "that of the JWK, else the thumbprint", // keys.test.ts
    "--audience": "that URL", // doctor.test.ts
    "--refresh-path": "the token path", // login.test.ts
    "--store-file": "bivariant/grants in $XDG_STATE_HOME or ~/.local/state", // login.test.ts
    "--store-key-file": "<store file>.key", // login.test.ts
    "--port": "a free one", // emulate.test.ts, login.test.ts
    "--scope": "none|devices:read and those of the documents", // login.test.ts, emulate.test.ts
    "--refs": "that of the document", // documents.test.ts of test/generate
    "--max-requests": "60, and 1000 for a deployment on this machine", // cases.test.ts
    "--variant-a": "the one of this package", // of diff: diff.test.ts of test/generate
    "--variant-b": "the one of this package",
  };

  it("states no other defaults in words than those that have a test, and none twice", async () => {
    const stated = new Map<string, Set<string>>();
    for (const command of commands) {
      const { stdout } = await cli([...command.split(" "), "--help"]);
      const text = stdout.replace(/\n {8,}/g, " ");
      expect(text.match(/\(default .*|default.*\(default.*/g) ?? []).toEqual([]);
      for (const [, flag = "", words = ""] of text.matchAll(
        /^ +(--[a-z-]+).*?\(default: ([^)]+)\)/gm,
      ))
        if (!/^(?:\d+|"[^"]*"|true|false)$/.test(words))
          stated.set(flag, (stated.get(flag) ?? new Set()).add(words));
    }
    const found = [...stated].map(([flag, all]) => [flag, [...all].sort().reverse().join("|")]);
    expect(Object.fromEntries(found)).toEqual(defaultsInWords);
  });

  it("of token names every environment variable, and help token prints the same", async () => {
    const { stdout } = await cli(["token", "--help"]);
    const names =
      "BASE_URL TENANT VARIANT STORE_FILE STORE_KEY STORE_KEY_FILE B_REFRESH_PATH A_CLIENT_ID " +
      "A_PRIVATE_KEY A_PRIVATE_KEY_FILE A_KEY_ID B_CLIENT_ID B_CLIENT_SECRET " +
      "B_CLIENT_SECRET_FILE B_LOGIN_CLIENT_ID B_LOGIN_CLIENT_SECRET B_LOGIN_CLIENT_SECRET_FILE";
    for (const name of names.split(" "))
      expect(stdout).toMatch(new RegExp(`\\bBIVARIANT_${name}\\b`));
    expect((await cli(["help", "token"])).stdout).toBe(stdout);
  });
});

describe("a credential", () => {
  let deployment: CliDeployment;
  const at = (name: string) => join(deployment.folder, name);
  beforeAll(async () => {
    deployment = await startDeployment();
    const files = {
      empty: " \n",
      garbage: "planted-garbage",
      large: "x".repeat(65_537),
      "one-line-break": `${clientSecret}\r\n`,
      "bom.pem": `\ufeff${privateKeyPem}`,
    };
    for (const [name, content] of Object.entries(files)) await writeFile(at(name), content);
  });

  const keyFile = "BIVARIANT_A_PRIVATE_KEY_FILE";
  const secretFile = "BIVARIANT_B_CLIENT_SECRET_FILE";
  const secret = "BIVARIANT_B_CLIENT_SECRET";
  const [idA, idB] = ["BIVARIANT_A_CLIENT_ID", "BIVARIANT_B_CLIENT_ID"];
  const A = { BIVARIANT_VARIANT: "A" };
  const B = { BIVARIANT_VARIANT: "B" };
  const noPlugin = { [idA]: "", [keyFile]: "", BIVARIANT_A_KEY_ID: "" };
  const noAccount = { [idB]: "", [secretFile]: "" };
  const [missing, invalid] = ["credential_missing", "credential_invalid"];

  it.each([
    { name: "a plugin without a key", env: { ...A, [keyFile]: "" }, code: missing, says: keyFile },
    { name: "a plugin without a client id", env: { ...A, [idA]: "" }, code: missing, says: idA },
    { name: "no secret", env: { ...B, [secretFile]: "" }, code: missing, says: secretFile },
    { name: "a secret without a client id", env: { ...B, [idB]: "" }, code: missing, says: idB },
    { name: "no account", env: { ...B, ...noAccount }, code: missing, says: "or log in as a pers" },
    { name: "neither", env: { ...noPlugin, ...noAccount }, code: missing, says: "for Variant A" },
    { name: "a secret twice", env: { ...B, [secret]: "x" }, code: invalid, says: "is set twice" },
    { name: "a missing file", file: "no-such-file", code: invalid, says: "(ENOENT). Set" },
    { name: "an empty file", file: "empty", code: invalid, says: "is empty. Check" },
    { name: "a large file", file: "large", code: invalid, says: "larger than 65536 bytes" },
    { name: "a file with garbage", file: "garbage", code: "key_invalid", says: keyFile },
  ])("exits 2 before anything is sent: $name", async ({ env, file, code, says }) => {
    const before = deployment.emulator.journal.entries().length;
    const given = file === undefined ? env : { ...A, [keyFile]: at(file) };
    const environment = { ...deployment.env, ...given };
    const result = await refused(["token"], environment, `error ${code}: `, says);
    expect(leaksOf(result, ["planted-garbage"])).toEqual([]);
    expect(deployment.emulator.journal.entries()).toHaveLength(before);
  });

  const inVariable = (key: string) => ({ ...A, [keyFile]: "", BIVARIANT_A_PRIVATE_KEY: key });
  const oneLine = privateKeyPem.replaceAll("\n", "\\n");
  const elsewhere = {
    BIVARIANT_BASE_URL: "https://x.invalid",
    [idA]: "stranger",
    BIVARIANT_VARIANT: "B",
    BIVARIANT_TENANT: "nowhere",
    BIVARIANT_A_KEY_ID: "",
  };
  const flags = () =>
    `--base-url ${deployment.env.BIVARIANT_BASE_URL}/ --a-client-id reporter --tenant acme ` +
    "--variant A --a-key-id cli-key";
  const keyFlag = () => `--a-private-key-file ${at("key.pem")}`;
  const inSecretVariable = { ...B, [secretFile]: "", [secret]: clientSecret };
  const accepted = [
    { name: "a key in the environment, on one line with \\n", env: () => inVariable(oneLine) },
    {
      name: "a key in the environment, on one line with \\r\\n",
      env: () => inVariable(oneLine.replaceAll("\\n", "\\r\\n")),
    },
    { name: "a file with a byte order mark", env: () => ({ ...A, [keyFile]: at("bom.pem") }) },
    { name: "a file by a flag, before a variable", env: () => inVariable("x"), args: keyFlag },
    { name: "a secret in the environment", env: () => inSecretVariable, variant: "B" },
    {
      name: "a secret file that ends in a line break, beside an incomplete plugin",
      env: () => ({ ...B, [keyFile]: "", [secretFile]: at("one-line-break") }),
      variant: "B",
    },
    { name: "flags, which win over the environment", env: () => elsewhere, args: flags },
  ];
  it.each(accepted)("is read from $name", async ({ variant = "A", env, args }) => {
    const words = (args?.() ?? "").split(" ").filter(Boolean);
    const result = await cli(["token", ...words], { ...deployment.env, ...env() });
    expect(result.stderr).toContain(`Variant ${variant}, tenant acme`);
    expect(result.code).toBe(0);
  });

  it("is not read from the environment for a client that the environment does not name", async () => {
    const args = ["token", "--variant", "B", "--b-client-id", "another"];
    const env = { ...deployment.env, ...inSecretVariable };
    const says = "used only for the client that the environment names";
    await refused(args, env, "the client secret is missing", says);
  });
});
