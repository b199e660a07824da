// What a connector keeps of detections in its own memory is bounded.
import { expect, test } from "vitest";
import { createConnector } from "../../src/index.js";
import { account, deployment, plugin } from "../support/deployment.js";

test("a connector keeps the detections of at most maxTenants tenants in memory, those that were used last", async () => {
  const { fetch } = deployment({ tenants: ["acme", "other"] });
  const asked: unknown[] = [];
  const connector = createConnector({
    credentials: [plugin(), account()],
    maxTenants: 1,
    fetch,
    onEvent: (event) => event.type === "variant_detected" && asked.push(event.tenantId),
  });
  for (const tenantId of ["acme", "acme", "other", "acme"])
    await connector.connect({ baseUrl: "http://service.localhost", tenantId });
  expect(asked).toEqual(["acme", "other", "acme"]);
});
