// Neither an aborted connect nor an aborted call waits for a lazy module, which may arrive over a
// slow network.
import { beforeEach, expect, test, vi } from "vitest";
import { createConnector } from "../../src/index.js";
import { account, plugin } from "../support/deployment.js";

// A process of its own: it replaces modules. Nothing from support/wait.js or clock.js here: these
// load the module below at once.
const loading = vi.hoisted(() => ({ hasBegun: false }));
vi.mock("../support/load-at-once.js", () => ({}));
vi.mock("../../src/choose-variant.js", () => {
  loading.hasBegun = true;
  return new Promise(() => {});
});

vi.mock("../../src/client/call-diagnosis.js", () => {
  loading.hasBegun = true;
  return new Promise(() => {});
});

beforeEach(() => {
  loading.hasBegun = false;
});

test("an abort ends the wait for the module that explains a refused call", async () => {
  const fetch = async (url: string) =>
    url.endsWith("/token")
      ? Response.json({ access_token: "token" })
      : new Response(null, { status: 403 });
  const connector = createConnector({ credentials: [plugin()], fetch });
  const service = await connector.connect({ baseUrl: "https://service.example", tenantId: "acme" });
  const controller = new AbortController();
  const calling = service.call("listDevices", { signal: controller.signal });
  await expect.poll(() => loading.hasBegun).toBe(true);
  const reason = new Error("enough");
  controller.abort(reason);
  await expect(calling).rejects.toBe(reason);
});

test("an abort ends the wait for the module that chooses the variant", async () => {
  const urls: string[] = [];
  const fetch = async (url: string) => {
    urls.push(url);
    return new Response(null, { status: 404 });
  };
  const connector = createConnector({ credentials: [plugin(), account()], fetch });
  const controller = new AbortController();
  const { signal } = controller;
  const target = { baseUrl: "https://service.example", tenantId: "acme", signal };
  const connecting = connector.connect(target);
  await expect.poll(() => loading.hasBegun).toBe(true);
  const reason = new Error("enough");
  controller.abort(reason);
  await expect(connecting).rejects.toBe(reason);
  expect(urls).toEqual([]);
});
