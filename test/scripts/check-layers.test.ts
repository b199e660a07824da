// Breaks every layer rule once, in a small tree, and expects the finding that names the edge.
import { expect, test } from "vitest";
import { checkLayers } from "../../scripts/check-layers.js";
import { plant, type Tree } from "./planted-tree.js";

const MANIFEST = JSON.stringify({
  name: "bivariant",
  dependencies: { jose: "6", zod: "4", hono: "4", oauth4webapi: "3", "openapi-fetch": "0", commander: "14" },
  peerDependencies: { typescript: "5" },
});

/** A tree that keeps every rule; each case below replaces or adds files. */
const SOUND: Tree = {
  "package.json": MANIFEST,
  "src/errors.ts": `import { version } from "./version.js";\nexport const errors = version;\n`,
  "src/version.ts": `export const version = "1";\n`,
  "src/options.ts": `export { errors as options } from "./errors.js";\n`,
  "src/http/exchange.ts": `export { options as exchange } from "../options.js";\n`,
  "src/variants/variant-a.ts": `import { exchange } from "../http/exchange.js";\nexport const a = exchange;\n`,
  "src/variants/limits.ts": "export const limit = 1;\n",
  "src/auth/token-store.ts": `export interface TokenStore { get(): string }\n`,
  "src/auth/auth.ts": `import { SignJWT } from "jose";\nimport { a } from "../variants/variant-a.js";\nexport const auth = [SignJWT, a];\n`,
  "src/client/call.ts": `import createClient from "openapi-fetch";\nimport type { TokenStore } from "../auth/token-store.js";\nexport const call: [unknown, TokenStore?] = [createClient];\n`,
  "src/stores/memory.ts": `import type { TokenStore } from "../auth/token-store.js";\nexport const store: TokenStore = { get: () => "" };\n`,
  "src/stores/file.ts": `import { readFileSync } from "node:fs";\nexport const file = readFileSync;\n`,
  "src/connect.ts": `import { auth } from "./auth/auth.js";\nimport { store } from "./stores/memory.js";\nexport const connect = [auth, store];\n`,
  "src/index.ts": `export { connect } from "./connect.js";\nexport type * from "./auth/token-store.js";\n`,
  "src/validate.ts": `import { z } from "zod";\nimport type { call } from "./client/call.js";\nexport const validate = (c: typeof call) => [z, c];\n`,
  "src/page/index.ts": `export const page = 1;\n`,
  "src/backend/handler.ts": `import { connect } from "../connect.js";\nexport const backend = connect;\n`,
  "src/backend/to-node-handler.ts": `import { Readable } from "node:stream";\nexport const to = Readable;\n`,
  "src/emulator/rules.ts": `import { Hono } from "hono";\nimport { createServer } from "http";\nexport const rules = [Hono, createServer];\n`,
  "src/contract/cases.ts": `import { rules } from "../emulator/rules.js";\nexport const cases = rules;\n`,
  "src/generate/index.ts": `const compiler = "typescript";\nexport const load = () => [import(compiler), import("typescript")];\n`,
  "src/cli/main.ts": `import { Command } from "commander";\nimport { connect } from "../connect.js";\nimport { rules } from "../emulator/rules.js";\nexport const main = [Command, connect, rules];\n`,
  "generated/schemas.ts": `import { z } from "zod";\nexport const schemas = z;\n`,
};

interface Row {
  readonly name: string;
  readonly file: string;
  readonly text: string;
  /** What the finding says after the name of the file. */
  readonly finding: string;
  readonly others?: Tree;
}

const from = (path: string): string => `export * from "${path}";\n`;
const typeFrom = (path: string): string => `export type * from "${path}";\n`;

const BROKEN: readonly Row[] = [
  {
    name: "errors.ts imports from variants/",
    file: "src/errors.ts",
    text: `export { limit as errors } from "./variants/limits.js";\n`,
    finding: "imports src/variants/limits.ts: errors.ts may not import variants",
  },
  {
    name: "options.ts imports from http/",
    file: "src/options.ts",
    text: `export { limit as options } from "./http/limits.js";\n`,
    others: { "src/http/limits.ts": "export const limit = 1;\n" },
    finding: "imports src/http/limits.ts: options.ts may not import http",
  },
  {
    name: "http/ imports from variants/",
    file: "src/http/late.ts",
    text: from("../variants/limits.js"),
    finding: "imports src/variants/limits.ts: http may not import variants",
  },
  {
    name: "variants/ imports from auth/",
    file: "src/variants/detect.ts",
    text: from("../auth/auth.js"),
    finding: "imports src/auth/auth.ts: variants may not import auth",
  },
  {
    name: "auth/ imports the client lazily",
    file: "src/auth/late.ts",
    text: `export const late = () => import("../client/call.js");\n`,
    finding: "imports src/client/call.ts: auth may not import client",
  },
  {
    name: "auth/ imports a type of the client",
    file: "src/auth/typed.ts",
    text: typeFrom("../client/call.js"),
    finding: "imports src/client/call.ts: auth may not import client",
  },
  {
    name: "auth/ imports the client inside a type",
    file: "src/auth/typed.ts",
    text: `export type T = typeof import("../client/call.js");\n`,
    finding: "imports src/client/call.ts: auth may not import client",
  },
  {
    name: "the client imports code of auth/",
    file: "src/client/late.ts",
    text: from("../auth/auth.js"),
    finding: "imports src/auth/auth.ts: client may import only types of it (import type)",
  },
  {
    name: "the client imports inline types of auth/, an import that stays in the output",
    file: "src/client/late.ts",
    text: `import { type TokenStore } from "../auth/token-store.js";\nexport type T = TokenStore;\n`,
    finding: "imports src/auth/token-store.ts: client may import only types of it (import type)",
  },
  {
    name: "the client imports jose",
    file: "src/client/sign.ts",
    text: from("jose"),
    finding: "imports jose: client may not import jose",
  },
  {
    name: "the top level imports a store other than memory",
    file: "src/connector.ts",
    text: from("./stores/file.js"),
    finding: "imports src/stores/file.ts: the top level may not import stores",
  },
  {
    name: "the top level imports from the backend",
    file: "src/connector.ts",
    text: typeFrom("./backend/handler.js"),
    finding: "imports src/backend/handler.ts: the top level may not import backend",
  },
  {
    name: "a store imports more of auth/ than the interface",
    file: "src/stores/redis.ts",
    text: typeFrom("../auth/auth.js"),
    finding: "imports src/auth/auth.ts: stores may not import auth",
  },
  {
    name: "validate.ts imports connect",
    file: "src/validate.ts",
    text: from("./connect.js"),
    finding: "imports src/connect.ts: validate.ts may not import the top level",
  },
  {
    name: "the page imports from outside its folder",
    file: "src/page/index.ts",
    text: from("../version.js").replace("version", "errors"),
    finding: "imports src/errors.ts: page may not import errors.ts",
  },
  {
    name: "the page imports a package",
    file: "src/page/index.ts",
    text: from("zod"),
    finding: "imports zod: page may not import zod",
  },
  {
    name: "the backend imports the emulator",
    file: "src/backend/try.ts",
    text: from("../emulator/rules.js"),
    finding: "imports src/emulator/rules.ts: backend may not import emulator",
  },
  ...[
    { target: "errors.ts", layer: "errors.ts" },
    { target: "variants/variant-a.ts", layer: "variants" },
    { target: "auth/auth.ts", layer: "auth" },
    { target: "client/call.ts", layer: "client" },
    { target: "connect.ts", layer: "the top level" },
  ].map(({ target, layer }) => ({
    name: `the emulator imports the client's ${target}`,
    file: "src/emulator/copy.ts",
    text: from(`../${target.slice(0, -3)}.js`),
    finding: `imports src/${target}: emulator may not import ${layer}`,
  })),
  {
    name: "the contract kit imports more of the emulator than its rules",
    file: "src/contract/cases.ts",
    text: from("../emulator/serve.js"),
    others: { "src/emulator/serve.ts": "export const serve = 1;\n" },
    finding: "imports src/emulator/serve.ts: contract may not import emulator",
  },
  {
    name: "the generator imports from the client",
    file: "src/generate/index.ts",
    text: from("../errors.js"),
    finding: "imports src/errors.ts: generate may not import errors.ts",
  },
  {
    name: "generated code imports a source",
    file: "generated/operations.ts",
    text: typeFrom("../src/variants/variant-a.js"),
    finding: "imports src/variants/variant-a.ts: generated may not import variants",
  },
  {
    name: "auth/ imports a builtin of Node",
    file: "src/auth/sign.ts",
    text: from("crypto"),
    finding: "imports node:crypto: auth may not import node:crypto",
  },
  {
    name: "a store other than the file store imports a builtin of Node",
    file: "src/stores/memory.ts",
    text: `export { readFileSync as store } from "node:fs";\n`,
    finding: "imports node:fs: stores may not import node:fs",
  },
  {
    name: "the backend imports a builtin of Node outside toNodeHandler",
    file: "src/backend/handler.ts",
    text: from("node:stream"),
    finding: "imports node:stream: backend may not import node:stream",
  },
  {
    name: "the command line imports a test",
    file: "src/cli/demo.ts",
    text: from("../../test/fixture.js"),
    others: { "test/fixture.ts": "export const f = 1;\n" },
    finding: "imports test/fixture.ts: src may not import test",
  },
  {
    name: "the command line imports a type of a script",
    file: "src/cli/demo.ts",
    text: typeFrom("../../scripts/x.js"),
    others: { "scripts/x.ts": "export const f = 1;\n" },
    finding: "imports scripts/x.ts: src may not import scripts",
  },
  {
    name: "a source imports the published package",
    file: "src/cli/demo.ts",
    text: from("bivariant/emulator"),
    finding: "imports bivariant: sources import each other by relative paths",
  },
  {
    name: "a source imports a package that package.json does not declare",
    file: "src/cli/demo.ts",
    text: from("tsx"),
    finding: "imports tsx: package.json declares it neither a dependency nor a peer",
  },
  {
    name: "a source imports a file that does not exist",
    file: "src/cli/demo.ts",
    text: from("./gone.js"),
    finding: "imports src/cli/gone.js: the file does not exist",
  },
  {
    name: "a folder has no row in the table",
    file: "src/misc/thing.ts",
    text: "export const thing = 1;\n",
    finding: "belongs to no layer: give its folder a row in scripts/check-layers.ts",
  },
  {
    name: "modules import each other in a circle",
    file: "src/auth/one.ts",
    text: from("./two.js"),
    others: { "src/auth/two.ts": from("./three.js"), "src/auth/three.ts": from("./one.js") },
    finding: "imports src/auth/two.ts imports src/auth/three.ts imports src/auth/one.ts: a cycle",
  },
  {
    name: "modules of a satellite import each other's types in a circle",
    file: "src/emulator/one.ts",
    text: typeFrom("./two.js"),
    others: { "src/emulator/two.ts": from("./one.js") },
    finding: "imports src/emulator/two.ts imports src/emulator/one.ts: a cycle",
  },
  {
    name: "the main entry reaches zod through generated code",
    file: "src/index.ts",
    text: from("./variants/checked.js"),
    others: { "src/variants/checked.ts": from("../../generated/schemas.js") },
    finding:
      "imports src/variants/checked.ts imports generated/schemas.ts imports zod: src/index.ts may not reach zod",
  },
];

test("a tree that keeps every rule has no findings", () => {
  expect(checkLayers(plant(SOUND))).toEqual([]);
});

test.each(BROKEN)("it is a finding when $name", ({ file, text, others, finding }) => {
  expect(checkLayers(plant({ ...SOUND, ...others, [file]: text }))).toEqual([`${file} ${finding}`]);
});

test("it is a finding, with its line, when a source imports a computed path", () => {
  const late = `const where = "../client/call.js";\nexport const late = () => import(where);\n`;
  expect(checkLayers(plant({ ...SOUND, "src/auth/late.ts": late }))).toEqual([
    "src/auth/late.ts:2 imports a computed path, which this check cannot follow",
  ]);
});

test("a lazy import breaks a cycle", () => {
  const tree: Tree = {
    "src/auth/one.ts": from("./two.js"),
    "src/auth/two.ts": `export const two = () => import("./three.js");\n`,
    "src/auth/three.ts": from("./one.js"),
  };
  expect(checkLayers(plant({ ...SOUND, ...tree }))).toEqual([]);
});

test("it is a finding when there are no sources", () => {
  const root = plant({ "package.json": MANIFEST });
  expect(checkLayers(root)).toEqual([`${root} has no sources in src/ or generated/`]);
});
