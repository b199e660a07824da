// `bivariant call`: the same call on either variant, the request that it sends, and refused calls.
import { open, readFile, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { leaksOf, startDeployment } from "./cli-deployment.js";
import { cli, refused, startCli, startProcess } from "./command-line.js";
import { closedUrl, plantedToken, startPlanted } from "./servers.js";

const call = ["call", "listDevices"];
/** JSON escapes its quotes. */
const quoted = 'planted-"quoted"-secret';

describe.concurrent("call", () => {
  it.each(["A", "B"] as const)("listDevices prints the devices of Variant %s", async (variant) => {
    const { env } = await startDeployment({ variants: [variant] });
    const result = await cli(call, env);
    expect(result).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(result.stdout)).toHaveLength(3);
    expect(leaksOf(result)).toEqual([]);
  });

  it("exits 6 for an empty 403, with its causes", async () => {
    const { env } = await startDeployment({ variants: ["A"], scopes: [] });
    const people = await cli(call, env);
    expect(people).toMatchObject({ code: 6, stdout: "" });
    expect(people.stderr).toMatch(
      /error api_forbidden: [\s\S]*2\. The customer narrowed the grant/,
    );
    const script = await cli([...call, "--json"], env);
    expect(script).toMatchObject({ code: 6, stderr: "" });
    const error = { code: "api_forbidden", status: 403, operationId: "listDevices", exitCode: 6 };
    const causes = [{ id: "scope_missing" }, { id: "grant_narrowed" }];
    expect(JSON.parse(script.stdout).error).toMatchObject({ ...error, causes });
    expect([...leaksOf(people), ...leaksOf(script)]).toEqual([]);
  });

  it("with a wrong tenant id says to check it, because the refusal looks the same", async () => {
    const { env } = await startDeployment({ variants: ["A"] });
    const { code, stderr } = await cli([...call, "--tenant", "acmee"], env);
    expect(code).toBe(3);
    expect(stderr).toContain(
      "remedy    Check tenantId, which is acmee: a wrong one looks the same",
    );
  });

  it("sends parameters, headers and envelope where they belong", async () => {
    const { env, requests } = await startPlanted((_, response) => response.end('{"done":true}'));
    const given =
      "--param page=2 --param tag=a --param tag=b=c --param __proto__=1 --header X-Trace:t:1 " +
      "--envelope full";
    const result = await cli([...call, ...given.split(" ")], env);
    expect(result).toMatchObject({ code: 0 });
    expect(JSON.parse(result.stdout)).toEqual({ done: true });
    expect(requests[0]?.url).toBe("/v1/devices?page=2&tag=a&tag=b%3Dc&__proto__=1");
    const authorization = `Bearer ${plantedToken}`;
    const headers = { "x-trace": "t:1", "x-envelope": "full", authorization };
    expect(requests[0]?.headers).toMatchObject(headers);
    expect(leaksOf(result, [plantedToken])).toEqual([]);
  });

  it("calls the operations of documents of one's own, from a folder or a module", async () => {
    const { env, requests } = await startPlanted((_, response) => response.end("{}"));
    const get = { method: "GET", path: "/v1/devices/{deviceId}", success: [200], failure: [] };
    const token = { ...get, method: "POST", path: "/v1/auth/token", anonymous: true };
    const operations = { A: { onlyInA: get }, B: { getDevice: get, askForToken: token } };
    const { folder } = await startDeployment();
    const files = {
      "operations.js": `export const operations = ${JSON.stringify(operations)};`,
      "broken.js": "throw new Error();",
      "other.js": "export const other = 1;",
    };
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    const own = (id: string, file: string, ...params: string[]) => [
      "call",
      id,
      "--api",
      join(folder, file),
      ...params.flatMap((one) => ["--param", one]),
    ];
    for (const file of ["", "operations.js"]) {
      const result = await cli(own("getDevice", file, "deviceId=7", "full=1"), env);
      expect(result).toMatchObject({ code: 0, stdout: "{}\n" });
      expect(requests.at(-1)?.url).toBe("/v1/devices/7?full=1");
    }

    const differs =
      "--param deviceID is sent as a query parameter. The path parameter is deviceId.";
    const missing = '"deviceId" is missing or empty.';
    await refused(own("getDevice", "", "deviceID=7"), env, missing, differs);
    await refused(own("listDevices", ""), env, "Use one of: onlyInA, getDevice.");
    await refused(own("askForToken", ""), env, "its answer is a token");
    // Nothing listens there, so a token request would fail first.
    const silent = { ...env, BIVARIANT_BASE_URL: closedUrl };
    const none =
      "Variant B has no operation with this id. Variant A has it: " +
      "pass --variant A if the service runs both. Variant B has: getDevice.";
    await refused(own("onlyInA", ""), silent, none);
    await refused(own("x", "broken.js"), env, "cannot be loaded", "broken.js. ", "npx tsc ");
    await refused(own("x", "other.js"), env, "bivariant generate did not write");
    await refused(own("x", "none.js"), env, "neither a module nor a folder");
  });

  /**
   * A deployment whose operation `own` answers with one media type, and the arguments that call it.
   */
  async function startOwn(type: string, answer: (response: ServerResponse) => void) {
    const { env } = await startPlanted((_, response) => {
      response.setHeader("content-type", type);
      answer(response);
    });
    const { folder } = await startDeployment();
    const answers = { 200: [type], 404: [type] };
    const own = { method: "GET", path: "/v1/own", success: [200], failure: [404], answers };
    const module = `export const operations = ${JSON.stringify({ A: { own }, B: { own } })};`;
    await writeFile(join(folder, "operations.js"), module);
    return { env, folder, args: ["call", "own", "--api", folder] };
  }

  it("writes bytes unchanged, and refuses to print them on a terminal and as JSON", async () => {
    const bytes = Buffer.from([0, 255, 10, 0xc3, 0x28, 13, 10]);
    const { env, folder, args } = await startOwn("image/png", (response) => response.end(bytes));
    const file = await open(join(folder, "own.png"), "w");
    const { ended } = await startProcess(args, env, file.fd);
    expect(await ended).toMatchObject({ code: 0, stderr: "" });
    await file.close();
    expect(await readFile(join(folder, "own.png"))).toEqual(bytes);
    const terminal = await cli(args, env, { isTTY: true });
    expect(terminal).toMatchObject({ code: 2, stdout: "" });
    expect(terminal.stderr).toContain("7 bytes of image/png. Redirect the output: > <file>");
    const json = await cli([...args, "--json"], env);
    expect(json.code).toBe(2);
    const error = { code: "option_invalid", option: "--json" };
    expect(JSON.parse(json.stdout).error).toMatchObject(error);
  });

  it("notes the Location of an answer on stderr, unless it repeats a secret", async () => {
    const { env } = await startPlanted((request, response) => {
      const secret = request.url?.includes("page") ? plantedToken : "e1";
      const headers = { location: `/v1/exports/${secret}`, "set-cookie": "sid=planted-cookie" };
      response.writeHead(202, headers).end('{"done":false}');
    });
    const { folder } = await startDeployment();
    const own = { method: "GET", path: "/v1/own", success: [202], failure: [] };
    const module = `export const operations = ${JSON.stringify({ A: { own }, B: { own } })};`;
    await writeFile(join(folder, "operations.js"), module);
    const args = ["call", "own", "--api", folder];
    const result = await cli(args, env);
    expect(result).toMatchObject({ code: 0, stderr: "Location: /v1/exports/e1\n" });
    const secret = await cli([...args, "--param", "page=1"], env);
    expect(secret.stderr).toBe("Location: (not shown: it repeats a secret)\n");
    const secrets = [plantedToken, "planted-cookie"];
    expect([...leaksOf(result, secrets), ...leaksOf(secret, secrets)]).toEqual([]);
  });

  it("names the size of bytes that a refusal holds", async () => {
    const answer = (response: ServerResponse) => response.writeHead(404).end("four");
    const { env, args } = await startOwn("image/png", answer);
    const result = await cli(args, env);
    expect(result).toMatchObject({ code: 6, stdout: "" });
    expect(result.stderr).toContain('The answer: "(not shown: 4 bytes)"');
  });

  it("prints text as it is, on a terminal without control characters, and as JSON with --json", async () => {
    const text = 'a,"b"\r\n1,\u001b[2J';
    const { env, args } = await startOwn("text/csv", (response) => response.end(text));
    expect(await cli(args, env)).toMatchObject({ code: 0, stdout: text });
    expect(await cli(args, env, { isTTY: true })).toMatchObject({ stdout: 'a,"b"\n1,?[2J\n' });
    expect(JSON.parse((await cli([...args, "--json"], env)).stdout)).toBe(text);
  });

  const event = "event: changed\nid: 1\ndata: a\ndata: b\n\n";
  it.each([
    ["text/event-stream", event, { event: "changed", id: "1", data: "a\nb" }],
    ["application/x-ndjson", '{ "a": "\\u001b" }\n', { a: "\u001b" }],
  ])("prints %s as it arrives, a line each, until it is interrupted", async (type, first, line) => {
    let closed: Promise<void> | undefined;
    const { env, args } = await startOwn(type, (response) => {
      closed = new Promise((resolve) => response.on("close", resolve));
      response.write(first + first);
    });
    const running = startCli([...args, "--json"], env);
    await running.seen(/\n.*\n/);
    running.interrupt();
    const { code, stdout } = await running.ended;
    expect(code).toBe(130);
    const lines = stdout.trimEnd().split("\n");
    const interrupted = { error: { code: "interrupted" } };
    expect(lines.map((text) => JSON.parse(text))).toMatchObject([line, line, interrupted]);
    await closed;
  });

  it("exits 5 for a stream that breaks off, after the lines that came", async () => {
    const { env, args } = await startOwn("application/x-ndjson", (response) => {
      response.write("1\n", () => response.destroy());
    });
    expect(await cli(args, env)).toMatchObject({ code: 5, stdout: "1\n" });
  });

  it("and doctor take unauthorizedStatuses from the settings file, named by the flag or the variable", async () => {
    const { env } = await startPlanted((_, response) => response.writeHead(423).end("{}"));
    const { folder } = await startDeployment();
    const settings = join(folder, "settings.json");
    await writeFile(settings, '\ufeff{\n\t"unauthorizedStatuses": [423], "successStatus": 201\n}');
    const note = "It was not sent once more: that needs a token older than 30 s";
    expect((await cli(call, env)).stderr).not.toContain(note);
    expect((await cli([...call, "--settings", settings], env)).stderr).toContain(note);
    const named = { ...env, BIVARIANT_SETTINGS: settings };
    expect((await cli(["doctor"], named)).stdout).toContain(note);
    expect(await cli(["token"], named)).toMatchObject({ code: 0 });
  });

  const mistakes = '{"unauthorizedStatuses": [401,\n40],\n"refreshPath": "planted-in-file"}';
  const both = /FILE:2: unauthorizedStatuses\.1: .*\nFILE:3: refreshPath: must be a path/;
  it.each([
    ["that is not JSON", "planted-in-file", "is not valid JSON: FILE\n"],
    ["that is broken off", '{\n"envelope": {"planted": "in-file"', "JSON: FILE:2"],
    ["with a list", "[]", "FILE:1: Invalid input: expected object"],
    ["with an unknown name", '{\n\n"bearerStatuss": [1] }', 'FILE:3: unknown key: "bearerS'],
    ["with a secret as a name", '{"planted-in-file-1": 1}', "FILE:1: unknown key: …"],
    ["with a name twice", '{"requireKid":true,\n"requireKid":false}', "FILE:2: "],
    ["with two mistakes", mistakes, both],
    ["that is missing", undefined, "that cannot be read (ENOENT): FILE"],
  ])("exits 2 before it sends anything for a settings file %s", async (_, content, says) => {
    const { env, emulator, folder } = await startDeployment();
    const file = join(folder, "settings.json");
    if (content !== undefined) await writeFile(file, content);
    const others = content === undefined ? [["token"], ["doctor"], ["login"]] : [];
    for (const command of [call, ...others]) {
      const args = [...command, "--settings", file];
      const result = await refused(args, env, "--settings names a file ");
      expect(result.stderr.replaceAll(file, "FILE")).toMatch(says);
      expect(leaksOf(result, ["in-file"])).toEqual([]);
    }
    expect(emulator.journal.entries()).toEqual([]);
  });

  it("shows the body of a refusal with control characters escaped", async () => {
    const said = JSON.stringify({ why: "no such page\u009b2J\u202e" });
    const { env } = await startPlanted((_, response) => response.writeHead(422).end(said));
    const result = await cli(call, env);
    expect(result.code).toBe(6);
    expect(result.stderr).toContain('The answer: {"why":"no such page\\u009b2J\\u202e"}');
  });

  it.each([
    ["repeats the token", `"${plantedToken}"`, "(not shown: it repeats a secret)"],
    ["repeats the secret", JSON.stringify(quoted), "(not shown: it repeats a secret)"],
    ["is very long", `"${"x".repeat(9_000)}"`, "(not shown: 9002 characters)"],
  ])("does not show the body of a refusal that %s", async (_, body, shown) => {
    const planted = await startPlanted((_, response) => response.writeHead(500).end(body));
    const env = { ...planted.env, BIVARIANT_B_CLIENT_SECRET: quoted };
    const people = await cli(call, env);
    const script = await cli([...call, "--json"], env);
    expect([people.code, script.code]).toEqual([6, 6]);
    expect(people.stderr).toContain(shown);
    expect(JSON.parse(script.stdout).error).toMatchObject({ code: "api_failed", body: shown });
    expect([...leaksOf(people, [plantedToken]), ...leaksOf(script, [plantedToken])]).toEqual([]);
  });

  const planted = "planted-in-argv";
  const thisFile = fileURLToPath(import.meta.url);
  it.each([
    ["an unknown operation", ["listDevicez"], "Use one of: listDevices"],
    ["the token request, whose answer is a secret", ["requestToken"], "bivariant token"],
    ["a bearer in a header", ["--header", `Authorization: ${planted}`], "authorization"],
    ["a header without a colon", ["--header", planted], "name:value"],
    ["a header with a line break", ["--header", `x: ${planted}\r\ny: z`], "name:value"],
    ["a parameter without a name", ["--param", planted], "name=value"],
    ["a body that is not JSON", ["--data", planted], "--data is not valid JSON"],
    ["a body file without JSON", ["--data-file", thisFile], "names a file that is not valid JSON"],
    ["a body file that is missing", ["--data-file", "/no/file"], "(ENOENT): /no/file"],
  ])("exits 2 before it sends anything, and repeats no value, for %s", async (_, args, says) => {
    const { env, emulator } = await startDeployment();
    const words = args[0]?.startsWith("--") ? [...call, ...args] : ["call", ...args];
    const result = await refused(words, env, says);
    expect(leaksOf(result, [planted])).toEqual([]);
    expect(emulator.journal.entries()).toEqual([]);
  });
});
