// `bivariant token`: the token on stdout and nothing else there; every way not to get one, by its exit code.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { leaksOf, startDeployment } from "./cli-deployment.js";
import { cli, startCli } from "./command-line.js";
import { plantedToken, startPlanted } from "./planted-server.js";

async function serveAll(answer: { status: number; contentType: string; body: string } | undefined) {
  const server = createServer((request, response) => {
    request.resume();
    if (answer !== undefined)
      response.writeHead(answer.status, { "content-type": answer.contentType }).end(answer.body);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

describe.concurrent("token", () => {
  it.each(["A", "B"] as const)(
    "of Variant %s stands alone on stdout; its details stand on stderr",
    async (variant) => {
      const { env, close } = await startDeployment({ variants: [variant] });
      const { code, stdout, stderr } = await cli(["token"], env);
      await close();
      expect(code).toBe(0);
      expect(stdout).toMatch(/^[\w-]{43}\n$/);
      expect(stderr).toMatch(
        new RegExp(`^Variant ${variant}, tenant acme; expires \\S+Z \\(in 3\\d\\d\\d s\\)\\.\n$`),
      );
      expect(leaksOf({ stdout: "", stderr })).toEqual([]);
    },
  );

  it("with --json is an object, its expiry in epoch milliseconds", async () => {
    const { env, close } = await startPlanted(() => {});
    const { code, stdout, stderr } = await cli(["token", "--json"], env);
    close();
    expect(code).toBe(0);
    const { expires_at, ...rest } = JSON.parse(stdout);
    expect(rest).toEqual({ access_token: plantedToken, variant: "B", tenant: null });
    expect(Math.abs(expires_at - Date.now() - 3_600_000)).toBeLessThan(60_000);
    expect(stderr).toBe("");
  });

  it("refused exits 3, with the ranked causes, their remedies and when to come again", async () => {
    const { env, close } = await startDeployment({ variants: ["A"] });
    const result = await cli(["token", "--a-client-id", "unheard-of"], env);
    await close();
    expect(result.code).toBe(3);
    expect(result.stdout).toBe("");
    expect(result.stderr).toContain("error token_refused: ");
    expect(result.stderr).toMatch(/1\. The plugin is not registered.*\n +evidence: .*\n +remedy: /);
    expect(result.stderr).toMatch(/No sooner than \d{4}-\S+Z\./);
    expect(leaksOf(result)).toEqual([]);
  });

  it("refused exits 3, with --json as an object on stdout", async () => {
    const { env, close } = await startDeployment({ variants: ["B"] });
    const wrong = {
      ...env,
      BIVARIANT_B_CLIENT_SECRET_FILE: "",
      BIVARIANT_B_CLIENT_SECRET: "planted-wrong-secret",
    };
    const result = await cli(["token", "--json"], wrong);
    await close();
    expect(result.code).toBe(3);
    const { error } = JSON.parse(result.stdout);
    expect(error).toMatchObject({
      code: "token_refused",
      name: "TokenRequestError",
      variant: "B",
      exitCode: 3,
    });
    expect(error.retryAt).toBeTypeOf("number");
    expect(leaksOf(result, ["planted-wrong-secret"])).toEqual([]);
  });

  it("rate limited past the deadline exits 3 and says when it opens", async () => {
    const { env, close } = await startDeployment({
      variants: ["A"],
      rateLimit: { requests: 1, windowSeconds: 3600 },
    });
    const result = await cli(["token"], env);
    await close();
    expect(result.code).toBe(3);
    expect(result.stderr).toMatch(/The tenant's rate limit was hit; it opens at \S+Z \(in \d+ s\)\./);
    expect(result.stderr).toContain("error rate_limited: ");
    expect(result.stderr).toMatch(/No sooner than /);
    expect(leaksOf(result)).toEqual([]);
  });

  it("exits 4 where the named variant is not served, with the evidence", async () => {
    const { env, close } = await startDeployment({ variants: ["B"] });
    const result = await cli(["token", "--variant", "A"], env);
    await close();
    expect(result.code).toBe(4);
    expect(result.stderr).toContain("error variant_not_served: ");
    expect(result.stderr).toContain("Variant B, sibling");
    expect(leaksOf(result)).toEqual([]);
  });

  it("exits 4 where the variant cannot be told", async () => {
    const { env, close } = await startDeployment();
    const { url, close: closePages } = await serveAll({
      status: 403,
      contentType: "text/html",
      body: "<p>no",
    });
    const result = await cli(["token", "--json", "--base-url", url], env);
    await close();
    closePages();
    expect(result.code).toBe(4);
    expect(JSON.parse(result.stdout).error).toMatchObject({ code: "variant_unknown" });
    expect(leaksOf(result)).toEqual([]);
  });

  it("exits 5 for an answer that the description does not know", async () => {
    const { env, close } = await startDeployment();
    const { url, close: closePages } = await serveAll({
      status: 200,
      contentType: "text/html",
      body: "<p>hi",
    });
    const result = await cli(["token", "--variant", "B", "--base-url", url], env);
    await close();
    closePages();
    expect(result.code).toBe(5);
    expect(result.stderr).toContain("error response_not_json: ");
    expect(leaksOf(result)).toEqual([]);
  });

  it.skipIf(process.platform === "win32")("interrupted while it waits exits 130 at once", async () => {
    const { env, close } = await startDeployment();
    const { url, close: closeSilent } = await serveAll(undefined);
    const running = startCli(["token", "--base-url", url], env);
    await running.seen(/Still asking which variant is served; Ctrl-C ends it\./);
    running.interrupt();
    const result = await running.ended;
    await close();
    closeSilent();
    expect(result).toMatchObject({ code: 130, stdout: "" });
    expect(result.stderr).toMatch(/Interrupted\.\n$/);
  });
});
