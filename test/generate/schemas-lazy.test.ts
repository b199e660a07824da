/** The generated schemas are built when they are asked for, once, and stay out of zod's global registry. */
import { beforeEach, expect, test, vi } from "vitest";

const built = vi.hoisted(() => ({ count: 0 }));

vi.mock("zod", async (importOriginal) => {
  const original = await importOriginal<typeof import("zod")>();
  const fromJSONSchema: typeof original.z.fromJSONSchema = (...args) => {
    built.count += 1;
    return original.z.fromJSONSchema(...args);
  };
  return { ...original, z: { ...original.z, fromJSONSchema } };
});

beforeEach(() => {
  built.count = 0;
  vi.resetModules();
});

test("importing builds none", async () => {
  await import("../../generated/schemas.js");
  expect(built.count).toBe(0);
});

test("asking twice builds one and gives the same", async () => {
  const { schemas } = await import("../../generated/schemas.js");
  const first = schemas.A.operations.requestToken.responses[200]();
  expect(schemas.A.operations.requestToken.responses[200]()).toBe(first);
  expect(built.count).toBe(1);
});

test("building leaves the global registry alone", async () => {
  const { z } = await import("zod");
  const { schemas } = await import("../../generated/schemas.js");
  expect(z.globalRegistry.get(schemas.B.components.TokenRequest())).toBeUndefined();
});
