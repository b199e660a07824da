// Plants patterns of known cost in a small tree, and expects the check to tell the slow ones.
import { expect, test } from "vitest";
import { checkPatterns } from "../../scripts/check-patterns.js";
import { plant } from "./planted-tree.js";

const file = "src/parse.ts";
const verdictsOf = (code: string) => checkPatterns(plant({ [file]: code }), []);

test.each([
  { name: "a loop in a loop", code: "export const p = /^(a+)+$/;", verdict: "exponential" },
  {
    name: "spaces at the end",
    code: "export const p = /[ \\t]+$/;",
    verdict: "2nd degree polynomial",
  },
  {
    name: "two loops that meet",
    code: "export const p = /^a*.*a*b/s;",
    verdict: "3rd degree polynomial",
  },
  {
    name: "an open bracket without its end",
    code: "export const p = /<[^>]*>/g;",
    verdict: "2nd degree",
  },
  {
    name: "a constant for RegExp",
    code: 'export const p = new RegExp("x+$", "i");',
    verdict: "2nd degree",
  },
  { name: "a call of RegExp", code: "export const p = RegExp(`x+$`);", verdict: "2nd degree" },
  {
    name: "text for match",
    code: 'export const p = (s: string) => s.match("x+$");',
    verdict: "2nd degree",
  },
  {
    name: "a look-ahead",
    code: "export const p = /^a+(?=b)/;",
    verdict: "cannot be judged (look-ahead",
  },
  { name: "a back reference", code: "export const p = /^(a+)\\1/;", verdict: "cannot be judged" },
  {
    name: "one built at run time",
    code: "export const p = (s: string) => new RegExp(s);",
    verdict: "List it",
  },
  { name: "one in a template", code: `export const p = "".search(\`\${1}\`);`, verdict: "List it" },
])("it is a finding: $name", async ({ code, verdict }) => {
  expect(await verdictsOf(`// line 1\n${code}\n`)).toEqual([
    {
      file,
      line: 2,
      text: expect.any(String),
      ok: false,
      verdict: expect.stringContaining(verdict),
    },
  ]);
});

test.each([
  { name: "an anchored end", code: "export const p = /^[ \\t]+$/;" },
  {
    name: "a loop that each character ends or goes on",
    code: 'export const p = /"(?:[^"\\\\]|\\\\.)*/;',
  },
  { name: "a counted class", code: "export const p = /^[\\w-]{43}$/;" },
  { name: "trailing slashes after a greedy start", code: "export const p = /^(.*[^/])?\\/+$/;" },
  { name: "two patterns", code: "export const p = [/a/, new RegExp('b', 'u')];" },
])("it takes linear time: $name", async ({ code }) => {
  expect((await verdictsOf(code)).filter(({ ok }) => !ok)).toEqual([]);
});

test("a pattern that is built at run time may be listed with a reason, as long as it is there", async () => {
  const tree = plant({ [file]: "export const p = (s: string) => new RegExp(s);\n" });
  const listed = { file, text: "new RegExp(s)", reason: "never run" };
  const gone = { file, text: "new RegExp(t)", reason: "never run" };
  const verdicts = await checkPatterns(tree, [listed, gone]);
  expect(verdicts.map(({ text, ok }) => [text, ok])).toEqual([
    ["new RegExp(s)", true],
    ["new RegExp(t)", false],
  ]);
});
