/** Nothing public is `any`, however deep, and every exported type has its line in no-any.test-d.ts. */
import { readFileSync } from "node:fs";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { walkTypes } from "./walk-types.js";

/** Each entry, and the interface of no-any.test-d.ts that lists its types. */
const entries = {
  "src/index.ts": "Main",
  "src/variant-a.ts": "VariantA",
  "src/variant-b.ts": "VariantB",
  "src/validate.ts": "Validation",
};
const others = ["src/emulator/index.ts", "src/generate/index.ts"];
const control = "test/types/walk-control.ts";
const walks = walkTypes([...Object.keys(entries), ...others, control]);

/** The members of an interface of no-any.test-d.ts. */
function membersOf(name: string): string[] {
  const file = new URL("no-any.test-d.ts", import.meta.url);
  const source = ts.createSourceFile("x.ts", readFileSync(file, "utf8"), ts.ScriptTarget.ES2022, true);
  return source.statements
    .filter(ts.isInterfaceDeclaration)
    .filter((found) => found.name.text === name)
    .flatMap(({ members }) => members.map((member) => member.name?.getText() ?? ""));
}

describe.each([...Object.keys(entries), ...others])("the types of %s", (file) => {
  test("hold no any: not in a member, a parameter, an answer or a type argument", () => {
    expect(walks.get(file)?.found).toEqual([]);
  });
});

test("the walk goes deep: it finds what the control hides", () => {
  expect(walks.get(control)?.found).toEqual([
    "answer()[]",
    "argument[]",
    "member.deep.er",
    "parameter(options).fetch()",
    "union[key]",
  ]);
});

describe.each(Object.entries(entries))("%s", (file, name) => {
  test(`exports no type without a line under ${name} in no-any.test-d.ts`, () => {
    expect(membersOf(name).sort()).toEqual(walks.get(file)?.types);
  });
});
