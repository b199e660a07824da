/** A caller's signal may live as long as the process: calls leave nothing on it. */
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { createAuth, createService, serviceAccount } from "../../src/index.js";

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
