// `bivariant emulate` while it serves: what it prints the page shows too, and the seed file is the whole truth.
import { mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Running, startCli } from "./command-line.js";

let temporary: string;
beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), "emulate-serving-"));
});
afterAll(() => rm(temporary, { recursive: true, force: true }));

interface Serving extends Running {
  readonly url: string;
}

async function serving(...args: string[]): Promise<Serving> {
  const running = startCli(["emulate", ...args], { TMPDIR: temporary });
  onTestFinished(async () => {
    running.child.kill("SIGTERM");
    await running.ended;
  });
  await running.seen(/Ctrl-C ends it/);
  const [, url = ""] = await running.seen(/^export BIVARIANT_BASE_URL=(\S+)$/m);
  return { ...running, url };
}

const TOKEN_PATH_A = "/api/v1/acme/external-plugin/oauth/token";

describe.skipIf(process.platform === "win32")("emulate", () => {
  it("prints each request once, and leaves the journal and the customer log to the page", async () => {
    const { url, seen, child, ended } = await serving();
    const body = new URLSearchParams({ grant_type: "password" });
    expect((await fetch(url + TOKEN_PATH_A, { method: "POST", body })).status).toBe(400);
    await seen(/ {2}token-request\.grant-type \(section /);
    await fetch(`${url}/v1/devices`);
    await seen(/ GET \/v1\/devices 401/);
    const page = async (name: string) => (await fetch(`${url}/_emulator/live/${name}`)).text();
    expect(await page("log")).toContain("token-request.grant-type");
    expect(await page("journal")).toContain(TOKEN_PATH_A);
    expect(await page("activity")).toContain("/v1/devices");
    child.kill("SIGTERM");
    const { stdout } = await ended;
    expect(stdout.match(/ POST \/api\/v1\/acme\//g)).toHaveLength(1);
    expect(stdout.match(/token-request\.grant-type/g)).toHaveLength(1);
    expect(stdout.match(/ GET \/v1\/devices 401/g)).toHaveLength(1);
  });

  it("takes options back that the watched file no longer names, and serves what it then prints", async () => {
    const folder = await mkdtemp(join(tmpdir(), "seed-test-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, "tenant.yaml");
    const seed = `serviceAccounts:
  - { clientId: robot, clientSecret: not-a-secret, tenantId: acme }
plugins:
  - { clientId: nightly, tenantId: acme, type: service }
`;
    await writeFile(
      file,
      `${seed}options:
  variants: [B]
  tokenResponseExtras: { token_type: extra }
  rateLimit: { requests: 1, windowSeconds: 600 }
  rules: { token-request.grant-type: false }
`,
    );
    const { url, seen } = await serving("--seed-file", file, "--watch");
    const tokenOfB = async () => {
      const headers = { "content-type": "application/json" };
      const credentials = { client_id: "robot", client_secret: "not-a-secret" };
      const body = JSON.stringify({ grant_type: "client_credentials", ...credentials });
      return (await fetch(`${url}/v1/auth/token`, { method: "POST", headers, body })).json();
    };
    const unsupported = () =>
      fetch(url + TOKEN_PATH_A, { method: "POST", body: new URLSearchParams({ grant_type: "password" }) });
    expect(Object.keys(await tokenOfB())).toEqual(["access_token", "token_type"]);
    expect((await unsupported()).status).toBe(404);

    await writeFile(file, seed);
    await seen(/Read .*tenant\.yaml again/);
    await seen(/^export BIVARIANT_A_CLIENT_ID=nightly$/m);
    expect(Object.keys(await tokenOfB())).toEqual(["access_token"]);
    for (let count = 0; count < 2; count++) {
      const answer = await unsupported();
      expect([answer.status, await answer.json()]).toMatchObject([400, { error: "unsupported_grant_type" }]);
    }
  });

  describe("--watch", () => {
    const seed = (account: string) =>
      `serviceAccounts: [{ clientId: ${account}, clientSecret: not-a-secret, tenantId: acme }]\n`;
    const folderForTest = async () => {
      const folder = await mkdtemp(join(tmpdir(), "seed-test-"));
      onTestFinished(() => rm(folder, { recursive: true, force: true }));
      return folder;
    };

    it("goes on serving where its private files are gone, and says so", async () => {
      const file = join(await folderForTest(), "tenant.yaml");
      await writeFile(file, seed("first"));
      const { url, seen } = await serving("--seed-file", file, "--watch");
      const ours = (await readdir(temporary)).filter((name) => name.startsWith("bivariant-"));
      for (const name of ours) await rm(join(temporary, name), { recursive: true });
      await writeFile(file, seed("second"));
      await seen(/Read .*tenant\.yaml again/);
      await seen(/Its environment cannot be written:\n.*ENOENT/);
      expect((await fetch(`${url}/v1/devices`)).status).toBe(401);
    });

    it("sees what a link leads to, and a folder that takes another's place", async () => {
      const folder = await folderForTest();
      for (const [name, account] of [
        ["one", "first"],
        ["two", "third"],
      ] as const) {
        await mkdir(join(folder, name));
        await writeFile(join(folder, name, "tenant.yaml"), seed(account));
      }
      await symlink("one", join(folder, "current"));
      await symlink(join("current", "tenant.yaml"), join(folder, "tenant.yaml"));
      const { seen } = await serving("--seed-file", join(folder, "tenant.yaml"), "--watch");
      await writeFile(join(folder, "one", "tenant.yaml"), seed("second"));
      await seen(/^export BIVARIANT_B_CLIENT_ID=second$/m);
      await symlink("two", join(folder, "next"));
      await rename(join(folder, "next"), join(folder, "current"));
      await seen(/^export BIVARIANT_B_CLIENT_ID=third$/m);
      await rename(join(folder, "two"), join(folder, "old"));
      await mkdir(join(folder, "two"));
      await writeFile(join(folder, "two", "tenant.yaml"), seed("fourth"));
      await seen(/^export BIVARIANT_B_CLIENT_ID=fourth$/m);
      await writeFile(join(folder, "two", "tenant.yaml"), seed("fifth"));
      await seen(/^export BIVARIANT_B_CLIENT_ID=fifth$/m);
    });

    it("says what only another start can change", async () => {
      const file = join(await folderForTest(), "tenant.yaml");
      await writeFile(file, seed("first"));
      const { seen } = await serving("--seed-file", file, "--watch");
      await writeFile(file, `${seed("first")}options: { publicUrl: "https://other.example" }\n`);
      await seen(/Until the next start stays what it was: publicUrl\./);
    });
  });
});
