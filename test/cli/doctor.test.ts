// `bivariant doctor`: the verdict, evidence and remedy of each check, for real faults of an emulated deployment.
import { generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type Finding, findingLines } from "../../src/cli/doctor/finding.js";
import { newSigningKey, type SigningKey } from "../emulator/signing-key.js";
import {
  type CliDeployment,
  clientSecret,
  leaksOf,
  listen,
  privateKeyPem,
  signingKey,
  startDeployment,
} from "./cli-deployment.js";
import { cli, type Ended, type Environment } from "./command-line.js";
import { plantedToken, startPlanted } from "./planted-server.js";
import { startSecureFront } from "./secure-front.js";

const allChecks = [
  ...["base_url", "reachability", "tls", "clock", "key", "jwks", "audience", "assertion"],
  ...["detection", "token", "api_call"],
];

const settingsPage = "Settings, Tenant Settings, External Plugins";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function start(options: Parameters<typeof startDeployment>[0] = {}): Promise<CliDeployment> {
  const deployment = await startDeployment(options);
  closing.push(deployment.close);
  return deployment;
}

async function serve(listener: RequestListener): Promise<string> {
  const { url, close } = await listen(createServer(listener));
  closing.push(close);
  return url;
}

interface Examination {
  readonly code: number | null;
  readonly of: Readonly<Record<string, Finding>>;
}

/** What holds of every examination is looked at here: all checks, in order, told completely, and no secret. */
function examinationOf(result: Ended, also: readonly string[] = []): Examination {
  // A thumbprint is public, and looks like the emulator's tokens.
  const stdout = result.stdout.replace(/(be|key|kid|kid is|thumbprint) [\w-]{43}(?![\w-])/g, "$1");
  expect(leaksOf({ ...result, stdout }, also)).toEqual([]);
  expect(result.stderr).toBe("");
  const { ok, findings } = JSON.parse(result.stdout) as { ok: boolean; findings: Finding[] };
  expect(findings.map(({ check }) => check)).toEqual(allChecks);
  for (const { verdict, evidence, remedy } of findings) {
    expect(evidence).not.toBe("");
    if (verdict === "fail") expect(remedy).toBeTruthy();
  }
  const isWell = findings.every(({ verdict }) => verdict !== "fail");
  expect(ok).toBe(isWell);
  expect(result.code).toBe(isWell ? 0 : 1);
  return { code: result.code, of: Object.fromEntries(findings.map((one) => [one.check, one])) };
}

async function doctor(env: Environment, ...args: string[]): Promise<Examination> {
  return examinationOf(await cli(["doctor", "--json", ...args], env));
}

/** `check: verdict` of all that is not what a sound deployment on plain http gives. */
function troubles({ of }: Examination): Record<string, string> {
  const usual: Record<string, string> = { tls: "unknown", jwks: "unknown" };
  return Object.fromEntries(
    Object.values(of)
      .filter(({ check, verdict }) => verdict !== (usual[check] ?? "pass"))
      .map(({ check, verdict }) => [check, verdict]),
  );
}

/** Requests that carried a credential, and calls of the API; the detection's question is no token request of ours. */
function spent({ journal }: CliDeployment["emulator"], questions: number): { tokens: number; calls: number } {
  return {
    tokens: journal.tokenRequests().length - questions,
    calls: journal.entries({ operation: "listDevices" }).length,
  };
}

describe("doctor on a sound deployment", () => {
  const sound = [
    { name: "Variant A", variants: ["A"], questions: 1 },
    { name: "Variant B", variants: ["B"], questions: 1 },
    { name: "both variants", variants: ["A", "B"], questions: 2 },
  ] as const;
  it.each(sound)(
    "of $name finds no fault, with one token request and one API call",
    async ({ variants, questions }) => {
      const { env, emulator } = await start({ variants });
      const result = await doctor(env);
      expect(result.code).toBe(0);
      expect(troubles(result)).toEqual({});
      expect(spent(emulator, questions)).toEqual({ tokens: 1, calls: 1 });
      expect(result.of.tls?.evidence).toContain("plain http");
    },
  );

  it("prints one line for each finding, and counts the verdicts", async () => {
    const { env } = await start();
    const result = await cli(["doctor"], env);
    expect(result).toMatchObject({ code: 0, stderr: "" });
    for (const check of allChecks)
      expect(result.stdout).toMatch(new RegExp(`^(?:pass {4}|unknown )${check} +\\S`, "m"));
    expect(result.stdout).toMatch(/\n\n9 pass, 0 fail, 2 unknown\.\n$/);
    expect(leaksOf(result)).toEqual([]);
  });

  it("of a named Variant B reports the checks of Variant A as unknown", async () => {
    const { env, emulator } = await start();
    const result = await doctor(env, "--variant", "B");
    expect(troubles(result)).toEqual({ key: "unknown", audience: "unknown", assertion: "unknown" });
    expect(result.of.key?.evidence).toContain("Variant B is named");
    expect(spent(emulator, 2)).toEqual({ tokens: 1, calls: 1 });
  });

  it("of Variant B alone needs no tenant id", async () => {
    const { env } = await start({ variants: ["B"] });
    const { BIVARIANT_BASE_URL, BIVARIANT_B_CLIENT_ID, BIVARIANT_B_CLIENT_SECRET_FILE } = env;
    const result = await doctor({
      BIVARIANT_BASE_URL,
      BIVARIANT_B_CLIENT_ID,
      BIVARIANT_B_CLIENT_SECRET_FILE,
    });
    expect(result.code).toBe(0);
    expect(result.of.detection?.verdict).toBe("unknown");
    expect(result.of.api_call?.verdict).toBe("pass");
  });

  it("shows an assertion that it does not send", async () => {
    const { env, emulator } = await start({ variants: ["A"] });
    const { of } = await doctor(env);
    const { evidence = "" } = of.assertion ?? {};
    expect(evidence).toMatch(
      /alg RS256, kid cli-key, iss reporter, sub reporter, .*iat \S+Z .*, exp 60 s later/,
    );
    expect(of.audience?.evidence).toContain(
      `${env.BIVARIANT_BASE_URL}/api/v1/acme/external-plugin/oauth/token`,
    );
    // One assertion for the token that was asked for; the one that was shown never came.
    expect(spent(emulator, 1).tokens).toBe(1);
    // A signature of 2048 bits is 342 characters of base64url.
    expect(JSON.stringify(of)).not.toMatch(/[\w-]{300,}/);
  });
});

describe("doctor checks the connection:", () => {
  it("exits 2 without a base URL and for invalid settings", async () => {
    for (const args of [[], ["--base-url", "http://127.0.0.1", "--variant", "C"], ["--timeout-ms", "soon"]]) {
      const result = await cli(["doctor", "--json", ...args]);
      expect(result.code).toBe(2);
      expect(JSON.parse(result.stdout).error.message).toMatch(/base URL|BIVARIANT_VARIANT|--timeout-ms/);
    }
  });

  it.each([
    "customer.example",
    "ftp://customer.example",
    "https://{tenant}.example",
    "http://customer.example",
  ])("the base URL %s fails, and the checks that need it are unknown", async (baseUrl) => {
    const { env } = await start();
    const { of } = await doctor(env, "--base-url", baseUrl);
    expect(of.base_url?.verdict).toBe("fail");
    for (const check of ["reachability", "tls", "clock", "detection", "token", "api_call"])
      expect(of[check]?.verdict).toBe("unknown");
    expect(of.key?.verdict).toBe("pass");
  });

  it("without a server reachability fails, the key is checked anyway, and nothing is sent", async () => {
    const { env, close } = await startDeployment();
    const files = await start();
    await close();
    const { BIVARIANT_BASE_URL } = env;
    const result = await doctor({ ...files.env, BIVARIANT_BASE_URL });
    expect(troubles(result)).toEqual({
      reachability: "fail",
      clock: "unknown",
      detection: "unknown",
      token: "unknown",
      api_call: "unknown",
    });
    expect(result.of.reachability?.evidence).toContain("ECONNREFUSED");
    expect(result.of.reachability?.remedy).toContain("NO_PROXY");
  });

  it("a server that does not answer in time fails reachability", async () => {
    const { env } = await start();
    const { of } = await doctor(env, "--base-url", await serve(() => {}), "--timeout-ms", "200");
    expect(of.reachability).toMatchObject({ verdict: "fail", evidence: expect.stringContaining("200 ms") });
  });

  it.each([
    { status: 503, verdict: "unknown" },
    { status: 407, verdict: "fail" },
    { status: 301, verdict: "pass" },
  ])("the answer $status at the base URL is $verdict", async ({ status, verdict }) => {
    const { env } = await start();
    const url = await serve((_, response) => response.writeHead(status, { location: "/login" }).end());
    const { of } = await doctor(env, "--base-url", url);
    expect(of.reachability?.verdict).toBe(verdict);
  });

  it("an answer without Date, or from a cache, leaves the clock unknown", async () => {
    const { env } = await start();
    for (const headers of [{}, { date: new Date().toUTCString(), age: "7" }]) {
      const url = await serve((_, response) => {
        response.sendDate = false;
        response.writeHead(404, headers).end();
      });
      const { of } = await doctor(env, "--base-url", url);
      expect(of.clock?.verdict).toBe("unknown");
    }
  });

  const clocks = [
    { seconds: 10, verdict: "pass", says: /10 s ahead/ },
    { seconds: -10, verdict: "pass", says: /10 s behind/ },
    { seconds: 30, verdict: "unknown", says: /30 s ahead/ },
    { seconds: 300, verdict: "fail", says: /300 s ahead/ },
    { seconds: -300, verdict: "fail", says: /300 s behind/ },
    { seconds: 86_400, verdict: "fail", says: /86400 s ahead/ },
  ] as const;
  it.each(clocks)(
    "a server clock that is $seconds s ahead is $verdict, and one token request still succeeds",
    async ({ seconds, verdict, says }) => {
      const { env, emulator } = await start({ variants: ["A"], now: () => Date.now() + seconds * 1000 });
      const { of } = await doctor(env);
      expect(of.clock?.verdict).toBe(verdict);
      expect(of.clock?.evidence).toMatch(says);
      if (verdict === "fail") expect(of.clock?.remedy).toContain("clock of the signing machine");
      expect(of.token?.verdict).toBe("pass");
      expect(spent(emulator, 1)).toEqual({ tokens: 1, calls: 1 });
    },
  );
});

describe("doctor checks the certificate:", () => {
  it("a self-signed one fails tls, and nothing more is sent", async () => {
    const { env, folder } = await start();
    const front = await startSecureFront(async () => new Response(), join(folder, "certificate.pem"));
    closing.push(front.close);
    const { of } = await doctor(env, "--base-url", front.url);
    expect(of.reachability?.verdict).toBe("pass");
    expect(of.tls).toMatchObject({
      verdict: "fail",
      evidence: expect.stringContaining("DEPTH_ZERO_SELF_SIGNED_CERT"),
      remedy: expect.stringContaining("NODE_EXTRA_CA_CERTS"),
    });
    expect(of.token?.verdict).toBe("unknown");
  });

  it("https to a port that speaks plain http fails tls", async () => {
    const { env } = await start();
    const { of } = await doctor(env, "--base-url", `${env.BIVARIANT_BASE_URL}`.replace("http:", "https:"));
    expect([of.reachability?.verdict, of.tls?.verdict]).toContain("fail");
    expect(of.token?.verdict).toBe("unknown");
  });
});

describe("doctor checks the variant:", () => {
  it("neither variant fails detection, with a warning of a wrong tenant id", async () => {
    const { env, emulator } = await start({ variants: [] });
    const { of } = await doctor(env);
    expect(of.detection?.verdict).toBe("fail");
    expect(of.detection?.remedy).toContain("tenant id");
    expect(of.token?.verdict).toBe("unknown");
    expect(spent(emulator, 0).calls).toBe(0);
  });

  it.each([
    { variant: "A", other: "B", set: "BIVARIANT_B_CLIENT_ID" },
    { variant: "B", other: "A", set: "BIVARIANT_A_CLIENT_ID" },
  ] as const)(
    "Variant $variant named where only Variant $other is served fails, and no credential is sent",
    async ({ variant, other, set }) => {
      const { env, emulator } = await start({ variants: [other] });
      const { of } = await doctor(env, "--variant", variant);
      expect(of.detection?.verdict).toBe("fail");
      expect(of.detection?.remedy).toContain(set);
      expect(of.token?.verdict).toBe("unknown");
      expect(spent(emulator, 1)).toEqual({ tokens: 0, calls: 0 });
    },
  );

  it("a gateway that answers every question alike leaves the variant unknown, and one credential is tried", async () => {
    const { env, emulator } = await start();
    const url = await serve(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const body = Buffer.concat(chunks).toString();
      // The question is refused; what carries a credential is let through.
      if (request.method === "POST" && !body.includes("client_secret")) return response.writeHead(403).end();
      const headers = Object.entries(request.headers).map(([name, one]): [string, string] => [
        name,
        `${one}`,
      ]);
      const { method = "GET", url: path = "/" } = request;
      const answer = await emulator.fetch(
        new Request(new URL(path, emulator.publicUrl), { method, headers, body: body || null }),
      );
      return response.writeHead(answer.status).end(await answer.text());
    });
    const { of } = await doctor(env, "--base-url", url, "--variant", "B");
    expect(of.detection?.verdict).toBe("unknown");
    expect(of.token?.verdict).toBe("pass");
    const both = await doctor(env, "--base-url", url);
    expect(both.of.detection).toMatchObject({
      verdict: "fail",
      remedy: expect.stringContaining("BIVARIANT_VARIANT"),
    });
  });

  it("a wrong tenant id is named in the evidence of the refused token", async () => {
    const { env } = await start({ variants: ["A"] });
    const { of } = await doctor(env, "--tenant", "umbrella");
    expect(of.token).toMatchObject({ verdict: "fail", evidence: expect.stringContaining("umbrella") });
  });

  it.each([{ tenant: undefined }, { tenant: "" }, { tenant: "{tenantId}" }, { tenant: ".." }])(
    "the tenant id $tenant fails aud and detection",
    async ({ tenant }) => {
      const { env, emulator } = await start();
      const args = tenant === undefined ? [] : ["--tenant", tenant];
      const { of } = await doctor({ ...env, BIVARIANT_TENANT: undefined }, ...args);
      expect(of.audience).toMatchObject({ verdict: "fail", remedy: expect.stringContaining("--tenant") });
      expect(of.detection?.verdict).toBe("fail");
      expect(spent(emulator, 0)).toEqual({ tokens: 0, calls: 0 });
    },
  );
});

describe("doctor checks the key:", () => {
  const pemOf = (key: SigningKey["privateKey"]) => key.export({ type: "pkcs8", format: "pem" }).toString();
  const encrypted = signingKey.privateKey
    .export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "planted" })
    .toString();
  const bad = [
    { name: "of another type", content: pemOf(generateKeyPairSync("ed25519").privateKey), says: /only RSA/ },
    { name: "of 1024 bits", content: pemOf(newSigningKey("s", 1024).privateKey), says: /1024 bits/ },
    { name: "that is encrypted", content: encrypted, says: /encrypted.*openssl/ },
    { name: "that is cut off", content: privateKeyPem.slice(0, 400), says: /truncated/ },
    { name: "that is no key", content: "planted-garbage", says: /neither PEM nor a JWK/ },
    { name: "that is empty", content: "", says: /is empty/ },
  ];
  it.each(bad)("a key $name fails, and no credential is sent", async ({ content, says }) => {
    const { env, folder, emulator } = await start({ variants: ["A"] });
    const path = join(folder, "bad.pem");
    await writeFile(path, content);
    const result = await cli(["doctor", "--json", "--a-private-key-file", path], env);
    const { of } = examinationOf(result, ["planted-garbage"]);
    expect(of.key?.verdict).toBe("fail");
    expect(of.key?.evidence).toMatch(says);
    expect(of.key?.remedy).toContain("bivariant keys new");
    for (const check of ["jwks", "assertion", "token", "api_call"])
      expect(of[check]?.verdict).toBe("unknown");
    expect(of.audience?.verdict).toBe("pass");
    expect(spent(emulator, 1)).toEqual({ tokens: 0, calls: 0 });
  });

  it("a missing file fails with its path", async () => {
    const { env, folder } = await start({ variants: ["A"] });
    const path = join(folder, "missing.pem");
    const { of } = await doctor(env, "--a-private-key-file", path);
    expect(of.key).toMatchObject({ verdict: "fail", evidence: expect.stringContaining(`(ENOENT): ${path}`) });
  });

  it.each([
    { bits: 2048, form: "PEM" },
    { bits: 3072, form: "JWK" },
  ])("its size is reported: $bits bits, from a $form", async ({ bits, form }) => {
    const { env } = await start();
    const { privateKey } = newSigningKey("big", bits);
    const { BIVARIANT_A_PRIVATE_KEY_FILE: _, BIVARIANT_A_KEY_ID: __, ...rest } = env;
    const key = form === "PEM" ? pemOf(privateKey) : JSON.stringify(privateKey.export({ format: "jwk" }));
    const { of } = await doctor({ ...rest, BIVARIANT_A_PRIVATE_KEY: key });
    expect(of.key?.evidence).toMatch(new RegExp(`${bits} bits.*RFC 7638 thumbprint`));
  });
});

describe("doctor compares the key with the registered JWKS:", () => {
  const right = signingKey.publicJwk;
  const other = newSigningKey("other").publicJwk;
  const rows = [
    { name: "the right key", jwks: { keys: [other, right] }, verdict: "pass", says: /with its kid cli-key/ },
    { name: "another key", jwks: { keys: [other] }, verdict: "fail", says: /The only registered key is not/ },
    { name: "two others", jwks: { keys: [other, other] }, verdict: "fail", says: /None of the 2/ },
    {
      name: "another key under the right kid",
      jwks: { keys: [{ ...other, kid: "cli-key" }] },
      verdict: "fail",
      says: /although there is a key with its kid cli-key/,
    },
    {
      name: "the only key under a wrong kid",
      jwks: { keys: [{ ...right, kid: "wrong" }] },
      verdict: "unknown",
      says: /with the kid wrong.*until a second/,
    },
    {
      name: "one of two keys under a wrong kid",
      jwks: { keys: [{ ...right, kid: "wrong" }, other] },
      verdict: "fail",
      says: /with the kid wrong/,
    },
    {
      name: "one of two keys without kid",
      jwks: { keys: [{ ...right, kid: undefined }, other] },
      verdict: "fail",
      says: /without a kid/,
    },
    {
      name: "the right key under a wrong kid, and again under the right one",
      jwks: { keys: [{ ...right, kid: "wrong" }, right] },
      verdict: "pass",
      says: /with its kid cli-key/,
    },
    {
      name: "two keys under the right kid",
      jwks: { keys: [{ ...other, kid: "cli-key" }, right] },
      verdict: "fail",
      says: /2 registered keys share the kid/,
    },
    {
      name: "the key for encryption",
      jwks: { keys: [{ ...right, use: "enc" }] },
      verdict: "fail",
      says: /use/,
    },
    { name: "no key", jwks: { keys: [] }, verdict: "fail", says: /empty/ },
    {
      name: "a private key",
      jwks: { keys: [{ ...signingKey.privateKey.export({ format: "jwk" }), kid: "cli-key" }] },
      verdict: "fail",
      says: /holds a private/,
    },
    { name: "one key and no set", jwks: right, verdict: "fail", says: /single key/ },
    { name: "something else", jwks: { keys: "none" }, verdict: "fail", says: /no array "keys"/ },
    { name: "odd things", jwks: { keys: [null, 7, { kty: "RSA" }] }, verdict: "fail", says: /None of the 3/ },
    { name: "null", jwks: null, verdict: "fail", says: /no array "keys"/ },
    { name: "no JSON", jwks: undefined, verdict: "fail", says: /not JSON/ },
  ] as const;
  it.each(rows)("$name: $verdict", async ({ jwks, verdict, says }) => {
    const { env, folder } = await start({ variants: ["A"] });
    const path = join(folder, "registered.json");
    await writeFile(path, jwks === undefined ? privateKeyPem : JSON.stringify(jwks));
    const { of } = await doctor(env, "--jwks", path);
    expect(of.jwks?.verdict).toBe(verdict);
    expect(of.jwks?.evidence).toMatch(says);
    if (verdict !== "pass") expect(of.jwks?.remedy).toContain(settingsPage);
  });

  it("a file that is not there exits 2", async () => {
    const { env, folder } = await start();
    const result = await cli(["doctor", "--json", "--jwks", join(folder, "no.json")], env);
    expect(result.code).toBe(2);
    expect(JSON.parse(result.stdout).error).toMatchObject({ code: "option_invalid", option: "--jwks" });
  });

  it("a wrong registered JWKS explains the refused token", async () => {
    const { env, folder, emulator } = await start({ variants: ["A"] });
    const jwks = { keys: [other] };
    emulator.updatePlugin({ clientId: "reporter", tenantId: "acme", jwks });
    const path = join(folder, "registered.json");
    await writeFile(path, JSON.stringify(jwks));
    const result = await doctor(env, "--jwks", path);
    expect(troubles(result)).toEqual({ jwks: "fail", token: "fail", api_call: "unknown" });
    expect(result.of.jwks?.remedy).toContain("bivariant keys jwks");
    expect(result.of.token?.causes?.[0]?.id).toBe("jwks_mismatch");
    expect(result.of.token?.remedy).toContain(settingsPage);
    expect(spent(emulator, 1)).toEqual({ tokens: 1, calls: 0 });
  });
});

describe("doctor explains a refused token of Variant A:", () => {
  const plugin = { clientId: "reporter", tenantId: "acme" };
  const rows = [
    {
      name: "not registered",
      args: ["--a-client-id", "unheard-of"],
      change: () => {},
      cause: "plugin_not_registered_or_disabled",
    },
    {
      name: "disabled",
      args: [],
      change: ({ emulator }: CliDeployment) => emulator.updatePlugin({ ...plugin, enabled: false }),
      cause: "plugin_not_registered_or_disabled",
    },
    {
      name: "a user-interface plugin",
      args: ["--a-client-id", "page"],
      change: ({ emulator }: CliDeployment) =>
        emulator.registerPlugin({
          ...{ clientId: "page", tenantId: "acme", type: "user_interface" },
          jwks: { keys: [signingKey.publicJwk] },
        }),
      cause: "wrong_grant_for_plugin_type",
    },
    {
      name: "another key",
      args: [],
      change: ({ emulator }: CliDeployment) =>
        emulator.updatePlugin({ ...plugin, jwks: { keys: [newSigningKey("cli-key").publicJwk] } }),
      cause: "jwks_mismatch",
    },
  ];
  it.each(rows)("$name", async ({ args, change, cause }) => {
    const deployment = await start({ variants: ["A"] });
    change(deployment);
    const { of } = await doctor(deployment.env, ...args);
    expect(of.token?.verdict).toBe("fail");
    expect(of.token?.causes?.map(({ id }) => id)).toContain(cause);
    expect(of.token?.remedy).toContain(settingsPage);
    expect(of.api_call).toMatchObject({
      verdict: "unknown",
      evidence: "Not tried, because there is no token.",
    });
    expect(spent(deployment.emulator, 1)).toEqual({ tokens: 1, calls: 0 });
  });

  it("a base URL behind a proxy that rewrites it", async () => {
    const { env } = await start({ variants: ["A"], publicUrl: "https://public.example" });
    const { of } = await doctor(env);
    expect(of.token?.causes?.map(({ id }) => id)).toContain("audience_mismatch");
  });

  it("a rate limit, with its end and without a second request", async () => {
    const rateLimit = { requests: 1, windowSeconds: 3600 };
    const { env, emulator } = await start({ variants: ["A"], rateLimit });
    const { of } = await doctor(env);
    expect(of.token).toMatchObject({ verdict: "fail", remedy: expect.stringContaining("whole tenant") });
    expect(of.token?.evidence).toMatch(/rate_limited: .*until \d{4}-\S+Z/);
    expect(spent(emulator, 1)).toEqual({ tokens: 1, calls: 0 });
  });

  it("a 403 of the call has three causes", async () => {
    const { env, emulator } = await start({ variants: ["A"], scopes: ["devices:write"] });
    const { of } = await doctor(env);
    expect(of.token?.verdict).toBe("pass");
    expect(of.api_call).toMatchObject({ verdict: "fail", remedy: expect.stringContaining(settingsPage) });
    expect(of.api_call?.causes?.map(({ id }) => id)).toEqual([
      "scope_missing",
      "grant_narrowed",
      "device_restricted",
    ]);
    for (const { summary } of of.api_call?.causes ?? []) expect(of.api_call?.evidence).toContain(summary);
    expect(spent(emulator, 1)).toEqual({ tokens: 1, calls: 1 });
  });
});

describe("doctor explains Variant B:", () => {
  it("a wrong secret leads to the admin area and is not shown", async () => {
    const { env, emulator } = await start({ variants: ["B"] });
    const wrong = { BIVARIANT_B_CLIENT_SECRET_FILE: "", BIVARIANT_B_CLIENT_SECRET: "planted-wrong-secret" };
    const result = await cli(["doctor", "--json"], { ...env, ...wrong });
    const { of } = examinationOf(result, ["planted-wrong-secret"]);
    expect(of.token).toMatchObject({
      verdict: "fail",
      remedy: expect.stringContaining("in the admin area under Service accounts"),
    });
    expect(spent(emulator, 1)).toEqual({ tokens: 1, calls: 0 });
  });

  const answers = [
    { status: 401, says: "Service accounts" },
    { status: 403, says: "Service accounts" },
    { status: 404, says: "path prefix" },
    { status: 429, says: "Try again" },
    { status: 503, says: "The server failed" },
    { status: 418, says: "Ask the operator" },
  ];
  it.each(answers)(
    "the answer $status of the call has a remedy, and echoed secrets are not shown",
    async ({ status, says }) => {
      const planted = await startPlanted((response) => {
        response.writeHead(status).end(JSON.stringify({ message: `${plantedToken} ${clientSecret}` }));
      });
      closing.push(planted.close);
      const result = await cli(["doctor", "--json"], planted.env);
      const { of } = examinationOf(result, [plantedToken]);
      expect(of.token?.verdict).toBe("pass");
      expect(of.api_call).toMatchObject({ verdict: "fail", remedy: expect.stringContaining(says) });
      // One at the base URL, one call; not sent again.
      expect(planted.requests.map(({ request }) => request.method)).toEqual(["HEAD", "GET"]);
    },
  );

  it("a page instead of a token means another server", async () => {
    const { env } = await start();
    const url = await serve((_, response) =>
      response.writeHead(200, { "content-type": "text/html" }).end("<p>"),
    );
    const { of } = await doctor(env, "--base-url", url, "--variant", "B");
    expect(of.token).toMatchObject({ verdict: "fail", remedy: expect.stringContaining("login page") });
  });

  it("a call without an answer fails the call, not the token", async () => {
    const planted = await startPlanted((response) => response.socket?.destroy());
    closing.push(planted.close);
    const { env } = planted;
    const url = await serve((request, response) => {
      if (request.method === "GET") return void response.socket?.destroy();
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ access_token: plantedToken }));
    });
    const { of } = await doctor({ ...env, BIVARIANT_BASE_URL: url });
    expect(of.token?.verdict).toBe("pass");
    expect(of.api_call).toMatchObject({
      verdict: "fail",
      evidence: expect.stringContaining("network_failed"),
    });
  });
});

describe("doctor checks the credentials:", () => {
  it("none fails and names the settings for the served variant", async () => {
    const { env, emulator } = await start({ variants: ["B"] });
    const { BIVARIANT_BASE_URL, BIVARIANT_TENANT } = env;
    const { of } = await doctor({ BIVARIANT_BASE_URL, BIVARIANT_TENANT });
    expect(of.detection?.verdict).toBe("pass");
    expect(of.token).toMatchObject({ verdict: "fail", remedy: expect.stringContaining("B_CLIENT_ID") });
    expect(spent(emulator, 1)).toEqual({ tokens: 0, calls: 0 });
  });

  it("an incomplete one fails although the other is complete, as in the client", async () => {
    const { env, emulator } = await start({ variants: ["A"] });
    const { of } = await doctor({ ...env, BIVARIANT_B_CLIENT_ID: "" });
    expect(of.token).toMatchObject({ verdict: "fail", remedy: expect.stringContaining("B_CLIENT_ID") });
    expect(spent(emulator, 1)).toEqual({ tokens: 0, calls: 0 });
  });
});

describe("a finding on a terminal", () => {
  const plain = (_: string, text: string) => text;
  const long = `The kid is ${"k".repeat(60)}, and so on, for as long as it takes to fill some lines of text.`;
  const finding: Finding = { check: "jwks", verdict: "fail", evidence: long, remedy: `Do this. ${long}` };

  it.each([40, 60, 80, 120])("of %i columns wraps between words and keeps a kid whole", (columns) => {
    const lines = findingLines(finding, plain, columns);
    for (const line of lines) expect(line.length <= columns || line.includes("kkkk")).toBe(true);
    expect(lines.join("\n")).toContain("k".repeat(60));
    expect(lines.join(" ").replace(/\s+/g, " ")).toContain(`jwks ${long} -> Do this. ${long}`);
    const margins = lines.slice(1).map((line) => /^ */.exec(line)?.[0].length);
    expect(new Set(margins)).toEqual(columns < 70 ? new Set([2, 5]) : new Set([22, 25]));
  });

  it("without a terminal is one line, and its remedy another", () => {
    expect(findingLines(finding, plain)).toEqual([
      `fail    jwks          ${long}`,
      `                      -> Do this. ${long}`,
    ]);
  });
});
