// A flood of anonymous logins. When each was stored, 25 a second made a file of 2.4 MiB and a
// launch of 9.5 s.
import { expect, test } from "vitest";
import { interrupted, OWN, rig } from "../backend/rig.js";

test("200 anonymous logins at once write one key to the store, so that no launch waits for their writes", async () => {
  const written: string[] = [];
  const wrapStore = interrupted((operation, key) => {
    if (operation !== "get") written.push(key);
  });
  const { backend, launch } = rig({ wrapStore });
  const login = async () => (await backend(new Request(`${OWN}/auth/login`))).status;
  expect(new Set(await Promise.all(Array.from({ length: 200 }, login)))).toEqual(new Set([302]));
  expect(written).toEqual(["bivariant:backend:login-key"]);
  expect((await launch()).variant).toBe("A");
});

test("a write that the backend no longer waits for is dropped from the queue of the store", async () => {
  const signals: (AbortSignal | undefined)[] = [];
  const { browser, launchBody } = rig({
    timeoutMs: 250,
    wrapStore: (inner) => ({
      ...inner,
      set: (_key, _value, options) => {
        signals.push(options?.signal);
        return new Promise(() => {});
      },
    }),
  });
  expect((await browser.post("/auth/launch", launchBody())).status).toBe(503);
  expect(signals).toMatchObject([{ aborted: true }]);
});
