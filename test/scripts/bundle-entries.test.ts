// The two layouts of the built package: few files for Node, and for bundlers nothing of what an app does not use.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { beforeAll, describe, expect, test } from "vitest";
import { bundleEntries } from "../../scripts/bundle-entries.js";
import { readManifest } from "../../scripts/package/manifest.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The files that loading one of them loads, without those that `import()` loads later. */
function loaded(file: string, found: Set<string> = new Set()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  const imports = readFileSync(file, "utf8").matchAll(
    /^(?:import|export|\}) ?(?:.*? )?(?:from )?"(\.[^"]+)";$/gm,
  );
  for (const [, specifier = ""] of imports) loaded(resolve(dirname(file), specifier), found);
  return found;
}

const texts = (files: Iterable<string>) => [...files].map((file) => readFileSync(file, "utf8")).join("\n");
const errorClasses = /^var ConfigurationError = class/gm;

describe("the built package", () => {
  let dist = "";
  beforeAll(async () => {
    dist = mkdtempSync(join(tmpdir(), "dist-"));
    await bundleEntries(ROOT, dist);
    return () => rmSync(dist, { recursive: true });
  });

  test("has the main entry in two files for Node, and what is only sometimes needed in others", () => {
    const files = loaded(join(dist, "node/src/index.js"));
    expect(files.size).toBe(2);
    expect(texts(files)).not.toMatch(/from "(?:jose|oauth4webapi|zod)/);
  });

  test("has each error class once, whichever entries Node loads", () => {
    // An entry without a file for Node loads the bundlers' one: what it shared with the others would be there twice.
    const entries = Object.values(readManifest(ROOT).exports).flatMap((target) =>
      typeof target === "string" ? [] : (target.node ?? target.default ?? []),
    );
    expect(entries.length).toBeGreaterThan(1);
    const files = new Set(entries.flatMap((entry) => [...loaded(join(dist, relative("dist", entry)))]));
    expect(texts(files).match(errorClasses)).toHaveLength(1);
  });

  test.each([
    { name: "variant-a", others: "/v1/auth/token" },
    { name: "variant-b", others: "/external-plugin/oauth/token" },
  ])(
    "lets a bundler leave the other variant out of an app with $name, in every file",
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
