// A long test of logins: anyone can start one, so there is a limit on those that wait in memory.
import { expect, test } from "vitest";
import { createBackend } from "../../src/backend/index.js";
import { launching, loginCredential, OWN } from "./rig.js";
import { TestBrowser } from "./test-browser.js";

test("beyond ten thousand pending logins in memory the oldest is forgotten", async () => {
  const fetch = async () => Response.json({ access_token: "t" });
  const deployments = [{ ...launching(), login: loginCredential() }];
  const backend = createBackend({ deployments, fetch, onError: () => {} });
  async function started(): Promise<() => Promise<number>> {
    const browser = new TestBrowser(backend, OWN);
    const { headers } = await browser.get("/auth/login");
    const state = new URL(headers.get("location") ?? "").searchParams.get("state");
    return async () => (await browser.get(`/auth/callback?code=c&state=${state}`)).status;
  }
  const [oldest, second] = [await started(), await started()];
  for (let others = 0; others < 9_999; others++) await backend(new Request(`${OWN}/auth/login`));
  expect([await oldest(), await second()]).toEqual([400, 303]);
});
