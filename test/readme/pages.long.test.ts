// The pages of the package: all examples compile, and the package has every page that is linked.
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { blocks, blockWith, compile, links, pages } from "./pages.js";

test("the TypeScript blocks that import the package compile, and use what they import", () => {
  const compiled = blocks.filter(
    // The stateful fake is of a document of its own, with which test/emulator compiles it.
    ({ language, code }) =>
      language === "ts" && code.includes('from "bivariant') && !code.includes("removeNote"),
  );
  expect(compiled.length).toBeGreaterThanOrEqual(5);
  const programs = compiled.map(
    ({ page, code }, index) => [`${page.replaceAll("/", "-")}-${index}`, code] as const,
  );
  const missing = blockWith("ts", "eachCustomer").replace("createConnector, ", "");
  const wrong = { missing, unused: `import { connect } from "bivariant";\n` };
  const found = compile({ ...Object.fromEntries(programs), ...wrong });
  expect(found.map((line) => line.replace(/\(\d+\) (TS\d\d).*/, " $1"))).toEqual([
    "missing TS23",
    "unused TS61",
  ]);
});

test("every link between pages leads to a file of the packed package, which has every page", () => {
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const { stdout } = spawnSync("npm", args, { encoding: "utf8" });
  const packed: string[] = JSON.parse(stdout)[0].files.map(({ path }: { path: string }) => path);
  expect(packed).toEqual(expect.arrayContaining([...pages]));
  expect(links.filter(({ file }) => !packed.includes(file))).toEqual([]);
});
