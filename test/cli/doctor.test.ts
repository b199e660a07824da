// `bivariant doctor`: the verdict, evidence and remedy of each check, for real faults of an
// emulated deployment.
import { writeFile } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Check, Finding } from "../../src/doctor/finding.js";
import { newSigningKey } from "../emulator/signing-key.js";
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
import { cli, type Environment, startCli } from "./command-line.js";
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
async function doctor(env: Environment, ...args: readonly string[]): Promise<Findings> {
  const result = await cli(["doctor", "--json", ...args], env);
  // A thumbprint is public, but looks like a token of the emulator.
  const publicThumbprint = /(be|key|kid|kid is|name|thumbprint) [\w-]{43}(?![\w-])/g;
  const stdout = result.stdout.replace(publicThumbprint, "$1");
  expect(leaksOf({ ...result, stdout }, [plantedToken, "planted-"])).toEqual([]);
  expect(result.stderr).toBe("");
  const { ok, findings } = JSON.parse(result.stdout) as { ok: boolean; findings: Finding[] };
  const checks = findings.map(({ check }) => check);
  const other = checks.includes("other_token") ? ["other_token"] : [];
  expect(checks).toEqual([...allChecks, ...other]);
  for (const { verdict, evidence, remedy } of findings) {
    expect(evidence).not.toBe("");
    if (verdict === "fail") expect(remedy).toBeTruthy();
  }
  const isOk = findings.every(({ verdict }) => verdict !== "fail");
  expect([ok, result.code]).toEqual([isOk, isOk ? 0 : 1]);
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
function sent({ journal }: CliDeployment["emulator"], questions: number) {
  const calls = journal.entries({ operation: "listDevices" }).length;
  return { tokens: journal.tokenRequests().length - questions, calls };
}

const notUsed = { token: "unknown", api_call: "unknown" };
const unreachable = { clock: "unknown", detection: "unknown", ...notUsed };
const failing = (text: string) => ({ verdict: "fail", remedy: expect.stringContaining(text) });

describe("doctor on a sound deployment", () => {
  it.each([
    { variants: ["A"], questions: 1 },
    { variants: ["B"], questions: 1 },
    { variants: ["A", "B"], questions: 2 },
  ] as const)("serving $variants finds no fault, with one token request", async (row) => {
    const { env, emulator } = await startDeployment({ variants: row.variants });
    const findings = await doctor(env);
    expect(troubles(findings)).toEqual({});
    // What is not served cannot be tried.
    expect(findings.other_token !== undefined).toBe(row.variants.length === 2);
    expect(sent(emulator, row.questions)).toEqual({ tokens: 1, calls: 1 });
  });

  it("prints one line for each finding, and counts the verdicts", async () => {
    const { env } = await startDeployment();
    const { code, stdout, stderr } = await cli(["doctor"], env);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const check of allChecks)
      expect(stdout).toMatch(new RegExp(`^(?:pass {4}|unknown )${check} +\\S`, "m"));
    expect(stdout).toMatch(/\n\n9 pass, 0 fail, 3 unknown\.\n$/);
    expect(stdout).toMatch(/^unknown other_token .*that of Variant B.*\n +-> .*--variant B/m);
    expect(stdout).toMatch(/Variant B, token endpoint: 400, .*, made-up sibling path: 404,/);
  });

  it("reports the checks of Variant A as unknown if Variant B is named", async () => {
    const { env, emulator } = await startDeployment();
    const findings = await doctor(env, "--variant", "B");
    const unused = { key: "unknown", audience: "unknown", assertion: "unknown" };
    expect(troubles(findings)).toEqual(unused);
    expect(findings.key?.evidence).toContain("Variant B is named");
    expect(findings.other_token).toBeUndefined();
    expect(sent(emulator, 2)).toEqual({ tokens: 1, calls: 1 });
  });

  it("needs no tenant id for Variant B alone", async () => {
    const { env } = await startDeployment({ variants: ["B"] });
    const { detection, api_call } = await doctor({ ...env, ...noPlugin, BIVARIANT_TENANT: "" });
    expect([detection?.verdict, api_call?.verdict]).toEqual(["unknown", "pass"]);
  });

  it("shows an assertion that it does not send", async () => {
    const { env, emulator } = await startDeployment({ variants: ["A"] });
    const findings = await doctor(env);
    const claims = /alg RS256, kid cli-key, iss reporter, sub reporter, .*iat \S+Z .*, exp 60 s la/;
    expect(findings.assertion?.evidence).toMatch(claims);
    const audience = `${env.BIVARIANT_BASE_URL}/api/v1/acme/external-plugin/oauth/token`;
    expect(findings.audience?.evidence).toContain(audience);
    expect(sent(emulator, 1).tokens).toBe(1);
    // A signature of 2048 bits is 342 characters of base64url.
    expect(JSON.stringify(findings)).not.toMatch(/[\w-]{300,}/);
  });
});

const noPlugin = {
  BIVARIANT_A_CLIENT_ID: "",
  BIVARIANT_A_PRIVATE_KEY_FILE: "",
  BIVARIANT_A_KEY_ID: "",
};
const noAccount = { BIVARIANT_B_CLIENT_ID: "", BIVARIANT_B_CLIENT_SECRET_FILE: "" };

describe("doctor finds the trouble before it sends a credential:", () => {
  const answering =
    (status: number, headers: Readonly<Record<string, string>> = {}): RequestListener =>
    (_, response) =>
      response.writeHead(status, headers).end();
  const noDate: RequestListener = (_, response) => {
    response.sendDate = false;
    response.writeHead(404).end();
  };
  const isCached = { date: new Date().toUTCString(), age: "7" };
  const noBaseUrl = { base_url: "fail", reachability: "unknown", audience: "fail" };
  const noUrl = { ...noBaseUrl, assertion: "unknown", ...unreachable };
  const noServer = { reachability: "fail", ...unreachable };
  const notServed = { detection: "fail", ...notUsed };
  const isDown = { reachability: "unknown", ...notServed };
  const noClock = { clock: "unknown", ...notServed };
  const noTenant = { audience: "fail", assertion: "unknown", ...notServed };
  const noKey = { key: "unknown", audience: "unknown", assertion: "unknown" };
  const noToken = { ...notUsed, token: "fail" };
  const neither = { ...noToken, ...noKey };
  const noneOfB = { ...notServed, ...noKey };
  const [none, half] = [{ ...noPlugin, ...noAccount }, { BIVARIANT_B_CLIENT_ID: "" }];
  const [idA, idB] = [/BIVARIANT_A_CLIENT_ID/, /BIVARIANT_B_CLIENT_ID/];
  const [tokenOfB, noTenantId] = [/^token: .*B_CLIENT_ID/m, /^detection: .*tenant id/m];
  const [refusedBy, blocked] = [/^reachability: .*ECONNREFUSED.*NO_PROXY/m, /\(fetch blocks this/];
  const [toClosed, toBlocked] = [`--base-url ${closedUrl}`, "--base-url http://127.0.0.1:1"];
  const moved = answering(301, { location: "/login" });
  const [A, B] = [["A"], ["B"]] as const;
  it.each([
    { name: "a URL without a scheme", verdicts: noUrl, args: "--base-url customer.example" },
    { name: "plain http", verdicts: noUrl, args: "--base-url http://customer.example" },
    { name: "no server", verdicts: noServer, args: toClosed, says: refusedBy },
    { name: "a port that fetch blocks", verdicts: noServer, args: toBlocked, says: blocked },
    { name: "a server that is down", verdicts: isDown, server: answering(503) },
    { name: "a proxy that wants a password", verdicts: noServer, server: answering(407) },
    { name: "a redirect", verdicts: notServed, server: moved },
    { name: "answers without Date", verdicts: noClock, server: noDate },
    { name: "answers of a cache", verdicts: noClock, server: answering(404, isCached) },
    { name: "neither variant", verdicts: notServed, variants: [], says: noTenantId },
    { name: "A named, B served", verdicts: notServed, variants: B, args: "--variant A", says: idB },
    { name: "B named, A served", verdicts: noneOfB, variants: A, args: "--variant B", says: idA },
    { name: "no tenant", verdicts: noTenant, env: { BIVARIANT_TENANT: "" }, says: /--tenant/ },
    { name: "a wrong tenant", verdicts: noTenant, args: "--tenant ..", says: /--tenant/ },
    { name: "no credential", verdicts: neither, variants: B, env: none, says: tokenOfB },
    { name: "half of a credential", verdicts: noToken, variants: A, env: half, says: tokenOfB },
  ])("$name", async ({ verdicts, variants, env: more, args, server, says = /./ }) => {
    const { env, emulator } = await startDeployment(variants && { variants });
    const at = server && { BIVARIANT_BASE_URL: (await listen(server)).url };
    const findings = await doctor({ ...env, ...at, ...more }, ...(args?.split(" ") ?? []));
    expect(troubles(findings)).toEqual(verdicts);
    const lines = Object.values(findings).map(
      (one) => `${one.check}: ${one.evidence} ${one.remedy}`,
    );
    expect(lines.join("\n")).toMatch(says);
    expect(emulator.journal.entries({ operation: "listDevices" })).toEqual([]);
    expect(emulator.journal.tokenRequests({ status: 200 })).toEqual([]);
  });

  it.each([
    { named: "A", other: "B", without: noPlugin },
    { named: "B", other: "A", without: noAccount },
  ])("a credential of Variant $other alone, where $named is named", async (row) => {
    const { env } = await startDeployment();
    const rest = { ...env, ...row.without, BIVARIANT_VARIANT: row.named };
    const says = `There is a credential for Variant ${row.other} only.`;
    expect((await doctor(rest)).token).toMatchObject({ verdict: "fail", evidence: says });
    const ways = `credential_missing: ${says} Set --${row.named.toLowerCase()}-`;
    expect((await cli(["token"], rest)).stderr).toContain(ways);
  });

  it("a self-signed certificate", async () => {
    const { env } = await startDeployment();
    const { url } = await startSecureFront();
    const { reachability, tls, token } = await doctor(env, "--base-url", url);
    expect([reachability?.verdict, token?.verdict]).toEqual(["pass", "unknown"]);
    expect(tls).toMatchObject(failing("NODE_EXTRA_CA_CERTS"));
    expect(tls?.evidence).toContain("DEPTH_ZERO_SELF_SIGNED_CERT");
  });

  const here = ["--base-url", "http://127.0.0.1"];
  const thisFile = fileURLToPath(import.meta.url);
  it.each([
    ["no base URL", [], "base URL"],
    ["a missing file", [...here, "--jwks", "/no.json"], "--jwks"],
    ["a file without JSON", [...here, "--jwks", thisFile], "--jwks names a file that is not valid"],
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
  ] as const)("by a server clock $seconds s ahead, which is $verdict", async (row) => {
    // In the middle of a second, since Date shows whole ones.
    vi.spyOn(Date, "now").mockReturnValue(START + 500);
    const now = () => Date.now() + row.seconds * 1000;
    const { env, emulator } = await startDeployment({ variants: ["A"], now });
    const { clock, token } = await doctor(env);
    expect([clock?.verdict, token?.verdict]).toEqual([row.verdict, "pass"]);
    expect(`${clock?.evidence} ${clock?.remedy}`).toMatch(row.says);
    expect(sent(emulator, 1)).toEqual({ tokens: 1, calls: 1 });
  });

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
    const named = await doctor(env, "--base-url", url, "--variant", "B");
    expect([named.detection?.verdict, named.token?.verdict]).toEqual(["unknown", "pass"]);
    const { detection } = await doctor(env, "--base-url", url);
    expect(detection).toMatchObject(failing("BIVARIANT_VARIANT"));
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
    const findings = await doctor(env, "--a-private-key-file", path);
    expect(troubles(findings)).toEqual({ key: "fail", assertion: "unknown", ...notUsed });
    expect(findings.key).toMatchObject(failing("bivariant keys new"));
    expect(findings.key?.evidence).toMatch(says);
    expect(sent(emulator, 1)).toEqual({ tokens: 0, calls: 0 });
  });

  it("reports its size and thumbprint, also for a JWK", async () => {
    const { env } = await startDeployment();
    const jwk = JSON.stringify(newSigningKey("big", 3072).privateKey.export({ format: "jwk" }));
    const given = { BIVARIANT_A_PRIVATE_KEY_FILE: "", BIVARIANT_A_KEY_ID: "" };
    const { key } = await doctor({ ...env, ...given, BIVARIANT_A_PRIVATE_KEY: jwk });
    expect(key?.evidence).toMatch(/3072 bits.*RFC 7638 thumbprint/);
  });
});

const otherKey = newSigningKey("cli-key").publicJwk;

describe("doctor compares the key with the registered JWKS:", () => {
  const right = signingKey.publicJwk;
  const other = { ...otherKey, kid: "other" };
  const wrongKid = { ...right, kid: "wrong" };
  const noKid = { ...right, kid: undefined };
  const secret = { ...signingKey.privateKey.export({ format: "jwk" }), kid: "cli-key" };
  const rows: [string, unknown, string, RegExp][] = [
    ["the right key, also under another kid", [wrongKid, right], "pass", /with its kid cli-key/],
    ["two others", [other, other], "fail", /None of .*keys \(2\)/],
    ["another key with the kid", [otherKey], "fail", /although there is/],
    ["only a wrong kid", [wrongKid], "unknown", /kid wrong.*until a/],
    ["a wrong kid", [wrongKid, other], "fail", /with the kid wrong/],
    ["no kid among two", [noKid, other], "fail", /without a kid/],
    ["two keys with the kid", [otherKey, right], "fail", /2 .* share/],
    ["a key to encrypt", [{ ...right, use: "enc" }], "fail", /use/],
    ["a key for PS256", [{ ...right, alg: "PS256" }], "fail", /algor/],
    ["an empty set", [], "fail", /empty/],
    ["a private key", [secret], "fail", /holds a private/],
    ["a symmetric key", [{ kty: "oct", k: "AA" }], "fail", /symmetric/],
    ["odd keys", [null, 7, { kty: "RSA" }], "fail", /None of .*keys \(3\)/],
    ["keys that are not an array", "x", "unknown", /no array "keys"/],
  ];
  it.each(rows)("%s", async (_, keys, verdict, says) => {
    const { env, folder } = await startDeployment({ variants: ["A"] });
    const path = join(folder, "registered.json");
    await writeFile(path, JSON.stringify({ keys }));
    const { jwks } = await doctor(env, "--jwks", path);
    expect(jwks?.verdict).toBe(verdict);
    expect(jwks?.evidence).toMatch(says);
    if (verdict !== "pass") expect(jwks?.remedy).toContain(settingsPage);
  });
});

describe("doctor explains a refusal of Variant A:", () => {
  const plugin = { clientId: "reporter", tenantId: "acme" };
  const jwks = { keys: [otherKey] };
  const own = { keys: [signingKey.publicJwk] };
  const publicUrl = "https://x.example";

  it.each([
    { name: "disabled", change: { enabled: false }, cause: "plugin_not_registered_or_disabled" },
    { name: "another type", clientId: "page", cause: "wrong_grant_for_plugin_type" },
  ])("$name", async ({ clientId = "reporter", change, cause }) => {
    const { env, emulator } = await startDeployment({ variants: ["A"] });
    const page = { tenantId: "acme", clientId: "page", type: "user_interface", jwks: own } as const;
    emulator.registerPlugin(page);
    emulator.updatePlugin({ ...plugin, ...change });
    const findings = await doctor(env, "--a-client-id", clientId);
    expect(troubles(findings)).toEqual({ token: "fail", api_call: "unknown" });
    expect(findings.token?.causes?.map(({ id }) => id)).toContain(cause);
    expect(findings.token?.evidence.match(/acme/g)).toHaveLength(1);
    expect(findings.token?.remedy).toContain(settingsPage);
    expect(sent(emulator, 1)).toEqual({ tokens: 1, calls: 0 });
  });

  it.each([
    { name: "first if it is not in --jwks", registered: jwks, isCause: true },
    { name: "no cause if it is there", registered: own, isCause: false },
  ])("an unregistered key is $name", async ({ registered, isCause }) => {
    const { env, folder } = await startDeployment({ variants: ["A"], publicUrl });
    const path = join(folder, "registered.json");
    await writeFile(path, JSON.stringify(registered));
    // Without --jwks the cause of this aud is first.
    const args = ["--jwks", path, "--audience", "https://y.example/"];
    const { token, audience } = await doctor(env, ...args);
    const causes = token?.causes?.map(({ id }) => id) ?? [];
    expect(causes[0]).toBe(isCause ? "jwks_mismatch" : "audience_mismatch");
    expect(causes.includes("jwks_mismatch")).toBe(isCause);
    const says = isCause ? "None of the registered keys" : "The key is not the cause";
    expect(token?.evidence).toContain(says);
    expect(audience?.remedy).toContain("Remove --audience or");
  });

  it("a file that is not a JWKS is not cited as evidence, and the remedy is about the file", async () => {
    const { env, emulator, folder } = await startDeployment({ variants: ["A"] });
    emulator.updatePlugin({ ...plugin, jwks });
    await writeFile(join(folder, "other.json"), JSON.stringify(signingKey.publicJwk));
    const findings = await doctor(env, "--jwks", join(folder, "other.json"));
    expect(findings.jwks?.evidence).toContain("holds a single key");
    expect(findings.jwks?.remedy).toContain("Pass the JWKS that the customer registered");
    expect(findings.token?.causes?.[0]?.id).toBe("jwks_mismatch");
    expect(JSON.stringify(findings.token)).not.toContain("--jwks");
  });

  // The command line has the machine's time, and a window of a second is the shortest. The server's
  // clock stands until the wait begins, since a busy machine takes longer than that for a request.
  it.each([0, 120, -120])(
    "at a rate limit of one request, it waits until it may ask for the token, by a server clock %d s ahead",
    async (seconds) => {
      const rateLimit = { requests: 1, windowSeconds: 1 };
      const { env, emulator } = await startDeployment({ variants: ["A"], rateLimit });
      emulator.clock.freeze(Date.now() + seconds * 1000);
      const command = startCli(["doctor"], env);
      await command.seen(/^The rate limit of the tenant is reached. Waiting until /m);
      emulator.clock.set(Date.now() + seconds * 1000);
      emulator.clock.resume();
      expect((await command.ended).stdout).toMatch(/^pass +token /m);
    },
  );

  it("at a rate limit beyond the deadline, it says when the limit ends and sends no second request", async () => {
    const rateLimit = { requests: 1, windowSeconds: 3600 };
    const { env, emulator } = await startDeployment({ variants: ["A"], rateLimit });
    const { token } = await doctor(env);
    expect(token).toMatchObject(failing("whole tenant"));
    expect(token?.evidence).toMatch(/rate_limited for .* reporter of .* acme: .*until \d{4}-\S+Z/);
    expect(sent(emulator, 1)).toEqual({ tokens: 1, calls: 0 });
  });

  it("a 403 of a call that names no device has two causes", async () => {
    const { env, emulator } = await startDeployment({ variants: ["A"], scopes: ["devices:write"] });
    const { token, api_call } = await doctor(env);
    expect(token?.verdict).toBe("pass");
    expect(api_call).toMatchObject(failing(settingsPage));
    const causes = api_call?.causes ?? [];
    expect(causes.map(({ id }) => id)).toEqual(["scope_missing", "grant_narrowed"]);
    for (const { summary } of causes) expect(api_call?.evidence).toContain(summary);
    expect(sent(emulator, 1)).toEqual({ tokens: 1, calls: 1 });
  });
});

describe("doctor explains Variant B:", () => {
  it("for a wrong secret, the remedy names the admin area", async () => {
    const { env, emulator } = await startDeployment({ variants: ["B"] });
    const wrong = { BIVARIANT_B_CLIENT_SECRET: "planted-wrong-secret" };
    const { token } = await doctor({ ...env, BIVARIANT_B_CLIENT_SECRET_FILE: "", ...wrong });
    expect(token).toMatchObject(failing("in the admin area under Service accounts"));
    expect(sent(emulator, 1)).toEqual({ tokens: 1, calls: 0 });
  });

  it.each([
    { status: 403, says: "Service accounts" },
    { status: 404, says: "path prefix" },
    { status: 429, says: "Try again" },
    { status: 503, says: "The server failed" },
    { status: 418, says: "Ask the operator" },
  ])("a call answered $status has a remedy, and no echoed secret is shown", async (row) => {
    const echo = JSON.stringify({ message: `${plantedToken} ${clientSecret}` });
    const planted = await startPlanted((_, response) => response.writeHead(row.status).end(echo));
    const { token, api_call } = await doctor(planted.env);
    expect(token?.verdict).toBe("pass");
    expect(api_call).toMatchObject(failing(row.says));
    // One request to the base URL and one call, which is not repeated.
    expect(planted.requests.map(({ method }) => method)).toEqual(["HEAD", "GET"]);
  });

  it("for a page instead of a token, the remedy is to look for another server", async () => {
    const { env } = await startDeployment();
    const html = { "content-type": "text/html" };
    const { url } = await listen((_, response) => response.writeHead(200, html).end("<p>"));
    const { token } = await doctor(env, "--base-url", url, "--variant", "B");
    expect(token).toMatchObject(failing("login page"));
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
  const evidence = expect.stringContaining("stored login");

  it("passes without a token request and calls as that person", async () => {
    const { env, emulator } = await loggedIn();
    const { token, api_call, detection } = await doctor(env);
    expect(token).toMatchObject({ verdict: "pass", evidence });
    expect([api_call?.verdict, detection?.verdict]).toEqual(["pass", "pass"]);
    expect(emulator.journal.tokenRequests({ status: 200 })).toHaveLength(1);
    expect(emulator.journal.entries({ operation: "listDevices" })).toHaveLength(1);
    passTime(2);
    expect((await doctor(env)).token).toMatchObject({ verdict: "pass" });
    expect(emulator.journal.tokenRequests({ status: 200 })).toHaveLength(2);
  });

  it("uses the login with --login, although a service account and a plugin are configured", async () => {
    const deployment = await loggedIn();
    const env = {
      ...deployment.env,
      BIVARIANT_B_CLIENT_ID: "account",
      BIVARIANT_B_CLIENT_SECRET: clientSecret,
      BIVARIANT_B_LOGIN_CLIENT_ID: "portal",
      BIVARIANT_A_CLIENT_ID: "reporter",
      BIVARIANT_A_PRIVATE_KEY: privateKeyPem,
    };
    expect((await doctor(env, "--login")).token).toMatchObject({ verdict: "pass", evidence });
    const { token } = await doctor({ ...env, BIVARIANT_VARIANT: "B" });
    expect(token?.verdict).toBe("fail");
    expect(token?.evidence).not.toContain("login");
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
  ])("reports $name with a remedy", async (row) => {
    const { args = [], spoil, check = "token", hours = 0, remedy } = row;
    const deployment = await loggedIn();
    await spoil?.(deployment);
    passTime(hours);
    const findings: Readonly<Record<string, unknown>> = await doctor(deployment.env, ...args);
    expect(findings[check]).toMatchObject(failing(remedy));
  });
});
