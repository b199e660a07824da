// What is given as a signal and is none is refused wherever one is taken, before anything is sent.
import { describe, expect, test } from "vitest";
import { connect, createConnector, detectVariant } from "../../src/index.js";
import { credentialOf, deployment } from "../support/deployment.js";
import { rejectionOf } from "../support/wait.js";

async function ways(variant: "A" | "B") {
  const { publicUrl: baseUrl, fetch, journal } = deployment({ variants: [variant] });
  const options = { credentials: [credentialOf(variant)], fetch };
  const target = { baseUrl, tenantId: "acme" };
  const service = await connect({ ...options, ...target });
  await service.auth.getAccessToken();
  journal.clear();
  const path = variant === "A" ? "api/v1/acme/devices" : "v1/devices";
  const all: { way: string; go: (signal: never) => Promise<unknown> }[] = [
    { way: "connect", go: (signal) => connect({ ...options, ...target, signal }) },
    { way: "connector.connect", go: (signal) => createConnector(options).connect({ ...target, signal }) },
    { way: "detectVariant", go: (signal) => detectVariant({ ...target, fetch, signal }) },
    { way: "call", go: (signal) => service.call("listDevices", { signal }) },
    { way: "fetch", go: (signal) => service.fetch(path, { signal }) },
  ];
  return { all, journal };
}

describe.each(["A", "B"] as const)("Variant %s", (variant) => {
  test.each([
    { signal: {} },
    { signal: 42 },
    { signal: new AbortController() },
    // Whoever waits on it could never take the listener back.
    { signal: { aborted: false, addEventListener() {} } },
  ])("signal: $signal is refused typed, and nothing is sent", async ({ signal }) => {
    const { all, journal } = await ways(variant);
    for (const { way, go } of all)
      expect(await rejectionOf(go(signal as never)), way).toMatchObject({
        name: "ConfigurationError",
        code: "option_invalid",
        option: "signal",
      });
    expect(journal.entries()).toEqual([]);
  });

  test("signal: null is none, as in a RequestInit", async () => {
    const { all } = await ways(variant);
    for (const { go } of all) await expect(go(null as never)).resolves.toBeDefined();
  });
});

test.each([undefined, null])("connector.connect(%s) is refused typed", async (target) => {
  const connector = createConnector({ credentials: [credentialOf("A")] });
  expect(await rejectionOf(connector.connect(target as never))).toMatchObject({ code: "option_invalid" });
});
