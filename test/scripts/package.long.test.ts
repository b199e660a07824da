// The package as its users get it: the two layouts of the build, and each fault that would be
// noticed after publishing.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { bundleEntries, readManifest } from "../../scripts/build.js";
import { checkPackage } from "../../scripts/check-package.js";
import { makeCacheFolder } from "../readme/pages.js";
import { plant, type Tree } from "./planted-tree.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The files that loading `file` loads, without those that `import()` loads later. */
function loaded(file: string, found: Set<string> = new Set()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  const imports = readFileSync(file, "utf8").matchAll(
    /^(?:import|export|\}) ?(?:.*? )?(?:from )?"(\.[^"]+)";$/gm,
  );
  for (const [, specifier = ""] of imports) loaded(resolve(dirname(file), specifier), found);
  return found;
}

const texts = (files: Iterable<string>) =>
  [...files].map((file) => readFileSync(file, "utf8")).join("\n");
const errorClasses = /^var ConfigurationError = class/gm;

describe("the built package", () => {
  let dist = "";
  beforeAll(async () => {
    dist = mkdtempSync(join(tmpdir(), "dist-"));
    await bundleEntries(ROOT, dist);
    return () => rmSync(dist, { recursive: true });
  });

  test("has the main entry in two files for Node, and lazy modules in others", () => {
    const files = loaded(join(dist, "node/src/index.js"));
    expect(files.size).toBe(2);
    expect(texts(files)).not.toMatch(/from "(?:jose|oauth4webapi|zod)/);
  });

  test("has each error class once across all entries that Node loads", () => {
    // An entry without a file for Node is loaded from the bundlers' layout, with chunks of its own.
    const entries = Object.values(readManifest(ROOT).exports).flatMap((target) =>
      typeof target === "string" ? [] : (target.node ?? target.default ?? []),
    );
    expect(entries.length).toBeGreaterThan(1);
    const files = new Set(
      entries.flatMap((entry) => [...loaded(join(dist, relative("dist", entry)))]),
    );
    expect(texts(files).match(errorClasses)).toHaveLength(1);
  });

  test("has the half of the browser as one file, which a server may send as it is", () => {
    expect(readFileSync(join(dist, "src/page/index.js"), "utf8")).not.toMatch(
      /^(?:import|export .* from)\b/m,
    );
  });

  test("has bundled packages without white space, and its own code with it", () => {
    const lineLength = (file: string) => {
      const text = readFileSync(join(dist, file), "utf8");
      return text.length / text.split("\n").length;
    };
    const chunks = readdirSync(join(dist, "chunks"));
    const undici = chunks.find((name) => name.startsWith("undici-")) ?? "";
    for (const file of ["yaml.js", `chunks/${undici}`])
      expect(lineLength(file), file).toBeGreaterThan(500);
    for (const file of ["src/emulator/index.js", "node/src/index.js"])
      expect(lineLength(file), file).toBeLessThan(100);
  });

  test.each([
    { name: "variant-a", others: "/v1/auth/token" },
    { name: "variant-b", others: "/external-plugin/oauth/token" },
  ])(
    "lets a bundler leave the other variant out of an app with $name",
    async ({ name, others }) => {
      const { outputFiles } = await build({
        entryPoints: [join(dist, `src/${name}.js`)],
        outdir: dist,
        bundle: true,
        splitting: true,
        packages: "external",
        format: "esm",
        write: false,
      });
      expect(outputFiles.map(({ text }) => text).join("\n")).not.toContain(others);
    },
  );
});

/** Installs the built package in a new folder. */
async function installed(folder: string): Promise<string> {
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const own = join(folder, "node_modules/bivariant");
  mkdirSync(own, { recursive: true });
  cpSync(join(ROOT, "package.json"), join(own, "package.json"));
  await bundleEntries(ROOT, join(own, "dist"));
  return folder;
}

function node(cwd: string, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
  return { status, stdout, stderr };
}

test("the built emulator reads a seed file, with no package but those that an install brings", async () => {
  // Below the repository the package would find all that is installed there.
  const folder = await installed(mkdtempSync(join(tmpdir(), "seed-")));
  for (const name of Object.keys(readManifest(ROOT).dependencies ?? {}))
    symlinkSync(join(ROOT, "node_modules", name), join(folder, "node_modules", name));
  const program = `import { createEmulator, parseSeedFile } from "bivariant/emulator";
    const seed = "plugins: [{ tenantId: acme, clientId: reports, type: service }]";
    const emulator = createEmulator(parseSeedFile(seed, "tenant.yaml"));
    console.log(emulator.testKey({ tenantId: "acme", clientId: "reports" }).kty);`;
  writeFileSync(join(folder, "program.mjs"), program);
  expect(node(folder, "program.mjs")).toEqual({ status: 0, stdout: "RSA\n", stderr: "" });
});

test("a test of Jest in CommonJS imports the package, as the page says", async () => {
  const folder = await installed(makeCacheFolder());
  // Without it Jest finds the package of the repository, which has no build.
  writeFileSync(join(folder, "package.json"), "{}");
  const program = `test("calls the emulator", async () => {
      const { connect, serviceAccount } = await import("bivariant");
      const { createEmulator } = await import("bivariant/emulator");
      const account = { clientId: "reports", clientSecret: "not a real secret" };
      const emulator = createEmulator({ variants: ["B"] });
      emulator.registerServiceAccount({ tenantId: "acme", ...account });
      const { publicUrl: baseUrl, fetch } = emulator;
      const service = await connect({ baseUrl, tenantId: "acme", credentials: [serviceAccount(account)], fetch });
      expect((await service.call("listDevices")).status).toBe(200);
    });`;
  writeFileSync(join(folder, "app.test.cjs"), program);
  const config = JSON.stringify({
    rootDir: folder,
    transform: {},
    haste: { retainAllFiles: true },
    testMatch: ["**/app.test.cjs"],
    testPathIgnorePatterns: [],
  });
  const jest = join(ROOT, "node_modules/jest/bin/jest.js");
  const { status, stderr } = node(folder, "--experimental-vm-modules", jest, "--config", config);
  expect(status, stderr).toBe(0);
});

const MANIFEST = {
  name: "bivariant",
  version: "1.0.0",
  type: "module",
  files: ["dist"],
  bin: { bivariant: "./dist/main.js" },
  exports: {
    ".": { types: "./dist/index.d.ts", default: "./dist/index.js" },
    "./page": { types: "./dist/page.d.ts", default: "./dist/page.js" },
    "./package.json": "./package.json",
  },
};

const SOUND: Tree = {
  "package.json": JSON.stringify(MANIFEST),
  "dist/index.js": "export const connect = 1;\n",
  "dist/index.d.ts": "export declare const connect: number;\n",
  "dist/page.js": "export const startSession = 1;\n",
  "dist/page.d.ts": "export declare const startSession: number;\n",
  "dist/main.js": `#!/usr/bin/env node\nconsole.log("Usage: bivariant");\n`,
};

const manifest = (change: object) => ({
  "package.json": JSON.stringify({ ...MANIFEST, ...change }),
});
const page = (types: string) => ({
  "dist/page.d.ts": `export declare const startSession: ${types};\n`,
});
const broken = (name: string, tree: Tree, ...findings: readonly RegExp[]) => {
  return { name, tree, findings };
};
const BROKEN = [
  broken(
    "an entry point whose file is missing",
    { "dist/page.js": "" },
    /^publint: .*exports\["\.\/page"\].*does not exist/,
  ),
  broken(
    "types that are missing",
    { "dist/page.d.ts": "" },
    /^publint: .*page"\]\.types.*does not exist/,
    /^attw: [\s\S]*bivariant\/page/,
  ),
  broken(
    "an entry point without types",
    manifest({ exports: { ".": { default: "./dist/index.js" } } }),
    /^package.json: the entry point \. has no types$/,
  ),
  broken(
    "an entry point that exports nothing",
    { "dist/page.js": "globalThis.page = 1;\n" },
    /^import "bivariant\/page" exports nothing$/,
  ),
  broken(
    "an entry point that imports a package which is not declared",
    { "dist/page.js": `export * from "undeclared";\n` },
    /^import "bivariant\/page" fails: [\s\S]*Cannot find package 'undeclared'/,
  ),
  broken(
    "types that need Node in an entry for browsers",
    page('import("node:http").Server'),
    /^the types of the installed package: .*page\.d\.ts.*node:http/,
  ),
  broken(
    "types that need the DOM in an entry for servers",
    { "dist/index.d.ts": "export declare const connect: CryptoKey;\n" },
    /^the types of the installed package: .*index\.d\.ts.*CryptoKey/,
  ),
  broken(
    "a file that is built but not packed",
    manifest({ files: ["dist/index.*", "dist/main.js"] }),
    /^publint: .*page.*/,
    /^publint: .*page.*/,
    /^attw: /,
  ),
  broken(
    "a command that does not run",
    { "dist/main.js": `#!/usr/bin/env node\nthrow new Error("no command");\n` },
    /^npx bivariant --help fails: [\s\S]*no command/,
  ),
];

test.each([broken("nothing in a sound package", {}), ...BROKEN])(
  "check:package finds $name, and leaves no temporary file",
  async ({ tree, findings }) => {
    const root = plant({ ...SOUND, ...tree });
    chmodSync(join(root, "dist/main.js"), 0o755);
    // checkPackage works in the folder for temporary files, which is one of its own here.
    const temporary = join(root, "tmp");
    mkdirSync(temporary);
    vi.stubEnv("TMPDIR", temporary);
    onTestFinished(() => void vi.unstubAllEnvs());
    const found = await checkPackage(root);
    expect(found).toEqual(findings.map((pattern) => expect.stringMatching(pattern)));
    expect(readdirSync(temporary)).toEqual([]);
  },
);
