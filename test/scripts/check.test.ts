// The choice of checks: every one by default, and a misspelt name is never "all green".
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { chooseChecks } from "../../scripts/check.js";

test("every check is a script of package.json", () => {
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining([...chooseChecks([])]));
});

test.each([
  { name: "--only", args: ["--only", "test,lint"], checks: ["lint", "test"] },
  { name: "--skip", args: ["--only", "test,lint", "--skip", "test"], checks: ["lint"] },
])("$name keeps the order of the checks", ({ args, checks }) => {
  expect(chooseChecks(args)).toEqual(checks);
});

test.each([
  { name: "an unknown check", args: ["--only", "lnt"], says: 'no check "lnt"' },
  { name: "an unknown check to skip", args: ["--skip", "tests"], says: 'no check "tests"' },
  { name: "an unknown flag", args: ["--onyl", "lint"], says: "--onyl" },
])("$name is refused", ({ args, says }) => {
  expect(() => chooseChecks(args)).toThrow(says);
});
