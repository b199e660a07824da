// `bivariant keys`: the private key on disk, the JWKS of the key that signs, and the registration
// sheet.
import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { newSigningKey } from "../emulator/signing-key.js";
import {
  type CliDeployment,
  leaksOf,
  pemOf,
  privateKeyPem,
  signingKey,
  startDeployment,
} from "./cli-deployment.js";
import { cli, refused, startCli } from "./command-line.js";

let deployment: CliDeployment;
beforeAll(async () => {
  deployment = await startDeployment({ variants: ["A"] });
});

/** The registered form of a key that has no kid of its own. */
const registered = (n: unknown, e: unknown) => ({
  kty: "RSA",
  kid: expect.stringMatching(/^[\w-]{43}$/),
  use: "sig",
  alg: "RS256",
  n,
  e,
});

const at = (name: string) => join(deployment.folder, name);

/** Writes a file and returns its path. */
async function file(name: string, content: string): Promise<string> {
  await writeFile(at(name), content);
  return at(name);
}

describe("keys new", () => {
  it("writes a private RSA key of the given size, mode 0600 whatever the umask", async () => {
    const out = at("new.pem");
    const before = process.umask(0);
    const args = ["keys", "new", "--out", out, "--bits", "3072", "--json"];
    const { code, stdout } = await cli(args).finally(() => process.umask(before));
    expect(code).toBe(0);
    const key = createPrivateKey(await readFile(out, "utf8"));
    expect(key.asymmetricKeyDetails?.modulusLength).toBe(3072);
    if (process.platform !== "win32") expect((await stat(out)).mode & 0o777).toBe(0o600);
    const { n, e } = key.export({ format: "jwk" });
    const jwks = { keys: [registered(n, e)] };
    const sheet = { privateKeyFile: out, type: "service", scopes: [], jwks };
    expect(JSON.parse(stdout)).toEqual(sheet);
  });

  it("writes no key after Ctrl-C", async () => {
    const running = startCli(["keys", "new", "--out", at("interrupted.pem")]);
    running.interrupt();
    expect(await running.ended).toMatchObject({ code: 130, stdout: "" });
    expect(existsSync(at("interrupted.pem"))).toBe(false);
  });

  it.each([
    ["1024 bits", ["--bits", "1024"], "2048, 3072, 4096"],
    ["scopes with a comma", ["--scope", "devices:read,schedules:read"], "without commas"],
    ["an unknown type", ["--type", "desktop"], "user-interface"],
    ["a missing folder", ["--out", "/no/such/key.pem"], "its folder does not exist"],
  ])("exits 2 and writes nothing for %s", async (_, args, says) => {
    await refused(["keys", "new", "--out", at("never.pem"), ...args], {}, says);
    expect(existsSync(at("never.pem"))).toBe(false);
  });

  it("never overwrites a file", async () => {
    const out = await file("there.pem", "planted");
    await refused(["keys", "new", "--out", out], {}, "customers may have registered its key");
    expect(await readFile(out, "utf8")).toBe("planted");
  });

  it("prints the sheet on stdout and the path of the key on stderr, but no part of the key", async () => {
    const out = at("for a sheet.pem");
    const env = { BIVARIANT_A_CLIENT_ID: "reports", BIVARIANT_A_KEY_ID: "old" };
    const scopes = ["--scope", "devices:read", "schedules:execute"];
    const { code, stdout, stderr } = await cli(["keys", "new", "--out", out, ...scopes], env);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Client id +reports\n.*\nScopes +devices:read, schedules:execute$/m);
    expect(stderr).toContain(`export BIVARIANT_A_PRIVATE_KEY_FILE='${out}'`);
    expect(stderr).toContain("unset BIVARIANT_A_KEY_ID");
    const lines = (await readFile(out, "utf8")).trim().split("\n").slice(1, -1);
    for (const line of lines) expect(stdout + stderr).not.toContain(line);
    expect(stdout).not.toMatch(/"(?:d|p|q|dp|dq|qi)"/);
  });
});

describe("keys jwks", () => {
  const jwk: Record<string, unknown> = signingKey.privateKey.export({ format: "jwk" });
  const { kid: _, ...plain } = jwk;
  const pkcs1 = signingKey.privateKey.export({ type: "pkcs1", format: "pem" }).toString();
  it.each([
    { name: "PKCS#8 PEM", content: privateKeyPem },
    { name: "PKCS#1 PEM", content: pkcs1 },
    { name: "JWK", content: JSON.stringify(plain) },
  ])("prints the public half of the signing key, from $name", async ({ content }) => {
    const path = await file("signing", content);
    const { code, stdout } = await cli(["keys", "jwks", "--a-private-key-file", path]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ keys: [registered(plain.n, plain.e)] });
  });

  it("uses the kid of the assertions, which is the given one or else that of the JWK", async () => {
    const path = await file("with-kid.json", JSON.stringify({ ...plain, kid: "own" }));
    for (const [kid, ...args] of [["own"], ["given", "--a-key-id", "given"]]) {
      const { stdout } = await cli(["keys", "jwks", "--a-private-key-file", path, ...args]);
      expect(JSON.parse(stdout).keys[0].kid).toBe(kid);
    }
  });

  const ec = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  it.each([
    { name: "an EC key", content: pemOf(ec), code: "key_unsupported" },
    { name: "no key", content: "planted-garbage", code: "key_invalid" },
  ])("refuses $name with $code, alone and as --also", async ({ name, content, code }) => {
    const path = await file("unusable", content);
    const alone = await cli(["keys", "jwks", "--a-private-key-file", path, "--json"]);
    const also = await cli(["keys", "jwks", "--also", path, "--json"], deployment.env);
    for (const one of [alone, also]) {
      expect(one.code).toBe(2);
      const { error } = JSON.parse(one.stdout);
      expect(error.code).toBe(code);
      const says = /names a file that is neither a PEM nor a JWK.*: .*unusable$/;
      if (name === "no key") expect(error.message).toMatch(says);
      expect(leaksOf(one, ["planted-garbage"])).toEqual([]);
    }
    expect(also.stdout).toContain(path);
    expect(also.stdout).not.toContain("--a-private-key-file");
  });
});

describe("keys jwks --also, during a key rotation,", () => {
  const old = newSigningKey("registered-kid");
  const { n, e, kid } = old.publicJwk;
  it.each([
    ["of a private key, under its thumbprint", pemOf(old.privateKey), registered(n, e)],
    ["of a JWKS, under its kid", JSON.stringify({ keys: [old.publicJwk] }), { kid, n, e }],
  ])("prints the new key first, then the public half %s", async (_, content, other) => {
    const path = await file("old", content);
    const { stdout } = await cli(["keys", "jwks", "--also", path], deployment.env);
    expect(JSON.parse(stdout).keys).toMatchObject([{ kid: signingKey.kid }, other]);
    expect(stdout).not.toMatch(/"(?:d|p|q|dp|dq|qi)"/);
  });

  const sameKid = { ...old.publicJwk, kid: signingKey.kid };
  const secret = { ...old.privateKey.export({ format: "jwk" }), kid: "x" };
  const noKid = { ...old.publicJwk, kid: undefined };
  const rows: [name: string, key: object | null, says: string][] = [
    ["two keys under one kid", sameKid, "Two different keys have the kid"],
    ["a key given twice", signingKey.publicJwk, "given twice"],
    ["a JWKS with a private key", secret, "holds a private key"],
    ["a JWKS key without kid", noKid, "without a kid"],
    ["a JWKS with an EC key", { kty: "EC", kid: "x" }, "not an RSA key"],
    ["a JWKS with no key", null, "not an RSA key"],
  ];
  it.each(rows)("refuses %s", async (_, key, says) => {
    const path = await file("other.json", JSON.stringify({ keys: [key] }));
    const { stderr } = await refused(["keys", "jwks", "--also", path], deployment.env, says);
    expect(stderr).not.toContain("Set it with");
  });

  it("names --also for a file that cannot be read, and does not quote the path, which may be a key", async () => {
    const args = ["keys", "jwks", "--also", "planted-key"];
    const says = "cannot be read (ENOENT). Set --also to the path";
    const { stderr } = await refused(args, deployment.env, says);
    expect(stderr).not.toMatch(/planted-key|--a-private-key-file/);
  });
});

describe("keys registration", () => {
  it.each([
    ["service", "service", "an administrator authorises its grant at install time"],
    ["user-interface", "user interface", "the operator who launched it permit"],
  ])("prints the sheet for a plugin of type %s", async (type, label, says) => {
    const args = ["--type", type, "--scope", "devices:read", "--device", "d1", "d2"];
    const { code, stdout } = await cli(["keys", "registration", ...args], deployment.env);
    expect(code).toBe(0);
    for (const line of [
      "Where +Settings, Tenant Settings, External Plugins",
      "Who +a person holding the permission write:tenant-settings",
      "Client id +reporter",
      `Type +${label}`,
      "Scopes +devices:read",
      "Devices +d1, d2",
    ])
      expect(stdout).toMatch(new RegExp(`^${line}$`, "m"));
    expect(stdout).toContain(says);
    const jwks = JSON.parse(stdout.slice(stdout.indexOf("{"), stdout.lastIndexOf("}") + 1));
    expect(jwks.keys[0].kid).toBe(signingKey.kid);
  });

  it("prints JSON that can be registered, and the plugin can then make calls", async () => {
    const out = at("whole-way.pem");
    const common = ["--a-client-id", "whole-way", "--scope", "devices:read"];
    expect((await cli(["keys", "new", "--out", out, ...common])).code).toBe(0);
    const ofKey = ["--a-private-key-file", out];
    const { stdout } = await cli(["keys", "registration", "--json", ...common, ...ofKey]);
    deployment.emulator.registerPlugin({ tenantId: "acme", ...JSON.parse(stdout) });
    const env = { ...deployment.env, BIVARIANT_A_KEY_ID: "", BIVARIANT_A_PRIVATE_KEY_FILE: "" };
    const args = ["call", "listDevices", "--a-client-id", "whole-way", ...ofKey];
    expect(await cli(args, env)).toMatchObject({ code: 0 });
  });
});
