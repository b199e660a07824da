// Breaks every layer rule once, in a small tree, and expects the finding that names the edge.
import { posix } from "node:path";
import { expect, test } from "vitest";
import { checkLayers } from "../../scripts/check-layers.js";
import { plant, type Tree } from "./planted-tree.js";

const MANIFEST = JSON.stringify({
  name: "bivariant",
  dependencies: {
    jose: "6",
    zod: "4",
    hono: "4",
    oauth4webapi: "3",
    "openapi-fetch": "0",
    commander: "14",
  },
  peerDependencies: { typescript: "5" },
});

/** A tree that keeps every rule; each case below replaces or adds files. */
const SOUND: Tree = {
  "package.json": MANIFEST,
  "src/errors.ts": `import { version } from "./version.js";\nexport const errors = version;\n`,
  "src/version.ts": `export const version = "1";\n`,
  "src/options.ts": `export { errors as options } from "./errors.js";\n`,
  "src/http/exchange.ts": `export { options as exchange } from "../options.js";\n`,
  "src/variants/variant-a.ts":
    `import { exchange } from "../http/exchange.js";\n` + `export const a = exchange;\n`,
  "src/variants/limits.ts": "export const limit = 1;\n",
  "src/auth/shared/token-store.ts": `export interface TokenStore { get(): string }\n`,
  "src/auth/auth.ts":
    `import { SignJWT } from "jose";\nimport { a } from ` +
    `"../variants/variant-a.js";\nexport const auth = [SignJWT, a];\n`,
  "src/client/call.ts":
    `import createClient from "openapi-fetch";\nimport type { TokenStore } ` +
    `from "../auth/shared/token-store.js";\nexport const call: ` +
    `[unknown, TokenStore?] = [createClient];\n`,
  "src/stores/memory.ts":
    "import type { TokenStore } from " +
    `"../auth/shared/token-store.js";\nexport const store: TokenStore = { get: () => "" };\n`,
  "src/stores/file.ts":
    `import { readFileSync } from "node:fs";\nexport const file = ` + `readFileSync;\n`,
  "src/connect.ts":
    `import { auth } from "./auth/auth.js";\nimport { store } from ` +
    `"./stores/memory.js";\nexport const connect = [auth, store];\n`,
  "src/index.ts":
    `export { connect } from "./connect.js";\nexport type * from ` +
    `"./auth/shared/token-store.js";\nexport type * from "../generated/schemas.js";\n`,
  "src/json-schema/index.ts": `import { z } from "zod";\nexport const check = z;\n`,
  "src/validate.ts":
    `import { check } from "./json-schema/index.js";\nimport type { call } from ` +
    `"./client/call.js";\nexport const validate = (c: typeof call) => [check, c];\n`,
  "src/page/index.ts": `export const page = 1;\n`,
  "src/backend/handler.ts":
    `import { connect } from "../connect.js";\n` + `export const backend = connect;\n`,
  "src/backend/to-node-handler.ts":
    `import { Readable } from "node:stream";\nexport const to = ` + `Readable;\n`,
  "src/emulator/rules.ts":
    `import { Hono } from "hono";\nimport { createServer } from ` +
    `"http";\nexport const rules = [Hono, createServer];\n`,
  "src/internal.ts": `export { connect } from "./connect.js";\n`,
  "src/emulator/internal.ts": `export { rules } from "./rules.js";\n`,
  "src/contract/cases.ts":
    `import { rules } from "../emulator/rules.js";\nexport const ` + `cases = rules;\n`,
  "src/generate/index.ts":
    `const compiler = "typescript";\nexport const load = () => ` +
    `[import(compiler), import("typescript")];\n`,
  "src/cli/main.ts":
    `import { Command } from "commander";\nimport { connect } from ` +
    `"../index.js";\nimport { rules } from "../emulator/internal.js";\nexport const main = ` +
    `[Command, connect, rules];\n`,
  "src/http/limits.ts": "export const limit = 1;\n",
  "src/emulator/state/clock.ts": "export const clock = 1;\n",
  "test/fixture.ts": "export const fixture = 1;\n",
  "scripts/x.ts": "export const x = 1;\n",
  "generated/schemas.ts":
    `import { check } from "../src/json-schema/index.js";\nexport const ` + `schemas = check;\n`,
};

interface Row {
  readonly file: string;
  /** The specifier that the file imports. */
  readonly imports: string;
  /** The file or package that the finding names, where it is not clear from the specifier. */
  readonly to?: string;
  readonly kind?: "type" | "lazy" | "inline type";
  /** The finding, after "<file> imports <to>: ". */
  readonly finding: string;
}

const STATEMENTS = {
  value: (specifier: string) => `export * from "${specifier}";\n`,
  type: (specifier: string) => `export type * from "${specifier}";\n`,
  lazy: (specifier: string) => `export const late = () => import("${specifier}");\n`,
  "inline type": (specifier: string) => `export type T = typeof import("${specifier}");\n`,
};

type Rest = Pick<Row, "to" | "kind">;
const row = (file: string, imports: string, finding: string, rest: Rest = {}): Row => ({
  ...{ file, imports, finding },
  ...rest,
});

const ONLY_TYPES = "client may import only types of it (import type)";

const BROKEN: readonly Row[] = [
  row("src/errors.ts", "./variants/limits.js", "errors.ts may not import variants"),
  row("src/options.ts", "./http/limits.js", "options.ts may not import http"),
  row("src/http/late.ts", "../variants/limits.js", "http may not import variants"),
  row("src/variants/detect.ts", "../auth/auth.js", "variants may not import auth"),
  ...(["lazy", "type", "inline type"] as const).map((kind) =>
    row("src/auth/late.ts", "../client/call.js", "auth may not import client", { kind }),
  ),
  row("src/client/late.ts", "../auth/shared/token-store.js", ONLY_TYPES),
  row("src/client/sign.ts", "jose", "client may not import jose"),
  row("src/connector.ts", "./stores/file.js", "the top level may not import stores"),
  row("src/connector.ts", "./backend/handler.js", "the top level may not import backend", {
    kind: "type",
  }),
  row("src/stores/redis.ts", "../auth/auth.js", "stores may not import auth", { kind: "type" }),
  row("src/validate.ts", "./connect.js", "validate.ts may not import the top level"),
  row("src/page/index.ts", "../errors.js", "page may not import errors.ts"),
  row("src/page/index.ts", "zod", "page may not import zod"),
  row("src/backend/try.ts", "../emulator/rules.js", "backend may not import emulator"),
  ...Object.entries({
    ...{
      "../errors.js": "errors.ts",
      "../variants/limits.js": "variants",
      "../auth/auth.js": "auth",
    },
    ...{ "../client/call.js": "client", "../connect.js": "the top level" },
  }).map(([imports, name]) =>
    row("src/emulator/copy.ts", imports, `emulator may not import ${name}`),
  ),
  row("src/contract/cases.ts", "../emulator/state/clock.js", "contract may not import emulator"),
  row("src/generate/index.ts", "../errors.js", "generate may not import errors.ts"),
  row(
    "generated/operations.ts",
    "../src/variants/variant-a.js",
    "generated may not import variants",
    { kind: "type" },
  ),
  row("src/auth/sign.ts", "crypto", "auth may not import node:crypto", { to: "node:crypto" }),
  row("src/stores/redis.ts", "node:fs", "stores may not import node:fs"),
  row("src/backend/handler.ts", "node:stream", "backend may not import node:stream"),
  row("src/cli/demo.ts", "../connect.js", "cli may not import the top level"),
  row("src/cli/demo.ts", "../emulator/rules.js", "cli may not import emulator", { kind: "lazy" }),
  row("src/survey/demo.ts", "../internal.js", "survey may not import internal.ts"),
  row("src/cli/demo.ts", "../../test/fixture.js", "src may not import test"),
  row("src/cli/demo.ts", "../../scripts/x.js", "src may not import scripts", { kind: "type" }),
  row("src/cli/demo.ts", "bivariant/emulator", "sources import each other by relative paths", {
    to: "bivariant",
  }),
  row(
    "src/generate/index.ts",
    "openapi-typescript",
    "package.json declares it neither a dependency nor a peer, and scripts/build.ts does " +
      "not bundle it",
  ),
  row("src/cli/demo.ts", "./gone.js", "the file does not exist", { to: "src/cli/gone.js" }),
];

test("a tree that keeps every rule has no findings", () => {
  expect(checkLayers(plant(SOUND))).toEqual([]);
});

test.each(BROKEN)("$file importing $imports is a finding: $finding", (row) => {
  const { file, imports, kind = "value", finding } = row;
  const path = posix.join(posix.dirname(file), imports).replace(/js$/, "ts");
  const to = row.to ?? (imports.startsWith(".") ? path : imports);
  const tree = plant({ ...SOUND, [file]: STATEMENTS[kind](imports) });
  expect(checkLayers(tree)).toEqual([`${file} imports ${to}: ${finding}`]);
});

test.each([
  {
    name: "an import of inline types, which stays in the output, where only types are allowed",
    tree: {
      "src/client/late.ts":
        "import { type TokenStore } from " +
        `"../auth/shared/token-store.js";\nexport type T = TokenStore;\n`,
    },
    finding: `src/client/late.ts imports src/auth/shared/token-store.ts: ${ONLY_TYPES}`,
  },
  {
    name: "an import of a computed path",
    tree: {
      "src/auth/late.ts": `const where = "../a.js";\nexport const late = () => import(where);\n`,
    },
    finding: "src/auth/late.ts:2 imports a computed path, which this check cannot follow",
  },
  {
    name: "a folder without a row in the table",
    tree: { "src/misc/thing.ts": "export const thing = 1;\n" },
    finding:
      "src/misc/thing.ts belongs to no layer: give its folder a row in scripts/check-layers.ts",
  },
  {
    name: "a cycle",
    tree: {
      "src/auth/one.ts": STATEMENTS.value("./two.js"),
      "src/auth/two.ts": STATEMENTS.value("./three.js"),
      "src/auth/three.ts": STATEMENTS.value("./one.js"),
    },
    finding:
      "src/auth/one.ts imports src/auth/two.ts imports src/auth/three.ts imports " +
      "src/auth/one.ts: a cycle",
  },
  {
    name: "a cycle through a type import, in a satellite",
    tree: {
      "src/emulator/one.ts": STATEMENTS.type("./two.js"),
      "src/emulator/two.ts": STATEMENTS.value("./one.js"),
    },
    finding: "src/emulator/one.ts imports src/emulator/two.ts imports src/emulator/one.ts: a cycle",
  },
  {
    name: "zod within reach of the main entry, through generated code",
    tree: {
      "src/index.ts": STATEMENTS.value("./variants/checked.js"),
      "src/variants/checked.ts": STATEMENTS.value("../../generated/schemas.js"),
    },
    finding:
      "src/index.ts imports src/variants/checked.ts imports generated/schemas.ts imports " +
      "src/json-schema/index.ts imports zod: src/index.ts may not load zod",
  },
  {
    name: "zod within reach of the main entry, through a lazy import",
    tree: { "src/index.ts": STATEMENTS.lazy("../generated/schemas.js") },
    finding:
      "src/index.ts imports generated/schemas.ts imports src/json-schema/index.ts imports zod: " +
      "src/index.ts may not load zod",
  },
])("it is a finding: $name", ({ tree, finding }) => {
  expect(checkLayers(plant({ ...SOUND, ...(tree as Tree) }))).toEqual([finding]);
});

const ofTheMachine = [
  ...[
    "Date.now()",
    "new Date()",
    "new Date",
    "performance.now()",
    "Math.random()",
    "AbortSignal.timeout(5)",
  ],
  ...["setTimeout(run, 5)", "setInterval(run, 5)", "globalThis.setTimeout(run, 5)", "[setTimeout]"],
  "window.setInterval(run, 5)",
];
test.each(ofTheMachine)("%s is a finding in a layer that takes time from its clock", (use) => {
  const name = use === "new Date()" ? use : use.replace(/^(?:globalThis|window)\.|\(.*|[[\]]/g, "");
  for (const file of [
    "src/auth/late.ts",
    "src/late.ts",
    "src/stores/late.ts",
    "src/backend/late.ts",
  ])
    expect(
      checkLayers(
        plant({ ...SOUND, [file]: `export const late = (run: () => void) => ${use};\n` }),
      ),
    ).toEqual([`${file}:1 uses ${name}, and not that of the clock (src/clock.ts)`]);
});

test.each([
  { code: `export const late = Date["now"]();`, name: "Date.now" },
  { code: "export const late = Date?.now();", name: "Date.now" },
  { code: "export const late = globalThis.Date.now();", name: "Date.now" },
  { code: "export const late = Date();", name: "Date()" },
  { code: "export const { now } = Date;", name: "Date.now" },
  { code: "export const { now: late } = performance;", name: "performance.now" },
  { code: "export const { random } = Math;", name: "Math.random" },
  { code: "export const { setTimeout: late } = globalThis;", name: "setTimeout" },
  { code: `export const late = globalThis["setInterval"];`, name: "setInterval" },
  { code: "export const late = Date;", name: "Date" },
  { code: "export const late = { Math };", name: "Math" },
  { code: "export const late = globalThis.performance;", name: "performance" },
  { code: `export * from "node:timers";`, name: "node:timers" },
  { code: `export const late = import("node:timers/promises");`, name: "node:timers/promises" },
  { code: `export * from "perf_hooks";`, name: "perf_hooks" },
])("a way around the clock is a finding: $code", ({ code, name }) => {
  // This file may use builtins of Node.
  const file = "src/backend/to-node-handler.ts";
  expect(checkLayers(plant({ ...SOUND, [file]: `${code}\n` }))).toEqual([
    `${file}:1 uses ${name}, and not that of the clock (src/clock.ts)`,
  ]);
});

test("the time of the machine may be used by the default clock, the file store and the tools", () => {
  const used = ofTheMachine
    .map((use, index) => `export const late${index} = (run: () => void) => ${use};\n`)
    .join("");
  for (const file of [
    "src/clock.ts",
    "src/stores/file-lock.ts",
    "src/page/late.ts",
    "src/cli/late.ts",
  ])
    expect(checkLayers(plant({ ...SOUND, [file]: used }))).toEqual([]);
});

test("a clock's own members are no finding", () => {
  const code = `interface Clock { now(): number; setTimeout(task: () => void): void }
export const late = (clock: Clock, given: Date) => {
  // setTimeout and Date.now() in a comment
  const other: Clock = { now: () => clock.now(), setTimeout: (task) => clock.setTimeout(task) };
  const { setTimeout: set } = other;
  const isDate = given instanceof Date && Math.max(Date.UTC(2026, 0), Date.parse("2026"));
  return [set, new Date(clock.now()), isDate, "Date.now()"];
};
`;
  expect(checkLayers(plant({ ...SOUND, "src/auth/late.ts": code }))).toEqual([]);
});

test("a lazy import is not part of a cycle", () => {
  const tree: Tree = {
    "src/auth/one.ts": STATEMENTS.value("./two.js"),
    "src/auth/two.ts": STATEMENTS.lazy("./three.js"),
    "src/auth/three.ts": STATEMENTS.value("./one.js"),
  };
  expect(checkLayers(plant({ ...SOUND, ...tree }))).toEqual([]);
});

test("a tree without sources is a finding", () => {
  const root = plant({ "package.json": MANIFEST });
  expect(checkLayers(root)).toEqual([`${root} has no sources in src/ or generated/`]);
});
