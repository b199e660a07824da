// The pages of the package: their examples run, their tables are complete, their links resolve.
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { settingVariables } from "../../src/cli/settings.js";
import {
  anchors,
  blockWith,
  bundleProgram,
  cacheFolder,
  exists,
  links,
  makeCacheFolder,
  pages,
  read,
  root,
  unreachable,
  wordsOf,
} from "./pages.js";

const scripts: Readonly<Record<string, string>> = JSON.parse(read("package.json")).scripts;

describe("the first example", () => {
  const example = blockWith("js", "connect({ baseUrl: url");

  test("has at most 20 lines", () => {
    expect(example.trim().split("\n").length).toBeLessThanOrEqual(20);
  });

  test("runs as printed, on the other variant, and fails visibly when none is served", async () => {
    const folder = cacheFolder();
    const bundled = (name: string, variants: string) =>
      bundleProgram(example.replace('["A"]', variants), folder, name);
    const run = (file: string) =>
      spawnSync(process.execPath, [file], { encoding: "utf8", timeout: 60_000 });
    await Promise.all([bundled("a.mjs", '["A"]'), bundled("b.mjs", '["B"]')]);
    const both = join(folder, "both.mjs");
    writeFileSync(both, 'await import("./a.mjs");\nawait import("./b.mjs");\n');
    const { status, stdout, stderr } = run(both);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    for (const variant of ["A", "B"]) expect(stdout).toContain(`Variant ${variant}:`);
    expect(stdout.match(/id: 'device-/g)).toHaveLength(6);
    const none = run(await bundled("none.mjs", "[]"));
    expect(none.status).not.toBe(0);
    expect(none.stderr).toContain("variant_not_served");
  });
});

describe("the tests of the emulator's pages", async () => {
  const folder = makeCacheFolder();
  afterAll(() => rmSync(folder, { recursive: true }));
  // A block defines its tests when it is loaded. They are part of this file.
  for (const text of [
    "an hour later the token is renewed",
    "clock.skipSleep()",
    "vi.useFakeTimers({",
  ])
    await import(await bundleProgram(blockWith("ts", text), folder, `${text.length}.mjs`));
});

test("the login without a browser gets a session", async () => {
  const file = await bundleProgram(
    blockWith("ts", "logInWithoutBrowser"),
    cacheFolder(),
    "login.mjs",
  );
  const { logInWithoutBrowser } = (await import(file)) as {
    logInWithoutBrowser(): Promise<string>;
  };
  expect(await logInWithoutBrowser()).toMatch(/^[\w-]{43}$/);
});

test("the typed doubles of calls are a success and a refusal", async () => {
  const file = await bundleProgram(blockWith("ts", "const callsOf"), cacheFolder(), "doubles.mjs");
  const { summary, succeeds, refuses } = await import(file);
  expect(await summary(succeeds)).toBe('[{"id":"pump"}]');
  expect(await summary(refuses)).toBe("refused with 403");
});

describe("the README at the root", () => {
  const readme = read("README.md");

  test("has at most 150 lines and lists every section", () => {
    expect(readme.split("\n").length).toBeLessThanOrEqual(151);
    const listed = [...readme.matchAll(/^- \[.*\]\(#(.*)\)$/gm)].map(([, anchor]) => anchor);
    expect(listed).toEqual(anchors("README.md").slice(1));
  });

  test("names the two commands to try", () => {
    expect(readme).toContain("npm ci && npm run demo");
    expect(readme).toContain("npm ci && npm test");
  });

  test("leads to every other page", () => {
    expect(unreachable("README.md", pages, links)).toEqual([]);
    const between = [
      { page: "README.md", file: "a.md" },
      { page: "b.md", file: "a.md" },
    ];
    expect(unreachable("README.md", ["README.md", "a.md", "b.md"], between)).toEqual(["b.md"]);
  });
});

describe("the pages of src", () => {
  const mostWords = 1_500;
  const ofSources = pages.filter((page) => page.startsWith("src/"));

  test(`have at most ${mostWords} words each, code included`, () => {
    expect(ofSources.length).toBeGreaterThan(50);
    expect(ofSources.filter((page) => wordsOf(page) > mostWords)).toEqual([]);
    expect(wordsOf("CHANGELOG.md")).toBeGreaterThan(mostWords);
  });

  test("are linked from the README of their folder", () => {
    const linked = new Set(links.map(({ page, file }) => `${page} ${file}`));
    const others = ofSources.filter((page) => !page.endsWith("/README.md"));
    expect(others.filter((page) => !linked.has(`${dirname(page)}/README.md ${page}`))).toEqual([]);
  });
});

test("every link between pages leads to a file and a heading that exist", () => {
  expect(links.length).toBeGreaterThan(20);
  const broken = links.filter(
    ({ file, anchor }) => !exists(file) || (anchor !== "" && !anchors(file).includes(anchor)),
  );
  expect(broken).toEqual([]);
});

test("the command that installs what generating needs is that of the error message, on every page", () => {
  const [, command = ""] =
    read("src/generate/emit/variant-types.ts").match(/"(npm install .*)"/) ?? [];
  const named = pages.flatMap(
    (page) => read(page).match(/npm install .*openapi-typescript.*/g) ?? [],
  );
  expect(named.map((line) => line.replace(/ +#.*/, ""))).toEqual(Array(3).fill(command));
});

test("every npm script that a page names exists", () => {
  const named = pages.flatMap((page) =>
    [...read(page).matchAll(/npm run ([\w:]+)/g)].map(([, name]) => name),
  );
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => scripts[name ?? ""] === undefined)).toEqual([]);
});

test("every source file and folder that a page names exists, in its part", () => {
  const missing = pages.flatMap((page) => {
    const part = page === "README.md" ? "src" : dirname(page);
    const below = readdirSync(join(root, part === "." ? "src" : part), {
      recursive: true,
      encoding: "utf8",
    });
    const inPart = below.map((path) => `/${path.replaceAll("\\", "/")}`);
    return [...read(page).matchAll(/`((?:[\w-]+\/)+|(?:[\w-]+\/)*[\w.-]+\.ts)`/g)]
      .map(([, path = ""]) => path.replace(/\/$/, ""))
      .filter((path) => ![".", "src", "generated"].some((folder) => exists(join(folder, path))))
      .filter((path) => !inPart.some((one) => one.endsWith(`/${path}`)))
      .map((path) => `${page}: ${path}`);
  });
  expect(missing).toEqual([]);
});

test("every requirement in the review of SECURITY.md names a test, or is not met or not applicable", () => {
  const [, review = ""] = read("SECURITY.md").split("\n## Review");
  const rows = review.split("\n").filter((line) => /^\| (?!Section)/.test(line));
  expect(rows.length).toBeGreaterThan(50);
  expect(rows.filter((row) => !/`test\/[^|]*\|$|\*\*(?:Not|Partly)/.test(row))).toEqual([]);
});

describe("the tables name every", () => {
  const quoted = (text: string, pattern: RegExp) =>
    [...text.matchAll(pattern)].map(([, name = ""]) => name);
  const absent = (page: string, names: readonly string[]) => {
    const text = read(page);
    return names.filter((name) => !text.includes(`\`${name}\``));
  };

  /** The codes of the rows "| `code` | `Class` | what to do |", each with its class. */
  const listedCodes = (page: string) =>
    [...read(page).matchAll(/^\| `([a-z_]+)` \| `(\w+)` \| \S/gm)].map(
      ([, code, of]) => `${of} ${code}`,
    );
  /** The codes in the types of a source, each with its class. Two have a class without a type. */
  const typedCodes = (source: string) =>
    [...read(source).matchAll(/export type (\w*Error)Code =([^;]+);/g)].flatMap(
      ([, of, union = ""]) =>
        quoted(union, /"([a-z_]+)"/g).map(
          (code) => `${of === "Error" ? ownClasses[code] : of} ${code}`,
        ),
    );
  const ownClasses: Readonly<Record<string, string>> = {
    token_refused: "TokenRequestError",
    rate_limited: "RateLimitedError",
  };

  test("error code of the package, once and with its class", () => {
    const codes = typedCodes("src/errors.ts");
    expect(codes.length).toBeGreaterThan(40);
    expect(listedCodes("src/client/errors.md").sort()).toEqual(codes.sort());
  });

  test("error code of the tools, once and with its class", () => {
    const sources = [
      "emulator/errors",
      "contract/errors",
      "survey/errors",
      "generate/document/source-file",
    ];
    const codes = sources.flatMap((name) => typedCodes(`src/${name}.ts`));
    expect(codes.length).toBeGreaterThan(40);
    expect(listedCodes("src/client/errors-of-tools.md").sort()).toEqual(codes.sort());
  });

  test("type of event", () => {
    const types = quoted(read("src/auth/auth.ts"), /type: "([a-z_]+)"/g);
    expect(types.length).toBeGreaterThan(10);
    expect(absent("src/client/events.md", types)).toEqual([]);
  });

  test("code of a page's error", () => {
    const codes = quoted(read("src/page/page-error.ts"), /^ {2}\| "([a-z_]+)"/gm);
    expect(codes.length).toBeGreaterThan(15);
    expect(absent("src/backend/errors.md", codes)).toEqual([]);
    // The page passes on what its backend answers.
    const answers = quoted(read("src/backend/error-answer.ts"), /\bcode: "([a-z_]+)"/g);
    expect(answers.length).toBeGreaterThan(4);
    expect(answers.filter((code) => !codes.includes(code))).toEqual([]);
  });

  test("variable of the command line", () => {
    const variables = new Set(settingVariables);
    // The page names a variable once and says that a file may hold its value.
    const named = [...variables].filter(
      (name) => !variables.has(name.replace(/_FILE$/, "")) || !name.endsWith("_FILE"),
    );
    expect(named.length).toBeGreaterThan(10);
    expect(absent("src/cli/settings.md", named)).toEqual([]);
  });
});
