// Breaks every layer rule once, on a small tree of its own, and expects the edge to be named.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { checkLayers } from "../../scripts/check-layers.js";

type Tree = Readonly<Record<string, string>>;

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
  "src/variants/variant-a.ts": `import { errors } from "../errors.js";\nexport const a = errors;\n`,
  "src/variants/limits.ts": "export const limit = 1;\n",
  "src/auth/token-store.ts": `export interface TokenStore { get(): string }\n`,
  "src/auth/auth.ts": `import { SignJWT } from "jose";\nimport { a } from "../variants/variant-a.js";\nexport const auth = [SignJWT, a];\n`,
  "src/client/call.ts": `import createClient from "openapi-fetch";\nimport type { TokenStore } from "../auth/token-store.js";\nexport const call: [unknown, TokenStore?] = [createClient];\n`,
  "src/stores/memory.ts": `import type { TokenStore } from "../auth/token-store.js";\nexport const store: TokenStore = { get: () => "" };\n`,
  "src/stores/file.ts": `import { readFileSync } from "node:fs";\nexport const file = readFileSync;\n`,
  "src/connect.ts": `import { auth } from "./auth/auth.js";\nimport { store } from "./stores/memory.js";\nexport const connect = [auth, store];\n`,
  "src/index.ts": `export { connect } from "./connect.js";\nexport type * from "./auth/token-store.js";\n`,
  "src/validate.ts": `import { z } from "zod";\nimport type { call } from "./client/call.js";\nexport const validate = (c: typeof call) => [z, c];\n`,
  "src/page/start.ts": `export const page = 1;\n`,
  "src/page/index.ts": `export { page } from "./start.js";\n`,
  "src/backend/handler.ts": `import { connect } from "../connect.js";\nexport const backend = connect;\n`,
  "src/backend/to-node-handler.ts": `import { Readable } from "node:stream";\nexport const to = Readable;\n`,
  "src/emulator/rules.ts": `import { Hono } from "hono";\nimport { createServer } from "http";\nexport const rules = [Hono, createServer];\n`,
  "src/contract/cases.ts": `import { rules } from "../emulator/rules.js";\nexport const cases = rules;\n`,
  "src/generate/index.ts": `const compiler = "typescript";\nexport const load = () => [import(compiler), import("typescript")];\n`,
  "src/cli/main.ts": `import { Command } from "commander";\nimport { connect } from "../connect.js";\nimport { rules } from "../emulator/rules.js";\nexport const main = [Command, connect, rules];\n`,
  "generated/schemas.ts": `import { z } from "zod";\nexport const schemas = z;\n`,
};

const BROKEN: readonly { name: string; tree: Tree; finding: string }[] = [
  {
    name: "errors import nothing",
    tree: {
      "src/errors.ts": `export { limit as errors } from "./variants/limits.js";\n`,
    },
    finding: "src/errors.ts imports src/variants/limits.ts: errors.ts may not import variants",
  },
  {
    name: "variants know nothing of auth",
    tree: { "src/variants/detect.ts": `export { auth } from "../auth/auth.js";\n` },
    finding: "src/variants/detect.ts imports src/auth/auth.ts: variants may not import auth",
  },
  {
    name: "auth knows nothing of the client",
    tree: { "src/auth/late.ts": `export const late = () => import("../client/call.js");\n` },
    finding: "src/auth/late.ts imports src/client/call.ts: auth may not import client",
  },
  {
    name: "a type-only import is an edge too",
    tree: {
      "src/auth/typed.ts": `import type { call } from "../client/call.js";\nexport type T = typeof call;\n`,
    },
    finding: "src/auth/typed.ts imports src/client/call.ts: auth may not import client",
  },
  {
    name: "an import inside a type is an edge too",
    tree: { "src/auth/typed.ts": `export type T = typeof import("../client/call.js");\n` },
    finding: "src/auth/typed.ts imports src/client/call.ts: auth may not import client",
  },
  {
    name: "the client takes types of auth, not code",
    tree: { "src/client/late.ts": `import { auth } from "../auth/auth.js";\nexport const late = auth;\n` },
    finding: "src/client/late.ts imports src/auth/auth.ts: client may import only types of it (import type)",
  },
  {
    name: "an import of inline types stays in the output, so it is a value",
    tree: {
      "src/client/late.ts": `import { type TokenStore } from "../auth/token-store.js";\nexport type T = TokenStore;\n`,
    },
    finding:
      "src/client/late.ts imports src/auth/token-store.ts: client may import only types of it (import type)",
  },
  {
    name: "the client leaves signing to auth",
    tree: { "src/client/sign.ts": `export { SignJWT } from "jose";\n` },
    finding: "src/client/sign.ts imports jose: client may not import jose",
  },
  {
    name: "the top level takes only the memory store",
    tree: { "src/connector.ts": `export { file } from "./stores/file.js";\n` },
    finding: "src/connector.ts imports src/stores/file.ts: the top level may not import stores",
  },
  {
    name: "the top level takes no satellite",
    tree: { "src/connector.ts": `export type { backend } from "./backend/handler.js";\n` },
    finding: "src/connector.ts imports src/backend/handler.ts: the top level may not import backend",
  },
  {
    name: "stores know the interface of a store and no more of auth",
    tree: {
      "src/stores/redis.ts": `import type { auth } from "../auth/auth.js";\nexport type T = typeof auth;\n`,
    },
    finding: "src/stores/redis.ts imports src/auth/auth.ts: stores may not import auth",
  },
  {
    name: "validation does not connect",
    tree: { "src/validate.ts": `export { connect } from "./connect.js";\n` },
    finding: "src/validate.ts imports src/connect.ts: validate.ts may not import the top level",
  },
  {
    name: "the page imports itself only",
    tree: { "src/page/start.ts": `export { errors as page } from "../errors.js";\n` },
    finding: "src/page/start.ts imports src/errors.ts: page may not import errors.ts",
  },
  {
    name: "the page has no dependency",
    tree: { "src/page/start.ts": `export { z as page } from "zod";\n` },
    finding: "src/page/start.ts imports zod: page may not import zod",
  },
  {
    name: "the backend runs no emulator",
    tree: { "src/backend/try.ts": `export { rules } from "../emulator/rules.js";\n` },
    finding: "src/backend/try.ts imports src/emulator/rules.ts: backend may not import emulator",
  },
  ...[
    "src/errors.ts",
    "src/variants/variant-a.ts",
    "src/auth/auth.ts",
    "src/client/call.ts",
    "src/connect.ts",
  ].map((target) => {
    const layer = target === "src/connect.ts" ? "the top level" : (target.split("/")[1] ?? "");
    return {
      name: `the emulator shares no code with the client: ${target}`,
      tree: { "src/emulator/copy.ts": `export * from "../${target.slice(4, -3)}.js";\n` },
      finding: `src/emulator/copy.ts imports ${target}: emulator may not import ${layer}`,
    };
  }),
  {
    name: "the contract takes the rule table and no more of the emulator",
    tree: {
      "src/emulator/serve.ts": "export const serve = 1;\n",
      "src/contract/cases.ts": `export { serve } from "../emulator/serve.js";\n`,
    },
    finding: "src/contract/cases.ts imports src/emulator/serve.ts: contract may not import emulator",
  },
  {
    name: "the generator knows documents, not the client",
    tree: { "src/generate/index.ts": `export { errors } from "../errors.js";\n` },
    finding: "src/generate/index.ts imports src/errors.ts: generate may not import errors.ts",
  },
  {
    name: "generated code needs no hand-written code",
    tree: {
      "generated/operations.ts": `import type { a } from "../src/variants/variant-a.js";\nexport type A = typeof a;\n`,
    },
    finding: "generated/operations.ts imports src/variants/variant-a.ts: generated may not import variants",
  },
  {
    name: "the core uses web standards only",
    tree: { "src/auth/sign.ts": `import { createSign } from "crypto";\nexport const sign = createSign;\n` },
    finding: "src/auth/sign.ts imports node:crypto: auth may not import node:crypto",
  },
  {
    name: "only the file store reads files",
    tree: { "src/stores/memory.ts": `export { readFileSync as store } from "node:fs";\n` },
    finding: "src/stores/memory.ts imports node:fs: stores may not import node:fs",
  },
  {
    name: "only toNodeHandler of the backend knows Node",
    tree: { "src/backend/handler.ts": `export { Readable as backend } from "node:stream";\n` },
    finding: "src/backend/handler.ts imports node:stream: backend may not import node:stream",
  },
  {
    name: "nothing shipped imports a test, the command line included",
    tree: {
      "test/fixture.ts": "export const f = 1;\n",
      "src/cli/demo.ts": `export { f } from "../../test/fixture.js";\n`,
    },
    finding: "src/cli/demo.ts imports test/fixture.ts: src may not import test",
  },
  {
    name: "nothing shipped imports a script",
    tree: {
      "scripts/x.ts": "export const f = 1;\n",
      "src/cli/demo.ts": `export type { f } from "../../scripts/x.js";\n`,
    },
    finding: "src/cli/demo.ts imports scripts/x.ts: src may not import scripts",
  },
  {
    name: "sources do not go through the published package",
    tree: { "src/cli/demo.ts": `export { createEmulator } from "bivariant/emulator";\n` },
    finding: "src/cli/demo.ts imports bivariant: sources import each other by relative paths",
  },
  {
    name: "what is imported is declared",
    tree: { "src/cli/demo.ts": `export * from "tsx";\n` },
    finding: "src/cli/demo.ts imports tsx: package.json declares it neither a dependency nor a peer",
  },
  {
    name: "a file that is not there is named",
    tree: { "src/cli/demo.ts": `export * from "./gone.js";\n` },
    finding: "src/cli/demo.ts imports src/cli/gone.js: there is no such file",
  },
  {
    name: "a computed import is no way around the table",
    tree: {
      "src/auth/late.ts": `const where = "../client/call.js";\nexport const late = () => import(where);\n`,
    },
    finding: "src/auth/late.ts:2 imports a computed path: nobody can say what it loads",
  },
  {
    name: "a folder without a row is no way around the table",
    tree: { "src/misc/thing.ts": "export const thing = 1;\n" },
    finding: "src/misc/thing.ts belongs to no layer: give its folder a row in scripts/check-layers.ts",
  },
  {
    name: "the core has no cycles",
    tree: {
      "src/auth/one.ts": `import { two } from "./two.js";\nexport const one = () => two;\n`,
      "src/auth/two.ts": `import { three } from "./three.js";\nexport const two = () => three;\n`,
      "src/auth/three.ts": `export { one as three } from "./one.js";\n`,
    },
    finding:
      "src/auth/one.ts imports src/auth/two.ts imports src/auth/three.ts imports src/auth/one.ts: a cycle inside the core",
  },
  {
    name: "the core reaches no zod, not even through generated code",
    tree: {
      "src/variants/checked.ts": `export * from "../../generated/schemas.js";\n`,
      "src/index.ts": `export * from "./variants/checked.js";\n`,
    },
    finding:
      "src/index.ts imports src/variants/checked.ts imports generated/schemas.ts imports zod: src/index.ts may not reach zod",
  },
];

const roots: string[] = [];

function plant(tree: Tree): string {
  const root = mkdtempSync(join(tmpdir(), "layers-"));
  roots.push(root);
  for (const [path, text] of Object.entries(tree)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true });
});

test("a tree that keeps the table has no finding", () => {
  expect(checkLayers(plant(SOUND))).toEqual([]);
});

test.each(BROKEN)("$name", ({ tree, finding }) => {
  expect(checkLayers(plant({ ...SOUND, ...tree }))).toEqual([finding]);
});

test("a type-only cycle is none, and a lazy import breaks one", () => {
  const tree: Tree = {
    "src/auth/one.ts": `import type { two } from "./two.js";\nexport const one = (t: typeof two) => t;\n`,
    "src/auth/two.ts": `import { one } from "./one.js";\nexport const two = () => [one, import("./three.js")];\n`,
    "src/auth/three.ts": `export { two } from "./two.js";\n`,
  };
  expect(checkLayers(plant({ ...SOUND, ...tree }))).toEqual([]);
});

test("a place without sources is a finding, not a pass", () => {
  const root = plant({ "package.json": MANIFEST });
  expect(checkLayers(root)).toEqual([`${root} holds no sources: nothing was checked`]);
});
