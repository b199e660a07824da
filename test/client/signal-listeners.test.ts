/** A caller's signal may live as long as the process: calls leave nothing on it. */
import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { createAuth, createService, serviceAccount } from "../../src/index.js";
import { rejectionOf } from "../support/wait.js";

function service() {
  const fetch = async (url: string) =>
    url.endsWith("/token") ? Response.json({ access_token: "t" }) : Response.json([]);
  const credential = serviceAccount({ clientId: "reports", clientSecret: "not a secret" });
  return createService(createAuth({ baseUrl: "https://service.example", credential, fetch }));
}

test("call leaves no listener on a caller's signal", async () => {
  const { signal } = new AbortController();
  const one = service();
  for (let i = 0; i < 20; i++) await one.call("listDevices", { signal });
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

test("fetch leaves one listener for all calls, and an abort still ends every body", async () => {
  const controller = new AbortController();
  const seen: AbortSignal[] = [];
  const credential = serviceAccount({ clientId: "reports", clientSecret: "not a secret" });
  const fetch = async (url: string, init?: RequestInit) => {
    if (url.endsWith("/token")) return Response.json({ access_token: "t" });
    if (init?.signal) seen.push(init.signal);
    return new Response("body");
  };
  const one = createService(createAuth({ baseUrl: "https://service.example", credential, fetch }));
  for (let i = 0; i < 20; i++) await one.fetch("v1/anything", { signal: controller.signal });
  expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
  controller.abort("enough");
  expect(seen.map(({ aborted, reason }) => aborted && reason)).toEqual(Array(20).fill("enough"));
});

describe("a crowd that waits on one signal", () => {
  const crowd = Array.from({ length: 50 }, (_, index) => index);

  /** Answers nothing until it is let go. */
  function heldService(held: "token" | "api") {
    let letGo = () => {};
    const isLetGo = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    let waiting = 0;
    const fetch = async (url: string) => {
      const isToken = url.endsWith("/token");
      if (isToken === (held === "token")) {
        waiting++;
        await isLetGo;
      }
      return isToken ? Response.json({ access_token: "t" }) : Response.json([]);
    };
    const credential = serviceAccount({ clientId: "reports", clientSecret: "not a secret" });
    const one = createService(createAuth({ baseUrl: "https://service.example", credential, fetch }));
    return { one, letGo, isWaitedFor: (count: number) => expect.poll(() => waiting).toBe(count) };
  }

  const waits = [
    { name: "for one token", held: "token", requests: 1 },
    { name: "for its calls", held: "api", requests: 50 },
  ] as const;
  test.each(waits)("$name hangs one listener on it, and leaves none", async ({ held, requests }) => {
    const { signal } = new AbortController();
    const { one, letGo, isWaitedFor } = heldService(held);
    const calls = crowd.map(() => one.call("listDevices", { signal }));
    await isWaitedFor(requests);
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    letGo();
    expect((await Promise.all(calls)).every(({ ok }) => ok)).toBe(true);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  test.each(waits)("$name is let go by its abort, and another crowd is not", async ({ held, requests }) => {
    const leaving = new AbortController();
    const staying = new AbortController();
    const { one, letGo, isWaitedFor } = heldService(held);
    const call = ({ signal }: AbortController) => one.call("listDevices", { signal });
    const gone = crowd.map(() => rejectionOf(call(leaving)));
    const there = crowd.map(() => call(staying));
    await isWaitedFor(held === "token" ? 1 : 2 * requests);
    leaving.abort("enough");
    expect(new Set(await Promise.all(gone))).toEqual(new Set(["enough"]));
    letGo();
    expect((await Promise.all(there)).every(({ ok }) => ok)).toBe(true);
  });
});
