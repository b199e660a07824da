// A small tree in which each kind of edge and use is broken once, and the finding that names it.
import { describe, expect, test } from "vitest";
import { checkLayers } from "../../scripts/check-layers.js";
import { plant, type Tree } from "./planted-tree.js";

const packages = ["jose", "zod", "hono", "oauth4webapi", "openapi-fetch", "commander"];
const MANIFEST = JSON.stringify({
  name: "bivariant",
  dependencies: Object.fromEntries(packages.map((name) => [name, "*"])),
  peerDependencies: { typescript: "5" },
});

const value = (specifier: string) => `export * from "${specifier}";\n`;
const type = (specifier: string) => `export type * from "${specifier}";\n`;
const lazy = (specifier: string) => `export const late = () => import("${specifier}");\n`;
const inline = (specifier: string) => `export type T = typeof import("${specifier}");\n`;

/** A tree that keeps every rule. */
const SOUND: Tree = {
  "package.json": MANIFEST,
  "src/errors.ts": value("./version.js"),
  "src/version.ts": "export const version = 1;\n",
  "src/options.ts": value("./errors.js"),
  "src/http/exchange.ts": value("../options.js"),
  "src/variants/variant-a.ts": value("../http/exchange.js"),
  "src/auth/shared/token-store.ts": "export interface TokenStore { get(): string }\n",
  "src/auth/auth.ts": value("jose") + value("../variants/variant-a.js"),
  "src/client/call.ts": value("openapi-fetch") + type("../auth/shared/token-store.js"),
  "src/stores/memory.ts": type("../auth/shared/token-store.js"),
  "src/stores/file.ts": value("node:fs"),
  "src/connect.ts": value("./auth/auth.js") + value("./stores/memory.js"),
  "src/index.ts": value("./connect.js") + type("../generated/schemas.js"),
  "src/json-schema/index.ts": value("zod"),
  "src/page/index.ts": "export const page = 1;\n",
  "src/backend/handler.ts": value("../connect.js"),
  "src/backend/to-node-handler.ts": value("node:stream"),
  "src/emulator/rules.ts": value("hono") + value("http"),
  "src/emulator/internal.ts": value("./rules.js"),
  "src/contract/cases.ts": value("../emulator/rules.js"),
  "src/generate/index.ts": `const compiler = "x";\nexport const load = () => import(compiler);\n`,
  "src/cli/main.ts": value("commander") + value("../index.js") + value("../emulator/internal.js"),
  "test/fixture.ts": "export const fixture = 1;\n",
  "generated/schemas.ts": value("../src/json-schema/index.js"),
};

test("a tree that keeps every rule has no findings", () => {
  expect(checkLayers(plant(SOUND))).toEqual([]);
});

describe("it is a finding that", () => {
  const schemas = "src/json-schema/index.ts imports zod: src/index.ts may not load zod";
  const toItself =
    "imports src/cli/two.ts imports src/cli/three.ts imports src/cli/one.ts: a cycle";
  const store = "../auth/shared/token-store.js";
  const inlineType = `import { type TokenStore } from "${store}";\nexport type T = TokenStore;\n`;
  const computed = `const where = "../a.js";\nexport const late = () => import(where);\n`;
  const rows: [file: string, text: string, finding: string][] = [
    ["src/auth/a.ts", value("../client/call.js"), "src/client/call.ts: auth may not import client"],
    ["src/auth/b.ts", lazy("../client/call.js"), "src/client/call.ts: auth may not import client"],
    ["src/auth/c.ts", type("../client/call.js"), "src/client/call.ts: auth may not import client"],
    ["src/auth/d.ts", inline("../client/call.js"), "auth may not import client"],
    ["src/client/a.ts", inlineType, "client may import only types of it (import type)"],
    ["src/client/b.ts", value("jose"), "imports jose: client may not import jose"],
    ["src/connector.ts", value("./stores/file.js"), "the top level may not import stores"],
    ["src/emulator/a.ts", value("../errors.js"), "emulator may not import errors.ts"],
    ["src/auth/e.ts", value("crypto"), "imports node:crypto: auth may not import node:crypto"],
    ["src/cli/a.ts", lazy("../emulator/rules.js"), "cli may not import emulator"],
    ["src/cli/b.ts", value("../../test/fixture.js"), "src may not import test"],
    ["src/cli/c.ts", value("bivariant/page"), "sources import each other by relative paths"],
    ["src/generate/a.ts", value("openapi-typescript"), "declares it neither a dependency nor a pe"],
    ["src/cli/d.ts", value("./gone.js"), "imports src/cli/gone.js: the file does not exist"],
    ["src/auth/f.ts", computed, "imports a computed path, which this check cannot follow"],
    ["src/misc/a.ts", "export const a = 1;\n", "belongs to no layer: give its folder a row"],
    ["src/cli/one.ts", type("./two.js"), toItself],
  ];

  const cycle = { "src/cli/two.ts": value("./three.js"), "src/cli/three.ts": value("./one.js") };
  const planted = Object.fromEntries(rows.map(([file, text]) => [file, text]));
  const findings = checkLayers(plant({ ...SOUND, ...cycle, ...planted }));

  const expected = rows.map(([file, , finding]) => ({ file, finding }));
  test.each(expected)("$file breaks a rule: $finding", ({ file, finding }) => {
    const found = findings.filter((text) => text.startsWith(file));
    expect(found).toEqual([expect.stringContaining(finding)]);
  });

  test("and nothing else is", () => {
    expect(findings).toHaveLength(rows.length);
  });

  test.each([
    ["another module", value("./variants/checked.js"), "src/variants/checked.ts imports "],
    ["a lazy import", lazy("../generated/schemas.js"), ""],
  ])("zod is within reach of the main entry, by %s", (_, index, by) => {
    const checked = { "src/variants/checked.ts": value("../../generated/schemas.js") };
    const found = checkLayers(plant({ ...SOUND, ...checked, "src/index.ts": index }));
    expect(found).toEqual([`src/index.ts imports ${by}generated/schemas.ts imports ${schemas}`]);
  });
});

describe("time and randomness", () => {
  const uses: [code: string, name: string][] = [
    ["export const late = Date.now();", "Date.now"],
    ["export const late = new Date();", "new Date()"],
    ["export const late = new Date;", "new Date"],
    ["export const late = performance.now();", "performance.now"],
    ["export const late = Math.random();", "Math.random"],
    ["export const late = AbortSignal.timeout(5);", "AbortSignal.timeout"],
    ["export const late = () => globalThis.setTimeout(late, 5);", "setTimeout"],
    ["export const late = [setInterval];", "setInterval"],
    [`export const late = Date["now"]();`, "Date.now"],
    ["export const late = Date?.now();", "Date.now"],
    ["export const late = Date();", "Date()"],
    ["export const { now: late } = performance;", "performance.now"],
    ["export const { setTimeout: late } = globalThis;", "setTimeout"],
    ["export const late = { Math };", "Math"],
    [`export const late = import("node:timers/promises");`, "node:timers/promises"],
    [`export * from "perf_hooks";`, "perf_hooks"],
  ];
  const code = uses.map(([text]) => text.replace("late", "x")).join("\n");
  const named = uses.map(
    ([, name], index) => `:${index + 1} uses ${name}, and not that of the clock (src/clock.ts)`,
  );

  test("of the machine are findings, in every way to name them", () => {
    // This file may use builtins of Node.
    const file = "src/backend/to-node-handler.ts";
    const found = checkLayers(plant({ ...SOUND, [file]: code }));
    expect(found).toEqual(named.map((finding) => file + finding));
  });

  test.each(["src/auth/late.ts", "src/late.ts", "src/stores/late.ts"])(
    "of the machine are findings in every layer that has a clock: %s",
    (file) => {
      const found = checkLayers(plant({ ...SOUND, [file]: "export const x = Date.now();\n" }));
      expect(found).toEqual([file + named[0]]);
    },
  );

  test.each(["src/clock.ts", "src/stores/file-lock.ts", "src/page/late.ts", "src/cli/late.ts"])(
    "of the machine may be used by %s",
    (file) => {
      // Without the imports at the end, which other rules forbid there.
      const text = code.split("\n").slice(0, -2).join("\n");
      expect(checkLayers(plant({ ...SOUND, [file]: text }))).toEqual([]);
    },
  );

  test("of a clock's own members are no finding", () => {
    const text = `interface Clock { now(): number; setTimeout(task: () => void): void }
export const late = (clock: Clock, given: Date) => {
  // setTimeout and Date.now() in a comment
  const other: Clock = { now: () => clock.now(), setTimeout: (task) => clock.setTimeout(task) };
  const { setTimeout: set } = other;
  const isDate = given instanceof Date && Math.max(Date.UTC(2026, 0), Date.parse("2026"));
  return [set, new Date(clock.now()), isDate, "Date.now()"];
};
`;
    expect(checkLayers(plant({ ...SOUND, "src/auth/late.ts": text }))).toEqual([]);
  });
});

test("a lazy import is not part of a cycle", () => {
  const tree = { "src/auth/one.ts": value("./two.js"), "src/auth/two.ts": lazy("./one.js") };
  expect(checkLayers(plant({ ...SOUND, ...tree }))).toEqual([]);
});

test("a tree without sources is a finding", () => {
  const root = plant({ "package.json": MANIFEST });
  expect(checkLayers(root)).toEqual([`${root} has no sources in src/ or generated/`]);
});
