// `bivariant call`: the same call on either variant, the request that it sends, and refused calls.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { leaksOf, startDeployment } from "./cli-deployment.js";
import { cli } from "./command-line.js";
import { plantedToken, startPlanted } from "./planted-server.js";

describe.concurrent("call", () => {
  it.each(["A", "B"] as const)("listDevices on Variant %s prints the devices as JSON", async (variant) => {
    const { env, close } = await startDeployment({ variants: [variant] });
    const result = await cli(["call", "listDevices"], env);
    await close();
    expect(result.code).toBe(0);
    expect(JSON.parse(result.stdout)).toHaveLength(3);
    expect(result.stderr).toBe("");
    expect(leaksOf(result)).toEqual([]);
  });

  it("exits 6 for an empty 403, with the three causes of the description", async () => {
    const { env, close } = await startDeployment({ variants: ["A"], scopes: [] });
    const [people, script] = await Promise.all([
      cli(["call", "listDevices"], env),
      cli(["call", "listDevices", "--json"], env),
    ]);
    await close();
    expect(people).toMatchObject({ code: 6, stdout: "" });
    expect(people.stderr).toContain("error api_forbidden: ");
    expect(people.stderr).toContain("3. The plugin is restricted to specific devices");
    expect(script).toMatchObject({ code: 6, stderr: "" });
    const { error } = JSON.parse(script.stdout);
    expect(error).toMatchObject({
      code: "api_forbidden",
      status: 403,
      operationId: "listDevices",
      exitCode: 6,
    });
    expect(error.causes.map(({ id }: { id: string }) => id)).toEqual([
      "scope_missing",
      "grant_narrowed",
      "device_restricted",
    ]);
    expect(leaksOf(people)).toEqual([]);
    expect(leaksOf(script)).toEqual([]);
  });

  it("sends parameters, headers, envelope and body where they belong", async () => {
    const { env, requests, close } = await startPlanted((response) => response.end('{"done":true}'));
    const options = [
      "--param",
      "page=2",
      "--param",
      "tag=a",
      "--param",
      "tag=b=c",
      "--header",
      "X-Trace: t:1",
    ];
    const body = ["--envelope", "full"];
    const result = await cli(["call", "listDevices", ...options, ...body], env);
    close();
    expect(result).toMatchObject({ code: 0 });
    expect(JSON.parse(result.stdout)).toEqual({ done: true });
    const [sent] = requests;
    expect(sent?.request.url).toBe("/v1/devices?page=2&tag=a&tag=b%3Dc");
    expect(sent?.request.headers).toMatchObject({
      "x-trace": "t:1",
      "x-envelope": "full",
      authorization: `Bearer ${plantedToken}`,
    });
    expect(leaksOf(result, [plantedToken])).toEqual([]);
  });

  it("shows the body of a refusal with control characters escaped", async () => {
    const said = JSON.stringify({ why: "no such page\u009b2J\u202e" });
    const { env, close } = await startPlanted((response) => response.writeHead(422).end(said));
    const result = await cli(["call", "listDevices"], env);
    close();
    expect(result.code).toBe(6);
    expect(result.stderr).toContain('The answer: {"why":"no such page\\u009b2J\\u202e"}');
  });

  it("does not show the body of a refusal that repeats the token", async () => {
    const said = JSON.stringify({ got: `Bearer ${plantedToken}` });
    const { env, close } = await startPlanted((response) => response.writeHead(400).end(said));
    const [people, script] = await Promise.all([
      cli(["call", "listDevices"], env),
      cli(["call", "listDevices", "--json"], env),
    ]);
    close();
    for (const result of [people, script]) {
      expect(result.code).toBe(6);
      expect(leaksOf(result, [plantedToken])).toEqual([]);
    }
    expect(JSON.parse(script.stdout).error.body).toBe("(not shown: it repeats a secret)");
  });

  it("does not show the body of a refusal that is very long", async () => {
    const { env, close } = await startPlanted((response) =>
      response.writeHead(500).end(`"${"x".repeat(9_000)}"`),
    );
    const { code, stdout } = await cli(["call", "listDevices", "--json"], env);
    close();
    expect(code).toBe(6);
    expect(JSON.parse(stdout).error).toMatchObject({
      code: "api_failed",
      body: "(not shown: 9002 characters)",
    });
  });

  it("exits 2 for an unknown operation, lists the known ones, and sends nothing", async () => {
    const { env, emulator, close } = await startDeployment();
    const result = await cli(["call", "listDevicez", "--json"], env);
    await close();
    expect(result.code).toBe(2);
    const { error } = JSON.parse(result.stdout);
    expect(error.code).toBe("operation_unknown");
    expect(error.message).toContain("listDevices");
    expect(emulator.journal.entries()).toEqual([]);
  });

  const misused = [
    { name: "the token request, whose answer is a secret", args: ["requestToken"], says: "bivariant token" },
    {
      name: "a bearer in a header",
      args: ["listDevices", "--header", "Authorization: Bearer planted-in-argv"],
      says: "authorization",
    },
    {
      name: "a header without a colon",
      args: ["listDevices", "--header", "planted-in-argv"],
      says: "name:value",
    },
    {
      name: "a header with a line break",
      args: ["listDevices", "--header", "x: planted-in-argv\r\ny: z"],
      says: "name:value",
    },
    {
      name: "a parameter without a name",
      args: ["listDevices", "--param", "planted-in-argv"],
      says: "name=value",
    },
    {
      name: "a body that is not JSON",
      args: ["listDevices", "--data", "planted-in-argv"],
      says: "--data is not valid JSON",
    },
    {
      name: "a body file that is missing",
      args: ["listDevices", "--data-file", "/no/such/file"],
      says: "(ENOENT): /no/such/file",
    },
  ];
  it.each(misused)("exits 2 without repeating the value for $name", async ({ args, says }) => {
    const { env, emulator, close } = await startDeployment();
    const result = await cli(["call", ...args], env);
    await close();
    expect(result).toMatchObject({ code: 2, stdout: "" });
    expect(result.stderr).toContain(says);
    expect(leaksOf(result, ["planted-in-argv"])).toEqual([]);
    expect(emulator.journal.entries()).toEqual([]);
  });

  it("does not show a body file that is not JSON", async () => {
    const { env, folder, close } = await startDeployment();
    const file = join(folder, "body");
    await writeFile(file, "planted-in-file");
    const result = await cli(["call", "listDevices", "--data-file", file], env);
    await close();
    expect(result.code).toBe(2);
    expect(result.stderr).toContain("--data-file is not valid JSON");
    expect(leaksOf(result, ["planted-in-file"])).toEqual([]);
  });
});
