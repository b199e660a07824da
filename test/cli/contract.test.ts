// `bivariant contract`: its lines, reports and exit codes, for deployments of every kind and for
// bad input.
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it, test } from "vitest";
import { withPerson } from "../../src/cli/contract-target.js";
import { Output } from "../../src/cli/output.js";
import { whenDone } from "../support/when-done.js";
import {
  type CliDeployment,
  clientSecret,
  leaksOf,
  startDeployment,
  startLoginDeployment,
} from "./cli-deployment.js";
import { cli, type Environment, refused, startCli } from "./command-line.js";
import { closedUrl, listen } from "./servers.js";

const mediaType = "token-request.media-type";
const only = (...ids: string[]) => ids.flatMap((id) => ["--only", id]);
const few = only("current-variant", "token-response.b", mediaType);

let deployment: CliDeployment;
let tolerant: CliDeployment;
beforeAll(async () => {
  deployment = await startDeployment();
  tolerant = await startDeployment({ rules: { [mediaType]: false } });
});

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "contract-test-"));
  whenDone(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
const contract = (args: readonly string[] = [], env: Environment = deployment.env) =>
  cli(["contract", ...args], env);

describe("bivariant contract", () => {
  it("prints a line for each case, and what the run took", async () => {
    const { code, stdout, stderr } = await contract(few);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const learnt =
      /^learnt {2}current-variant\.a {15}Variant A is served \(400 unsupported_grant_type\)\.$/m;
    expect(stdout).toMatch(learnt);
    expect(stdout).toMatch(/^holds {3}token-response\.b {2,}200 with access_token\.$/m);
    expect(stdout).toMatch(/\n2 hold, 0 break, 2 learnt, 0 not tried; 5 requests, \d\.\d s\n$/);
  });

  it("exits 1 and prints what was expected if a case breaks", async () => {
    const { code, stdout } = await contract(few, tolerant.env);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^breaks {2}token-request\.media-type {2,}200 with an access token\.\n {8}case {6}A token request whose Content-Type.*\n {8}expected {2}The.*\n {8}observed {2}200 with.*\n {8}section {3}4\.1\n/m,
    );
  });

  it("sends no more requests than --max-requests", async () => {
    const { stdout } = await contract([...few, "--max-requests", "2"]);
    expect(stdout).toContain("The budget of requests is spent. Raise maxRequests.");
  });

  it("groups what was not tried by what it would need, at an address given as an argument", async () => {
    const baseUrl = String(deployment.env.BIVARIANT_BASE_URL);
    const { code, stdout } = await contract([baseUrl, ...few], { BIVARIANT_BASE_URL: closedUrl });
    expect(code).toBe(0);
    expect(stdout).toContain("   1  It needs the id of a tenant.\n");
    expect(stdout).toContain("   1  It needs a service account with its client secret.\n");
  });

  it("--json prints the results with their evidence, and a summary", async () => {
    const { stdout } = await contract([...few, "--json"]);
    const { results, summary } = JSON.parse(stdout);
    expect(results).toHaveLength(4);
    expect(results.at(-1)).toMatchObject({
      id: mediaType,
      rule: mediaType,
      variant: "A",
      section: "4.1",
      result: "holds",
      expected: expect.any(String),
      observed: "400 invalid_grant.",
      evidence: [{ status: 200 }, { status: 400, body: expect.stringContaining("invalid_grant") }],
    });
    const counts = { holds: 2, breaks: 0, learnt: 2, "not tried": 0, requests: 5 };
    expect(summary).toEqual({ ...counts, seconds: expect.any(Number) });
  });

  it("--list prints every case with its needs and costs, and sends nothing", async () => {
    const { code, stdout } = await contract(["--list"], { BIVARIANT_BASE_URL: closedUrl });
    expect(code).toBe(0);
    for (const text of [
      `${mediaType} (Variant A, 4.1)\n  A token request whose Content-Type`,
      "\n  Costs at most 2 requests, 2 slots.\n",
      "Not safe. Tried only if --only names it.",
      "Extra: it tells little for that. Tried only if --only names it.",
      "250000 seconds. It waits long. Tried only if --only names it.",
      "A slot is a token request",
      "--only takes an id, or the group",
    ])
      expect(stdout).toContain(text);
    const { stdout: json } = await contract(["--list", "--json", ...only(mediaType)], {});
    const listed = { id: mediaType, needs: ["tenantId", "plugin"], safe: true };
    expect(JSON.parse(json)).toMatchObject([listed]);
  });

  it("writes its reports whole, and no secret into any output", async () => {
    const folder = await newFolder();
    const names = ["junit.xml", "learnt.settings.json", "learnt.yaml", "page.html"];
    const [junit = "", , learnt = "", html = ""] = names.map((name) => join(folder, name));
    await writeFile(html, "an older report");
    const ended = await contract([...few, "--junit", junit, "--html", html, "--learn", learnt]);
    expect(ended.code).toBe(0);
    expect((await readdir(folder)).sort()).toEqual(names);
    const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
    expect(texts[3]).toContain("<h1>Contract of");
    const written = texts.join("\n").replace(/sha256-\S{44}/, "");
    expect(leaksOf({ stdout: ended.stdout, stderr: written })).toEqual([]);
  });
});

describe("--baseline", () => {
  let before: string;
  beforeAll(async () => {
    before = join(await newFolder(), "before.json");
    await writeFile(before, (await contract([...few, "--json"])).stdout);
  });

  it("exits 0 if nothing moved, also among the cases that --only names", async () => {
    for (const args of [few, only("current-variant")]) {
      const { code, stdout } = await contract([...args, "--baseline", before]);
      expect(code).toBe(0);
      expect(stdout).toContain(`Nothing moved since ${before}.`);
    }
  });

  it("lists apart what this run could not try for what it was lent, and exits 0", async () => {
    const { BIVARIANT_BASE_URL } = deployment.env;
    const args = [...only("token-response.b"), "--baseline", before];
    const { code, stdout } = await contract(args, { BIVARIANT_BASE_URL });
    expect(code).toBe(0);
    expect(stdout).toContain(`Nothing moved since ${before}.\nNo longer tried (above is why; `);
  });

  it("exits 1 and prints the former and the present answer if something moved", async () => {
    const { code, stdout } = await contract(
      [...only(mediaType), "--baseline", before],
      tolerant.env,
    );
    expect(code).toBe(1);
    const answers = "    before  holds: 400 invalid_grant.\n    now     breaks: 200";
    expect(stdout).toContain(`  ${mediaType} (Variant A)\n${answers}`);
    expect(stdout).toContain("0 not tried; 1 moved; ");
    expect(stdout).not.toContain("current-variant");
  });
});

describe("a deployment", () => {
  const html = { "content-type": "text/html" };
  const answering =
    (status: number, body: string, headers: Record<string, string>): RequestListener =>
    (request, response) => {
      request.resume().on("end", () => response.writeHead(status, headers).end(body));
    };
  const echo: RequestListener = (request, response) =>
    void request.pipe(response.writeHead(200, { "content-type": "application/json" }));
  const limited = answering(429, "", { "retry-after": "2" });

  test.each<[string, RequestListener, number, string, string?]>([
    ["that never answers", () => {}, 5, "no answer within 60 ms", "60"],
    ["whose rate limit lasts", limited, 3, "The rate limit did not end within 1 s."],
    ["behind a login page", answering(200, "<title>Log in</title>", html), 4, "is not served"],
    ["that echoes every request", echo, 4, "is not served"],
  ])("%s", async (_, server, code, says, ms = "10000") => {
    const { url } = await listen(server);
    const args = ["--base-url", url, "--timeout-ms", ms, "--retry-deadline-ms", "1000"];
    const ended = await contract(args);
    expect(ended.code).toBe(code);
    expect(ended.stdout).toContain(says);
    expect(ended.stdout).toMatch(/0 hold, 0 break, \d learnt/);
    expect(leaksOf(ended)).toEqual([]);
  });

  test("that is down exits 5", async () => {
    const env = { ...deployment.env, BIVARIANT_BASE_URL: closedUrl };
    const { code, stdout, stderr } = await contract([], env);
    expect(code).toBe(5);
    const remedy = "Check the address, the network and the proxy.";
    const says = `${closedUrl} does not answer (ECONNREFUSED). ${remedy}`;
    expect(stderr).toBe(`error no_answer: ${says}\n`);
    expect(stdout).toMatch(/^\nNot tried:\n +\d+ {2}http:\S+ does not answer/);
  });

  test("that refuses one of two credentials exits 3, and says which in every report", async () => {
    const folder = await newFolder();
    const [junit, html] = [join(folder, "junit.xml"), join(folder, "page.html")];
    const env = { ...deployment.env, BIVARIANT_A_CLIENT_ID: "someone-else" };
    const { code, stdout, stderr } = await contract(["--junit", junit, "--html", html], env);
    expect(code).toBe(3);
    const says = "The credential of the service plugin was refused";
    expect(stdout).toContain(says);
    expect(stderr).toMatch(
      /^error credential_refused: The credential of the service plugin was refused \(400 \w+\)\. \d\d cases of Variant A could not be tried for it\. Check it, and --tenant\.\n$/,
    );
    const xml = await readFile(junit, "utf8");
    expect(xml).toMatch(/<testsuites [^>]* failures="0" errors="1"/);
    expect(xml).toMatch(/<testcase classname="A.credential"[^>]*>\n +<error message="The credenti/);
    const [head] = (await readFile(html, "utf8")).split("</header>");
    expect(head).toContain(`<p class="alarm">${says}`);
  });

  test("that refuses every credential exits 3, also if cases of the API client hold", async () => {
    const { emulator, env } = await startDeployment();
    const redirectUris = ["http://127.0.0.1/callback"];
    emulator.registerApiClient({ clientId: "portal", redirectUris });
    const { code, stdout } = await contract([], {
      ...env,
      BIVARIANT_A_CLIENT_ID: "someone-else",
      BIVARIANT_B_CLIENT_ID: "someone-else",
      BIVARIANT_B_LOGIN_CLIENT_ID: "portal",
      BIVARIANT_B_AUTHORIZATION_ENDPOINT: "/v1/auth/authorize",
    });
    expect(stdout).toMatch(/^holds {3}auth/m);
    expect(stdout).toContain("The credential of the service account was refused (401");
    expect(code).toBe(3);
  });
});

test("on Ctrl-C the reports so far are written, and it exits 130", async () => {
  const folder = await newFolder();
  let asked = 0;
  const { url } = await listen((request, response) => {
    if (++asked > 1) return running.interrupt();
    const body = '{"error":"invalid_request"}';
    const answer = () => response.writeHead(400, { "content-type": "application/json" }).end(body);
    request.resume().on("end", answer);
  });
  const [html, learnt] = [join(folder, "page.html"), join(folder, "learnt.yaml")];
  const args = ["contract", url, "--json", "--html", html, "--learn", learnt];
  const running = startCli(args, deployment.env);
  const { code, stdout } = await running.ended;
  expect(code).toBe(130);
  expect(JSON.parse(stdout)).toMatchObject({
    results: [{ id: "current-variant.a", result: "learnt" }],
    summary: { learnt: 1, interrupted: true },
  });
  expect(await readFile(html, "utf8")).toContain("The run was interrupted.");
  expect(await readdir(folder)).toHaveLength(3);
});

describe("before anything is sent, it refuses", () => {
  const secondKey = { privateKeyFile: "none.pem" };
  const noKey = "cannot be read (ENOENT). Set secondKey.privateKeyFile in the target file";
  const serviceAccount = { clientId: "other", clientSecret: "another secret" };
  const twice = "names a file with serviceAccount, which a flag or its variable sets too";
  test.each<[args: string, says: string, target?: unknown]>([
    ["--only nothing", 'No case is named "nothing". bivariant contract --list lists them.'],
    ["--list --only tokn-response", "(did you mean token-response?). bivariant"],
    ["--baseline none.json", "--baseline names a file that cannot be read (ENOENT): none.json"],
    ["--baseline package.json", "baseline_invalid: The baseline is not the result of a contract"],
    ["--html none/report", "--html names a file that cannot be written (ENOENT): none/report"],
    ["--html src", "--html names a file that cannot be written (it is not a file): src"],
    ["--junit s.settings.json --learn ./s.yaml", "--learn would overwrite another file of this ru"],
    [`${closedUrl} --base-url ${closedUrl}`, "--base-url repeats the argument. Remove one."],
    ["nowhere", "baseUrl: Invalid URL"],
    ["--login", "--login needs an API client"],
    ["--target FILE", "that is not valid JSON", "{"],
    ["--target FILE", "that is not a JSON object", "[]"],
    ["--target FILE", "secondTenant", { secondTenant: "umbrella" }],
    ["--target FILE --html FILE", "--html would overwrite another file of this run", {}],
    ["--baseline FILE --junit FILE", "--junit would overwrite another file", { results: [] }],
    ["--target FILE", noKey, { secondKey }],
    ["--target FILE", twice, { serviceAccount }],
  ])("%s: %s", async (args, says, target) => {
    const file = join(await newFolder(), "target.json");
    if (target !== undefined)
      await writeFile(file, typeof target === "string" ? target : JSON.stringify(target));
    let requests = 0;
    const { url } = await listen(() => requests++);
    const env = { ...deployment.env, BIVARIANT_BASE_URL: url };
    const ended = await refused(
      ["contract", ...args.replaceAll("FILE", file).split(" ")],
      env,
      says,
    );
    expect(leaksOf(ended, ["another secret"])).toEqual([]);
    expect(requests).toBe(0);
  });
});

test("a target file lends credentials, with their secrets in files beside it", async () => {
  const file = join(deployment.folder, "target.json");
  const serviceAccount = { clientId: "account", clientSecretFile: "secret" };
  const closedRoute = "GET /api/v1/acme/tenant-settings";
  await writeFile(file, JSON.stringify({ serviceAccount, closedRoute }));
  const { BIVARIANT_BASE_URL } = deployment.env;
  const args = [...only("token-response.b"), "--target", file];
  const ended = await contract(args, { BIVARIANT_BASE_URL });
  expect(ended.stdout).toContain("1 hold, 0 break");
  expect(leaksOf(ended, [clientSecret])).toEqual([]);
});

test("with --login a person opens the printed address, and the browser's way back is the answer", async () => {
  const { emulator, env } = await startLoginDeployment();
  const written: string[] = [];
  const stream = { write: (text: string) => written.push(text) };
  const output = new Output({ stdout: stream, stderr: stream }, {}, false);
  const authorizationEndpoint = `${env.BIVARIANT_BASE_URL}/v1/auth/authorize`;
  const redirectUri = "http://127.0.0.1/callback";
  const apiClient = { clientId: "portal", redirectUri, authorizationEndpoint };
  const lent = { baseUrl: String(env.BIVARIANT_BASE_URL), apiClient };
  const { signal } = new AbortController();
  const person = await withPerson(lent, 0, { output, signal });
  for (const state of ["first", "second"]) {
    const url = new URL(authorizationEndpoint);
    const redirect_uri = String(person.target.apiClient?.redirectUri);
    const client = { response_type: "code", client_id: "portal", redirect_uri, state };
    const challenge = { code_challenge: "x".repeat(43), code_challenge_method: "S256" };
    url.search = new URLSearchParams({ ...client, ...challenge }).toString();
    const answered = person.target.login?.(url.href);
    expect(written.join("")).toContain(`state=${state}`);
    const { callbackUrl } = emulator.login({ url: url.href, userId: "ada" });
    expect((await fetch(callbackUrl)).status).toBe(200);
    expect(await answered).toBe(callbackUrl);
  }
  await person.close();
});
