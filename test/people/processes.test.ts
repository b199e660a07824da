// Two processes share one login in an encrypted file: across an expiry they refresh once, even if one of them is killed.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { resumeAuth } from "../../src/index.js";
import { fileStore } from "../../src/stores/file.js";
import { START } from "../support/clock.js";
import { recordingServer } from "../support/recording-server.js";
import { rejectionOf } from "../support/wait.js";
import { client, loggedIn } from "./person.js";

const program = fileURLToPath(new URL("refresh-process.ts", import.meta.url));

function start(settings: object) {
  const child = spawn(process.execPath, ["--import", "tsx", program], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(JSON.stringify(settings));
  return child;
}

function run(settings: object): Promise<string[]> {
  const child = start(settings);
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", () => resolve(JSON.parse(output || "[]")));
  });
}

test("50 concurrent calls of two processes across an expiry send one refresh", async () => {
  const folder = mkdtempSync(join(tmpdir(), "login-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "grants.json");
  const key = randomBytes(32).toString("base64");
  let live = "refresh-token-1";
  let refreshes = 0;
  const { url } = await recordingServer(({ body }) => {
    const fields = JSON.parse(body) as { refresh_token?: string };
    if (fields.refresh_token === undefined)
      return { status: 200, body: JSON.stringify({ access_token: "access-token-1", refresh_token: live }) };
    refreshes++;
    // With rotation a second use of a refresh token ends the login.
    if (fields.refresh_token !== live)
      return { status: 400, body: JSON.stringify({ error: "invalid_grant" }) };
    live = `refresh-token-${refreshes + 1}`;
    return {
      status: 200,
      body: JSON.stringify({ access_token: `access-token-${refreshes + 1}`, refresh_token: live }),
    };
  });
  const store = fileStore(path, { key, now: () => START });
  await loggedIn({ store, options: { baseUrl: url, fetch: undefined } });

  const settings = { url, path, key, client, now: START + 3_600_000 };
  const tokens = (await Promise.all([run(settings), run(settings)])).flat();
  expect(tokens).toHaveLength(50);
  expect(new Set(tokens)).toEqual(new Set(["access-token-2"]));
  expect(refreshes).toBe(1);
});

test("after a process was killed during a refresh the refresh token is not sent again, and not deleted", async () => {
  const folder = mkdtempSync(join(tmpdir(), "login-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "grants.json");
  const key = randomBytes(32).toString("base64");
  let sent = () => {};
  const isSent = new Promise<void>((resolve) => {
    sent = resolve;
  });
  let refreshes = 0;
  const { url } = await recordingServer(({ body }) => {
    if (JSON.parse(body).refresh_token === undefined)
      return { status: 200, body: JSON.stringify({ access_token: "first", refresh_token: "only-once" }) };
    refreshes++;
    sent();
    return "silence";
  });
  const now = START + 3_600_000;
  const store = fileStore(path, { key, now: () => START });
  const { options } = await loggedIn({ store, options: { baseUrl: url, fetch: undefined } });
  const child = start({ url, path, key, client, now });
  await isSent;
  child.kill("SIGKILL");
  const auth = await resumeAuth({ ...options, fetch: undefined, now: () => now, timeoutMs: 500 });
  for (let calls = 0; calls < 2; calls++)
    expect(await rejectionOf(auth?.getAccessToken() ?? Promise.resolve())).toMatchObject({
      ...{ name: "LoginRequiredError", code: "login_outcome_unknown" },
    });
  expect(refreshes).toBe(1);
  expect(await resumeAuth(options)).toBeDefined();
}, 20_000);
