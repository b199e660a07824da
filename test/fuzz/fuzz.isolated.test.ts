// What `npm run fuzz` found, and what it would notice. That growth is measured: test/growth. A
// process of its own: the garbage of a large heap takes long to collect.
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../stores/temporary-folder.js";
import { fuzz } from "./fuzz.js";
import { type Parser, parsersIn } from "./parsers.js";

const noText = { variant: "B", toString: null };
test.each([
  {
    name: "a document whose version has a toString that is not a function",
    parser: "document",
    text: JSON.stringify({ openapi: noText, paths: {} }),
    code: "document_version_unsupported",
  },
  {
    name: "customers in deeply nested lists",
    parser: "customers of a survey",
    text: "- ".repeat(30_000),
    code: "customers_invalid",
  },
  {
    name: "a seed file of deeply nested lists, which ended the process",
    parser: "seed file",
    text: "[".repeat(20_000),
    code: "seed_invalid",
  },
  {
    name: "a settings file of deeply nested lists",
    parser: "settings file",
    text: "[".repeat(6_000) + "]".repeat(6_000),
    code: "option_invalid",
  },
  {
    name: "an answer to the page whose error has a toString that is not a function",
    parser: "answer of the backend to the page",
    text: JSON.stringify({ error: noText }),
    code: "backend_failed",
  },
])("an input that once broke a parser is refused: $name", async ({ parser: name, text, code }) => {
  const parser = parsersIn(temporaryFolder()).find((one) => one.name === name);
  await expect((async () => parser?.parse(text))()).rejects.toMatchObject({ code });
});

describe("the fuzzer notices", () => {
  const parser = (parse: Parser["parse"]): Parser => ({
    name: "planted",
    share: 1,
    examples: ['{"a":1}'],
    parse,
  });

  test("an error that is not the package's own, with a small input", async () => {
    const planted = parser((text) => {
      if (text.includes("__proto__")) throw new TypeError("planted");
    });
    const { broken } = await fuzz(planted, 1_000, { seed: 1 });
    expect(broken).toEqual([
      expect.stringMatching(/^seed 1, path [\d:]+, input ".{9,40}": TypeError: planted/),
    ]);
  });

  test("a parser that keeps what it read", async () => {
    const kept: unknown[] = [];
    const planted = parser(() => kept.push(new Array(20_000).fill(1)));
    expect((await fuzz(planted, 300, { seed: 1 })).broken).toEqual([
      expect.stringContaining("it keeps"),
    ]);
  });
});
