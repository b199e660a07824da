// What the emulator tells of an unknown member: the known ones at that place, unless it is a slip of the pen.
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createEmulator } from "../../src/emulator/index.js";
import { isNearly, knownMembers } from "../../src/emulator/known-members.js";

describe("a name is nearly a known one", () => {
  const known = ["clientId", "clientSecret", "tenantId", "scopes", "at"];
  test.each([
    { name: "scopes", nearly: true },
    { name: "scope", nearly: true },
    { name: "Scopes", nearly: true },
    { name: "client_id", nearly: true },
    { name: "secret", nearly: true },
    { name: "tenant", nearly: true },
    { name: "cleintId", nearly: true },
    { name: "clientSecretopensesame", nearly: false },
    { name: "opensesame", nearly: false },
    { name: "id", nearly: false },
    { name: "it", nearly: false },
    { name: "", nearly: false },
  ])("$name: $nearly", ({ name, nearly }) => {
    expect(isNearly(name, known)).toBe(nearly);
  });
});

test("the known members are found through lists, records, alternatives and defaults", () => {
  const inner = z.strictObject({ a: z.string(), b: z.string().optional() });
  const schema = z
    .strictObject({
      list: z.array(inner).optional(),
      record: z.record(z.string(), inner.nullable()),
      either: z.union([inner, z.strictObject({ c: z.number(), a: z.number() }), z.literal(false)]),
      defaulted: inner.default({ a: "x" }),
      piped: inner.transform(({ a }) => a),
    })
    .refine(() => true);
  const members = ["list", "record", "either", "defaulted", "piped"];
  expect(knownMembers(schema, [])).toEqual(members);
  for (const path of [["list", 3], ["record", "x"], ["defaulted"], ["piped"]]) {
    expect(knownMembers(schema, path)).toEqual(["a", "b"]);
  }
  expect(knownMembers(schema, ["either"])).toEqual(["a", "b", "c"]);
  for (const path of [["list"], ["record"], ["none"], ["list", 0, "a"]]) {
    expect(knownMembers(schema, path)).toEqual([]);
  }
});

test("an unknown member comes with the known ones, a slip of the pen without", () => {
  const emulator = createEmulator();
  const register = (more: object) =>
    emulator.registerServiceAccount({ clientId: "c", clientSecret: "s", tenantId: "t", ...more });
  expect(() => register({ colour: 1 })).toThrow(
    expect.objectContaining({
      issues: ['Unrecognized key: "colour"; known are clientId, clientSecret, tenantId, scopes'],
    }),
  );
  expect(() => register({ scope: [] })).toThrow(
    expect.objectContaining({ issues: ['Unrecognized key: "scope"'] }),
  );
});
