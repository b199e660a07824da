// `bivariant doctor`: the verdict, evidence and remedy of each check, for real faults of an
// emulated deployment.
import { writeFile } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Check, Finding } from "../../src/doctor/finding.js";
import type { EmulatorOptions } from "../../src/emulator/index.js";
import { newSigningKey, type SigningKey } from "../emulator/signing-key.js";
import { START } from "../support/clock.js";
import {
  type CliDeployment,
  clientSecret,
  type LoginDeployment,
  leaksOf,
  logIn,
  pemOf,
  privateKeyPem,
  signingKey,
  startDeployment,
  startLoginDeployment,
} from "./cli-deployment.js";
import { cli, type Environment } from "./command-line.js";
import { closedUrl, listen, plantedToken, startPlanted, startSecureFront } from "./servers.js";

const allChecks =
  "base_url reachability tls clock key jwks audience assertion detection token api_call".split(
    " ",
  ) as Check[];
const settingsPage = "Settings, Tenant Settings, External Plugins";

type Findings = Readonly<Partial<Record<Check, Finding>>>;

/**
 * Runs the doctor and checks what holds for every report: all checks, in order, complete, and
 * without secrets.
 */
async function doctor(env: Environment, args: readonly string[] = []): Promise<Findings> {
  const result = await cli(["doctor", "--json", ...args], env);
  // A thumbprint is public, but looks like a token of the emulator.
  const stdout = result.stdout.replace(
    /(be|key|kid|kid is|name|thumbprint) [\w-]{43}(?![\w-])/g,
    "$1",
  );
  expect(leaksOf({ ...result, stdout }, [plantedToken, "planted-"])).toEqual([]);
  expect(result.stderr).toBe("");
  const { ok, findings } = JSON.parse(result.stdout) as { ok: boolean; findings: Finding[] };
  const checks = findings.map(({ check }) => check);
  expect(checks).toEqual(
    checks.includes("other_token") ? [...allChecks, "other_token"] : allChecks,
  );
  for (const { verdict, evidence, remedy } of findings) {
    expect(evidence).not.toBe("");
    if (verdict === "fail") expect(remedy).toBeTruthy();
  }
  const isOk = findings.every(({ verdict }) => verdict !== "fail");
  expect(ok).toBe(isOk);
  expect(result.code).toBe(isOk ? 0 : 1);
  return Object.fromEntries(findings.map((one) => [one.check, one]));
}

/** The verdicts that differ from those of a sound deployment on plain http. */
function troubles(findings: Findings): Record<string, string> {
  const usual: Record<string, string> = { tls: "unknown", jwks: "unknown", other_token: "unknown" };
  const all = Object.values(findings);
  const unusual = all.filter(({ check, verdict }) => verdict !== (usual[check] ?? "pass"));
  return Object.fromEntries(unusual.map(({ check, verdict }) => [check, verdict]));
}

/** `tokens` counts requests that carried a credential; the detection's `questions` carry none. */
function sent(
  { journal }: CliDeployment["emulator"],
  questions: number,
): { tokens: number; calls: number } {
  const calls = journal.entries({ operation: "listDevices" }).length;
  return { tokens: journal.tokenRequests().length - questions, calls };
}

const unreachable = {
  clock: "unknown",
  detection: "unknown",
  token: "unknown",
  api_call: "unknown",
};
const notUsed = { token: "unknown", api_call: "unknown" };

describe("doctor on a sound deployment", () => {
  it.each([
    { variants: ["A"], questions: 1 },
    { variants: ["B"], questions: 1 },
    { variants: ["A", "B"], questions: 2 },
  ] as const)(
    "that serves $variants finds no fault, with one token request and one call",
    async (row) => {
      const { env, emulator } = await startDeployment({ variants: row.variants });
      const findings = await doctor(env);
      expect(troubles(findings)).toEqual({});
      // What is not served cannot be tried.
      expect(findings.other_token !== undefined).toBe(row.variants.length === 2);
      expect(sent(emulator, row.questions)).toEqual({ tokens: 1, calls: 1 });
    },
  );

  it("prints one line for each finding, and counts the verdicts", async () => {
    const { env } = await startDeployment();
    const result = await cli(["doctor"], env);
    expect(result).toMatchObject({ code: 0, stderr: "" });
    for (const check of allChecks)
      expect(result.stdout).toMatch(new RegExp(`^(?:pass {4}|unknown )${check} +\\S`, "m"));
    expect(result.stdout).toMatch(/\n\n9 pass, 0 fail, 3 unknown\.\n$/);
    expect(result.stdout).toMatch(
      /^unknown other_token +.*that of Variant B was not tried.\n +-> .*--variant B/m,
    );
    expect(result.stdout).toMatch(
      /Variant B, token endpoint: 400, .* Variant B, made-up sibling path: 404,/,
    );
  });

  it("reports the checks of Variant A as unknown if Variant B is named", async () => {
    const { env, emulator } = await startDeployment();
    const findings = await doctor(env, ["--variant", "B"]);
    expect(troubles(findings)).toEqual({
      key: "unknown",
      audience: "unknown",
      assertion: "unknown",
    });
    expect(findings.key?.evidence).toContain("Variant B is named");
    expect(findings.other_token).toBeUndefined();
    expect(sent(emulator, 2)).toEqual({ tokens: 1, calls: 1 });
  });

  it("needs no tenant id for Variant B alone", async () => {
    const { env } = await startDeployment({ variants: ["B"] });
    const { BIVARIANT_TENANT: _, BIVARIANT_A_CLIENT_ID: __, ...rest } = env;
    const onlyB = { ...rest, BIVARIANT_A_PRIVATE_KEY_FILE: "", BIVARIANT_A_KEY_ID: "" };
    const { detection, api_call } = await doctor(onlyB);
    expect([detection?.verdict, api_call?.verdict]).toEqual(["unknown", "pass"]);
  });

  it("shows an assertion that it does not send", async () => {
    const { env, emulator } = await startDeployment({ variants: ["A"] });
    const findings = await doctor(env);
    expect(findings.assertion?.evidence).toMatch(
      /alg RS256, kid cli-key, iss reporter, sub reporter, .*iat \S+Z .*, exp 60 s later/,
    );
    const audience = `${env.BIVARIANT_BASE_URL}/api/v1/acme/external-plugin/oauth/token`;
    expect(findings.audience?.evidence).toContain(audience);
    expect(sent(emulator, 1).tokens).toBe(1);
    // A signature of 2048 bits is 342 characters of base64url.
    expect(JSON.stringify(findings)).not.toMatch(/[\w-]{300,}/);
  });
});

/** Its name, the unusual verdicts, what is given, and what the findings say. */
type Trouble = [
  name: string,
  verdicts: Readonly<Record<string, string>>,
  given: {
    options?: EmulatorOptions;
    env?: Environment;
    args?: string[];
    server?: RequestListener;
  },
  says?: RegExp,
];

const noBaseUrl = {
  base_url: "fail",
  reachability: "unknown",
  audience: "fail",
  assertion: "unknown",
};
const noCredential = { key: "unknown", audience: "unknown", assertion: "unknown" };
const notServed = { detection: "fail", ...notUsed };
const onlyIn = (variant: "A" | "B") => ({ variants: [variant] });
const noDate: RequestListener = (_, response) => {
  response.sendDate = false;
  response.writeHead(404).end();
};
const answering =
  (status: number, headers: Readonly<Record<string, string>> = {}): RequestListener =>
  (_, response) =>
    response.writeHead(status, headers).end();
const noPlugin = {
  BIVARIANT_A_CLIENT_ID: "",
  BIVARIANT_A_PRIVATE_KEY_FILE: "",
  BIVARIANT_A_KEY_ID: "",
};
const noAccount = { BIVARIANT_B_CLIENT_ID: "", BIVARIANT_B_CLIENT_SECRET_FILE: "" };

describe("doctor finds the trouble before it sends a credential:", () => {
  const isCached = { date: new Date().toUTCString(), age: "7" };
  const at = (url: string) => ({ args: ["--base-url", url] });
  const noServer = { reachability: "fail", ...unreachable };
  const none = { options: onlyIn("B"), env: { ...noPlugin, ...noAccount } };
  const incomplete = { options: onlyIn("A"), env: { BIVARIANT_B_CLIENT_ID: "" } };
  const troubled: readonly Trouble[] = [
    ["a base URL that is not a URL", { ...noBaseUrl, ...unreachable }, at("customer.example")],
    ["plain http", { ...noBaseUrl, ...unreachable }, at("http://customer.example")],
    ["no server", noServer, at(closedUrl), /^reachability: .*ECONNREFUSED.*NO_PROXY/m],
    [
      "a port that fetch blocks",
      noServer,
      at("http://127.0.0.1:1"),
      /\(fetch blocks this port\)\./,
    ],
    [
      "a server that is down",
      { reachability: "unknown", ...notServed },
      { server: answering(503) },
    ],
    ["a proxy that wants a password", noServer, { server: answering(407) }],
    ["a redirect", notServed, { server: answering(301, { location: "/login" }) }],
    ["answers without Date", { clock: "unknown", ...notServed }, { server: noDate }],
    [
      "answers of a cache",
      { clock: "unknown", ...notServed },
      { server: answering(404, isCached) },
    ],
    ["neither variant", notServed, { options: { variants: [] } }, /^detection: .*tenant id/m],
    [
      "A named, B served",
      notServed,
      { options: onlyIn("B"), args: ["--variant", "A"] },
      /BIVARIANT_B_CLIENT_ID/,
    ],
    [
      "B named, A served",
      { ...notServed, ...noCredential },
      { options: onlyIn("A"), args: ["--variant", "B"] },
      /BIVARIANT_A_CLIENT_ID/,
    ],
    ...[undefined, "", "{tenantId}", ".."].map((tenant): Trouble => {
      const args = tenant === undefined ? [] : ["--tenant", tenant];
      const verdicts = { audience: "fail", assertion: "unknown", ...notServed };
      return [
        `the tenant ${tenant}`,
        verdicts,
        { env: { BIVARIANT_TENANT: undefined }, args },
        /--tenant/,
      ];
    }),
    [
      "no credential",
      { ...notUsed, token: "fail", ...noCredential },
      none,
      /^token: .*B_CLIENT_ID/m,
    ],
    [
      "an incomplete credential",
      { ...notUsed, token: "fail" },
      incomplete,
      /^token: .*B_CLIENT_ID/m,
    ],
  ];
  it.each(troubled)("%s", async (_, verdicts, { options, env: more, args, server }, says) => {
    const { env, emulator } = await startDeployment(options);
    const at = server && { BIVARIANT_BASE_URL: (await listen(server)).url };
    const findings = await doctor({ ...env, ...at, ...more }, args);
    expect(troubles(findings)).toEqual(verdicts);
    const lines = Object.values(findings).map(
      (one) => `${one.check}: ${one.evidence} ${one.remedy}`,
    );
    if (says !== undefined) expect(lines.join("\n")).toMatch(says);
    expect(emulator.journal.entries({ operation: "listDevices" })).toEqual([]);
    expect(emulator.journal.tokenRequests({ status: 200 })).toEqual([]);
  });

  it.each([
    { named: "A", other: "B", without: noPlugin },
    { named: "B", other: "A", without: noAccount },
  ])(
    "only a credential of Variant $other where $named is named",
    async ({ named, other, without }) => {
      const { env } = await startDeployment();
      const rest = { ...env, ...without, BIVARIANT_VARIANT: named };
      const says = `There is a credential for Variant ${other} only.`;
      expect((await doctor(rest)).token).toMatchObject({ verdict: "fail", evidence: says });
      expect((await cli(["token"], rest)).stderr).toContain(
        `credential_missing: ${says} Set --${named.toLowerCase()}-`,
      );
    },
  );

  it("a self-signed certificate", async () => {
    const { env } = await startDeployment();
    const { url } = await startSecureFront();
    const { reachability, tls, token } = await doctor(env, ["--base-url", url]);
    expect([reachability?.verdict, tls?.verdict, token?.verdict]).toEqual([
      "pass",
      "fail",
      "unknown",
    ]);
    expect(tls?.evidence).toContain("DEPTH_ZERO_SELF_SIGNED_CERT");
    expect(tls?.remedy).toContain("NODE_EXTRA_CA_CERTS");
  });

  const here = ["--base-url", "http://127.0.0.1"];
  it.each([
    ["no base URL", [], "base URL"],
    ["a registered JWKS that is missing", [...here, "--jwks", "/no.json"], "--jwks"],
    [
      "a registered JWKS that is not JSON",
      [...here, "--jwks", fileURLToPath(import.meta.url)],
      "--jwks names a file that is not valid JSON: ",
    ],
    ["--login with Variant A", [...here, "--login", "--variant", "A"], "--login"],
  ])("%s, which exits 2", async (_, args, says) => {
    const { code, stdout } = await cli(["doctor", "--json", ...args], {});
    expect(code).toBe(2);
    expect(JSON.parse(stdout).error.message).toContain(says);
  });
});

describe("doctor gets a token", () => {
  it.each([
    { seconds: 10, verdict: "pass", says: /10 s ahead/ },
    { seconds: 30, verdict: "unknown", says: /30 s ahead/ },
    { seconds: -300, verdict: "fail", says: /300 s behind.*clock of the signing machine/ },
  ] as const)(
    "by a server clock $seconds s ahead, which is $verdict",
    async ({ seconds, verdict, says }) => {
      // In the middle of a second, since Date shows whole ones.
      vi.spyOn(Date, "now").mockReturnValue(START + 500);
      const now = () => Date.now() + seconds * 1000;
      const { env, emulator } = await startDeployment({ variants: ["A"], now });
      const { clock, token } = await doctor(env);
      expect([clock?.verdict, token?.verdict]).toEqual([verdict, "pass"]);
      expect(`${clock?.evidence} ${clock?.remedy}`).toMatch(says);
      expect(sent(emulator, 1)).toEqual({ tokens: 1, calls: 1 });
    },
  );

  it("for the named variant behind a gateway that answers every question alike", async () => {
    const { env } = await startDeployment();
    const { url } = await listen(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      // This gateway lets only requests with a credential pass.
      if (request.method === "POST" && !body.includes("client_secret"))
        return response.writeHead(403).end();
      response.setHeader("content-type", "application/json");
      return response.end(JSON.stringify({ access_token: plantedToken }));
    });
    const named = await doctor(env, ["--base-url", url, "--variant", "B"]);
    expect([named.detection?.verdict, named.token?.verdict]).toEqual(["unknown", "pass"]);
    const { detection } = await doctor(env, ["--base-url", url]);
    expect(detection?.verdict).toBe("fail");
    expect(detection?.remedy).toContain("BIVARIANT_VARIANT");
  });
});

describe("doctor, about the key,", () => {
  const encrypted = pemOf(signingKey.privateKey, { cipher: "aes-256-cbc", passphrase: "planted" });
  it.each([
    ["that is encrypted", encrypted, /encrypted.*openssl/],
    ["that is other JSON", '{"planted":1}', /^privateKey must be a PEM, a JWK, /],
    ["that is missing", undefined, /\(ENOENT\)/],
  ])("fails for a key %s, and sends no credential", async (_, content, says) => {
    const { env, folder, emulator } = await startDeployment({ variants: ["A"] });
    const path = join(folder, "bad.pem");
    if (content !== undefined) await writeFile(path, content);
    const findings = await doctor(env, ["--a-private-key-file", path]);
    expect(troubles(findings)).toEqual({ key: "fail", assertion: "unknown", ...notUsed });
    expect(findings.key?.evidence).toMatch(says);
    expect(findings.key?.remedy).toContain("bivariant keys new");
    expect(sent(emulator, 1)).toEqual({ tokens: 0, calls: 0 });
  });

  it("reports its size and thumbprint, also for a JWK", async () => {
    const { env } = await startDeployment();
    const jwk = JSON.stringify(newSigningKey("big", 3072).privateKey.export({ format: "jwk" }));
    const given = {
      BIVARIANT_A_PRIVATE_KEY_FILE: "",
      BIVARIANT_A_KEY_ID: "",
      BIVARIANT_A_PRIVATE_KEY: jwk,
    };
    expect((await doctor({ ...env, ...given })).key?.evidence).toMatch(
      /3072 bits.*RFC 7638 thumbprint/,
    );
  });
});

describe("doctor compares the key with the registered JWKS:", () => {
  const right = signingKey.publicJwk;
  const other = newSigningKey("other").publicJwk;
  const wrongKid = { ...right, kid: "wrong" };
  const noKid = { ...right, kid: undefined };
  const copied = { ...other, kid: "cli-key" };
  const secret = { ...signingKey.privateKey.export({ format: "jwk" }), kid: "cli-key" };
  const rows: [string, unknown, string, RegExp][] = [
    ["the right key", { keys: [other, right] }, "pass", /with its kid cli-key/],
    ["the key twice", { keys: [wrongKid, right] }, "pass", /with its kid cli-key/],
    ["another key", { keys: [other] }, "fail", /None of .*keys \(1\)/],
    ["two others", { keys: [other, other] }, "fail", /None of .*keys \(2\)/],
    ["another key with the kid", { keys: [copied] }, "fail", /although there is/],
    ["only a wrong kid", { keys: [wrongKid] }, "unknown", /kid wrong.*until a/],
    ["a wrong kid", { keys: [wrongKid, other] }, "fail", /with the kid wrong/],
    ["no kid among two", { keys: [noKid, other] }, "fail", /without a kid/],
    ["two keys with the kid", { keys: [copied, right] }, "fail", /2 .* share/],
    ["a key to encrypt", { keys: [{ ...right, use: "enc" }] }, "fail", /use/],
    ["an empty set", { keys: [] }, "fail", /empty/],
    ["a private key", { keys: [secret] }, "fail", /holds a private/],
    ["a symmetric key", { keys: [{ kty: "oct", k: "AA" }] }, "fail", /symmetric/],
    ["a key for PS256", { keys: [{ ...right, alg: "PS256" }] }, "fail", /algor/],
    ["a key without a set", right, "unknown", /single key/],
    ["keys that are not an array", { keys: "x" }, "unknown", /no array "keys"/],
    ["odd keys", { keys: [null, 7, { kty: "RSA" }] }, "fail", /None of .*keys \(3\)/],
  ];
  it.each(rows)("%s", async (_, jwks, verdict, says) => {
    const { env, folder } = await startDeployment({ variants: ["A"] });
    const path = join(folder, "registered.json");
    await writeFile(path, JSON.stringify(jwks));
    const finding = (await doctor(env, ["--jwks", path])).jwks;
    expect(finding?.verdict).toBe(verdict);
    expect(finding?.evidence).toMatch(says);
    if (verdict !== "pass") expect(finding?.remedy).toContain(settingsPage);
  });
});

describe("doctor explains a refusal of Variant A:", () => {
  const plugin = { clientId: "reporter", tenantId: "acme" };
  const keys = (key: SigningKey) => ({ keys: [key.publicJwk] });
  const page = {
    ...plugin,
    clientId: "page",
    type: "user_interface",
    jwks: keys(signingKey),
  } as const;
  const other = keys(newSigningKey("cli-key"));
  type Change = (emulator: CliDeployment["emulator"]) => void;
  const rows: {
    name: string;
    id?: string;
    options?: EmulatorOptions;
    change?: Change;
    cause: string;
  }[] = [
    { name: "not registered", id: "unheard-of", cause: "plugin_not_registered_or_disabled" },
    {
      ...{ name: "disabled", cause: "plugin_not_registered_or_disabled" },
      change: (emulator) => emulator.updatePlugin({ ...plugin, enabled: false }),
    },
    {
      ...{ name: "a user-interface plugin", id: "page", cause: "wrong_grant_for_plugin_type" },
      change: (emulator) => emulator.registerPlugin(page),
    },
    {
      ...{ name: "another key", cause: "jwks_mismatch" },
      change: (emulator) => emulator.updatePlugin({ ...plugin, jwks: other }),
    },
    {
      name: "another public URL",
      options: { publicUrl: "https://x.example" },
      cause: "audience_mismatch",
    },
  ];
  it.each(rows)("$name", async ({ id = "reporter", change, cause, options }) => {
    const { env, emulator } = await startDeployment({ variants: ["A"], ...options });
    change?.(emulator);
    const findings = await doctor(env, ["--a-client-id", id]);
    expect(troubles(findings)).toEqual({ token: "fail", api_call: "unknown" });
    expect(findings.token?.causes?.map((one) => one.id)).toContain(cause);
    expect(findings.token?.remedy).toContain(settingsPage);
    expect(sent(emulator, 1)).toEqual({ tokens: 1, calls: 0 });
  });

  it.each([
    { name: "first if it is not in --jwks", registered: other, first: "jwks_mismatch" },
    { name: "no cause if it is there", registered: keys(signingKey), first: "audience_mismatch" },
  ])("an unregistered key is $name", async ({ registered, first }) => {
    const options = { variants: ["A"], publicUrl: "https://x.example" } as const;
    const { env, folder } = await startDeployment(options);
    const path = join(folder, "registered.json");
    await writeFile(path, JSON.stringify(registered));
    // Without --jwks the cause of this aud is first.
    const { token, audience } = await doctor(env, [
      "--jwks",
      path,
      "--audience",
      "https://y.example/",
    ]);
    expect(token?.causes?.[0]?.id).toBe(first);
    expect(token?.causes?.some(({ id }) => id === "jwks_mismatch")).toBe(first === "jwks_mismatch");
    const says =
      first === "jwks_mismatch" ? "None of the registered keys" : "The key is not the cause";
    expect(token?.evidence).toContain(says);
    expect(audience?.remedy).toContain("Remove --audience or");
  });

  it("a file that is not a JWKS is not cited as evidence, and the remedy is about the file", async () => {
    const { env, emulator, folder } = await startDeployment({ variants: ["A"] });
    emulator.updatePlugin({ ...plugin, jwks: other });
    await writeFile(join(folder, "other.json"), "{}");
    const { token, jwks } = await doctor(env, ["--jwks", join(folder, "other.json")]);
    expect(jwks?.remedy).toContain("Pass the JWKS that the customer registered");
    expect(token?.causes?.[0]?.id).toBe("jwks_mismatch");
    expect(JSON.stringify(token)).not.toContain("--jwks");
  });

  // The command line has the machine's time, and a window of a second is the shortest.
  it("at a rate limit of one request, it waits until it may ask for the token", async () => {
    const rateLimit = { requests: 1, windowSeconds: 1 };
    const { env } = await startDeployment({ variants: ["A"], rateLimit });
    const result = await cli(["doctor"], env);
    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).toContain("The rate limit of the tenant is reached. Waiting until ");
  });

  it("at a rate limit beyond the deadline, it says when the limit ends and sends no second request", async () => {
    const rateLimit = { requests: 1, windowSeconds: 3600 };
    const { env, emulator } = await startDeployment({ variants: ["A"], rateLimit });
    const { token } = await doctor(env);
    expect(token).toMatchObject({
      verdict: "fail",
      remedy: expect.stringContaining("whole tenant"),
    });
    expect(token?.evidence).toMatch(/rate_limited for .* reporter of .* acme: .*until \d{4}-\S+Z/);
    expect(sent(emulator, 1)).toEqual({ tokens: 1, calls: 0 });
  });

  it("a 403 of a call that names no device has two causes", async () => {
    const { env, emulator } = await startDeployment({ variants: ["A"], scopes: ["devices:write"] });
    const { token, api_call } = await doctor(env);
    expect([token?.verdict, api_call?.verdict]).toEqual(["pass", "fail"]);
    expect(api_call?.remedy).toContain(settingsPage);
    const ids = api_call?.causes?.map(({ id }) => id);
    expect(ids).toEqual(["scope_missing", "grant_narrowed"]);
    for (const { summary } of api_call?.causes ?? []) expect(api_call?.evidence).toContain(summary);
    expect(sent(emulator, 1)).toEqual({ tokens: 1, calls: 1 });
  });
});

describe("doctor explains Variant B:", () => {
  it("for a wrong secret, the remedy names the admin area", async () => {
    const { env, emulator } = await startDeployment({ variants: ["B"] });
    const wrong = {
      BIVARIANT_B_CLIENT_SECRET_FILE: "",
      BIVARIANT_B_CLIENT_SECRET: "planted-wrong-secret",
    };
    const { token } = await doctor({ ...env, ...wrong });
    expect(token?.verdict).toBe("fail");
    expect(token?.remedy).toContain("in the admin area under Service accounts");
    expect(sent(emulator, 1)).toEqual({ tokens: 1, calls: 0 });
  });

  it.each([
    { status: 403, says: "Service accounts" },
    { status: 404, says: "path prefix" },
    { status: 429, says: "Try again" },
    { status: 503, says: "The server failed" },
    { status: 418, says: "Ask the operator" },
  ])(
    "for the answer $status of the call, there is a remedy, and echoed secrets are not shown",
    async ({ status, says }) => {
      const echo = JSON.stringify({ message: `${plantedToken} ${clientSecret}` });
      const planted = await startPlanted((_, response) => response.writeHead(status).end(echo));
      const { token, api_call } = await doctor(planted.env);
      expect([token?.verdict, api_call?.verdict]).toEqual(["pass", "fail"]);
      expect(api_call?.remedy).toContain(says);
      // One request to the base URL and one call, which is not repeated.
      expect(planted.requests.map(({ method }) => method)).toEqual(["HEAD", "GET"]);
    },
  );

  it("for a page instead of a token, the remedy is to look for another server", async () => {
    const { env } = await startDeployment();
    const html = { "content-type": "text/html" };
    const { url } = await listen((_, response) => response.writeHead(200, html).end("<p>"));
    const { token } = await doctor(env, ["--base-url", url, "--variant", "B"]);
    expect(token).toMatchObject({ verdict: "fail", remedy: expect.stringContaining("login page") });
  });

  it("without an answer to the call, only the call fails, not the token", async () => {
    const planted = await startPlanted((_, response) =>
      response.req.method === "HEAD" ? response.end() : response.socket?.destroy(),
    );
    const { token, api_call } = await doctor(planted.env);
    expect([token?.verdict, api_call?.verdict]).toEqual(["pass", "fail"]);
    expect(api_call?.evidence).toContain("network_failed");
  });
});

afterEach(() => vi.restoreAllMocks());

describe("doctor after a login", () => {
  async function loggedIn(): Promise<LoginDeployment> {
    const deployment = await startLoginDeployment({ variants: ["B"] });
    expect((await logIn(deployment)).ended.code).toBe(0);
    return deployment;
  }

  function passTime(hours: number): void {
    const now = Date.now;
    vi.spyOn(Date, "now").mockImplementation(() => now() + hours * 3_600_000);
  }

  /** Resets the deployment, which then knows the client but no token. */
  async function forgetTokens({ emulator }: LoginDeployment): Promise<void> {
    emulator.reset();
    emulator.registerApiClient({ clientId: "portal", redirectUris: ["http://127.0.0.1/callback"] });
  }

  it("passes without a token request and calls as that person", async () => {
    const { env, emulator } = await loggedIn();
    const { token, api_call, detection } = await doctor(env);
    expect(token).toMatchObject({
      verdict: "pass",
      evidence: expect.stringContaining("stored login"),
    });
    expect([api_call?.verdict, detection?.verdict]).toEqual(["pass", "pass"]);
    expect(emulator.journal.tokenRequests({ status: 200 })).toHaveLength(1);
    expect(emulator.journal.entries({ operation: "listDevices" })).toHaveLength(1);
    passTime(2);
    expect((await doctor(env)).token).toMatchObject({ verdict: "pass" });
    expect(emulator.journal.tokenRequests({ status: 200 })).toHaveLength(2);
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
    const { token } = await doctor({ ...env, ...machines }, ["--login"]);
    expect(token).toMatchObject({
      verdict: "pass",
      evidence: expect.stringContaining("stored login"),
    });
    const machine = await doctor({ ...env, ...machines, BIVARIANT_VARIANT: "B" });
    expect(machine.token).toMatchObject({
      verdict: "fail",
      evidence: expect.not.stringContaining("login"),
    });
  });

  const remedy = "Run bivariant login.";
  const damage = async ({ file }: LoginDeployment) => writeFile(join(file, "store.json"), "torn");
  const unset = "Set it with --tenant or BIVARIANT_TENANT.";
  it.each([
    { name: "a login that ended elsewhere", spoil: forgetTokens, hours: 2, remedy },
    { name: "a forgotten token", spoil: forgetTokens, hours: 0.5, check: "api_call", remedy },
    { name: "a login for another tenant", args: ["--login", "--tenant", "other"], remedy },
    { name: "another tenant, without --login", args: ["--tenant", "other"], remedy: unset },
    { name: "a store that is damaged", spoil: damage, remedy: "BIVARIANT_STORE_FILE" },
  ])("reports $name with a remedy", async ({ args, spoil, check = "token", hours = 0, remedy }) => {
    const deployment = await loggedIn();
    await spoil?.(deployment);
    passTime(hours);
    const findings: Readonly<Record<string, unknown>> = await doctor(deployment.env, args);
    expect(findings[check]).toMatchObject({
      verdict: "fail",
      remedy: expect.stringContaining(remedy),
    });
  });
});
