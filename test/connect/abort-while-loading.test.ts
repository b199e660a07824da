// An aborted connect does not wait for a lazy module, which may arrive over a slow network.
import { expect, test, vi } from "vitest";
import { createConnector } from "../../src/index.js";
import { account, plugin } from "../support/deployment.js";

// Nothing from support/wait.js or clock.js here: these load the module below at once.
const loading = vi.hoisted(() => ({ hasBegun: false }));
vi.mock("../support/load-at-once.js", () => ({}));
vi.mock("../../src/choose-variant.js", () => {
  loading.hasBegun = true;
  return new Promise(() => {});
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
