// A page of src begins with a program that answers its question. Those in JavaScript run as
// printed, one after another; another test runs those that need a server or generated code.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { beforeAll, describe, expect, test } from "vitest";
import { entriesFromSources } from "../../scripts/build.js";
import { blocks, exists, makeCacheFolder, pages, read, root } from "./pages.js";

/** The most lines before the program, so that it is on the first screen. */
const mostLinesBefore = 14;

/**
 * The tests that run the first programs of these folders that are not in JavaScript, or that listen
 * until they are stopped.
 */
const runBy: Readonly<Record<string, string>> = {
  "src/backend/express-and-hono.md": "test/readme/plugin.long.test.ts",
  "src/backend/plugin.md": "test/readme/plugin.long.test.ts",
  "src/backend/requests.md": "test/backend/frameworks.long.test.ts",
  "src/client/answers-and-streams.md": "test/readme/wire.test.ts",
  "src/client/production.md": "test/readme/customers.test.ts",
  "src/client/parameters-and-bodies.md": "test/readme/wire.test.ts",
  "src/client/signalr-and-mqtt.md": "test/examples/signalr/signalr.test.ts",
  "src/client/workers-and-shutdown.md": "test/examples/worker/worker.test.ts",
  "src/contract/targets.md": "test/contract/runners.long.test.ts",
  "src/emulator/README.md": "test/readme/pages.test.ts",
  "src/emulator/time.md": "test/readme/pages.test.ts",
  "src/stores/redis-failover.md": "test/stores/redis-pages.long.test.ts",
  "src/stores/redis.md": "test/stores/redis-pages.long.test.ts",
  "src/stores/your-own.md": "test/stores/testing.test.ts",
};

// The pages of src itself are about the code of the package.
const firsts = pages
  .filter((page) => /^src\/.+\//.test(page))
  .map((page) => {
    const { language = "", code = "" } = blocks.find((one) => one.page === page) ?? {};
    const [before = ""] = read(page).split(/^ *```/m);
    return { page, language, code, linesBefore: before.trimEnd().split("\n").length };
  });

test("each page has a program, a command or a document on its first screen", () => {
  expect(firsts.filter(({ linesBefore }) => linesBefore > mostLinesBefore)).toEqual([]);
  const isKnown = ({ page, language, code }: (typeof firsts)[number]) =>
    /^(?:js|sh|yaml)$/.test(language) || code.includes('from "bivariant') || page in runBy;
  expect(firsts.filter((first) => !isKnown(first))).toEqual([]);
});

test("a first program in TypeScript is run by the test that is named for it", () => {
  const others = firsts.filter(({ language }) => language === "ts");
  expect(others.map(({ page }) => page).filter((page) => !(page in runBy))).toEqual([]);
  for (const [page, file] of Object.entries(runBy)) {
    expect(firsts.map((first) => first.page)).toContain(page);
    expect(exists(file), file).toBe(true);
    expect(read(file), file).toMatch(/blockWith|importBlock/);
  }
});

const programs = firsts.filter(({ page, language }) => language === "js" && !(page in runBy));

describe("the first program of", () => {
  const outputs = new Map<string, string>();
  const ends: { readonly status: number | null; readonly stderr: string }[] = [];

  beforeAll(async () => {
    const folder = makeCacheFolder();
    const workingFolder = mkdtempSync(join(tmpdir(), "program-"));
    const nameOf = (page: string) => page.replaceAll(/[/.]/g, "-");
    for (const { page, code } of programs) writeFileSync(join(folder, `${nameOf(page)}.js`), code);
    await build({
      entryPoints: programs.map(({ page }) => join(folder, `${nameOf(page)}.js`)),
      outdir: folder,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      splitting: true,
      format: "esm",
      platform: "node",
      target: "node20",
      packages: "external",
      plugins: [entriesFromSources(root)],
    });
    // The runner of node:test prints when its process ends.
    const tests = programs.filter(({ code }) => code.includes("node:test"));
    const others = programs.filter(({ code }) => !code.includes("node:test"));
    const options = { cwd: workingFolder, encoding: "utf8", timeout: 80_000 } as const;
    for (const together of [tests, others]) {
      // A page that fails is named on stderr, and those after it run all the same.
      const lines = together.map(({ page }) => {
        const ran = `await import("./${nameOf(page)}.mjs")`;
        return `console.log("\\f${page}");\n${ran}.catch((e) => console.error("${page}", e));\n`;
      });
      const file = join(folder, "all.mjs");
      writeFileSync(file, lines.join(""));
      const { stdout, ...end } = spawnSync(process.execPath, [file], options);
      ends.push(end);
      for (const [, page = "", text = ""] of stdout.matchAll(/\f(.*)\n([^\f]*)/g))
        outputs.set(page, text);
    }
    for (const one of [folder, workingFolder]) rmSync(one, { recursive: true });
  });

  test.each(programs)(
    "$page runs as printed, and prints what its comments say",
    ({ page, code }) => {
      const output = outputs.get(page) ?? "";
      expect(output).not.toBe("");
      const promised = [...code.matchAll(/console\.log\(.* \/\/ prints (.*)$/gm)].map(
        ([, text]) => text,
      );
      expect(output.split("\n")).toEqual(expect.arrayContaining(promised));
    },
  );

  test("each page ends by itself with status 0, and with nothing on stderr", () => {
    const end = { status: 0, stderr: "" };
    expect(ends).toMatchObject([end, end]);
  });
});
