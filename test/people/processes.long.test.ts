// Two processes share one login in an encrypted file: across an expiry they refresh once, even if one of them is killed.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { resumeAuth } from "../../src/index.js";
import { fileStore } from "../../src/stores/file.js";
import { START } from "../support/clock.js";
import { recordingServer, type Script } from "../support/recording-server.js";
import { rejectionOf } from "../support/wait.js";
import { client, latch, loggedIn } from "./person.js";
import { startRefreshing } from "./start-refreshing.js";

/** A login in an encrypted store, and the settings of a process that shares it when its token has expired. */
async function loginInFile(script: Script) {
  const folder = mkdtempSync(join(tmpdir(), "login-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "grants");
  const key = randomBytes(32).toString("base64");
  const { url } = await recordingServer(script);
  const store = fileStore(path, { key, clock: { now: () => START } });
  const { options } = await loggedIn({ store, options: { baseUrl: url, fetch: undefined } });
  return { options, settings: { urls: [url], path, key, client, calls: 25, now: START + 3_600_000 } };
}

test("50 concurrent calls of two processes across an expiry send one refresh", async () => {
  let live = "refresh-token-1";
  let refreshes = 0;
  const { settings } = await loginInFile(({ body }) => {
    const { refresh_token } = JSON.parse(body) as { refresh_token?: string };
    // With rotation a second use of a refresh token ends the login.
    if (refresh_token !== undefined && refresh_token !== live)
      return { status: 400, body: '{"error":"invalid_grant"}' };
    if (refresh_token !== undefined) live = `refresh-token-${++refreshes + 1}`;
    const access_token = `access-token-${refreshes + 1}`;
    return { status: 200, body: JSON.stringify({ access_token, refresh_token: live }) };
  });
  const outputs = await Promise.all([1, 2].map(() => startRefreshing(settings).outcomes()));
  expect(outputs.flat(2)).toEqual(Array(52).fill("access-token-2"));
  expect(refreshes).toBe(1);
});

test("after a process was killed during a refresh the refresh token is not sent again, and not deleted", async () => {
  const sent = latch();
  let refreshes = 0;
  const { options, settings } = await loginInFile(({ body }) => {
    if (JSON.parse(body).refresh_token === undefined)
      return { status: 200, body: JSON.stringify({ access_token: "first", refresh_token: "only-once" }) };
    refreshes++;
    sent.release();
    return "silence";
  });
  const { child } = startRefreshing(settings);
  await sent.promise;
  child.kill("SIGKILL");
  const auth = await resumeAuth({
    ...options,
    fetch: undefined,
    clock: { now: () => settings.now },
    timeoutMs: 500,
  });
  for (let calls = 0; calls < 2; calls++)
    expect(await rejectionOf(auth?.getAccessToken() ?? Promise.resolve())).toMatchObject({
      ...{ name: "LoginRequiredError", code: "login_outcome_unknown" },
    });
  expect(refreshes).toBe(1);
  expect(await resumeAuth(options)).toBeDefined();
}, 20_000);
