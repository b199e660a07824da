// An aborted connect does not wait for a lazy module, which may arrive over a slow network.
import { expect, test, vi } from "vitest";
import { createConnector } from "../../src/index.js";
import { account, plugin } from "../support/deployment.js";
import { rejectionOf } from "../support/wait.js";

const loading = vi.hoisted(() => ({ hasBegun: false }));
vi.mock("../../src/choose-variant.js", () => {
  loading.hasBegun = true;
  return new Promise(() => {});
});

test("an abort ends the wait for the module that chooses the variant", async () => {
  const asked: string[] = [];
  const fetch = async (url: string) => {
    asked.push(url);
    return new Response(null, { status: 404 });
  };
  const connector = createConnector({ credentials: [plugin(), account()], fetch });
  const controller = new AbortController();
  const { signal } = controller;
  const target = { baseUrl: "https://service.example", tenantId: "acme", signal };
  const rejection = rejectionOf(connector.connect(target));
  await expect.poll(() => loading.hasBegun).toBe(true);
  const reason = new Error("enough");
  controller.abort(reason);
  expect(await rejection).toBe(reason);
  expect(asked).toEqual([]);
});
