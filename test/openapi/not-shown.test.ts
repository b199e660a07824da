/** Everything the description leaves open is marked in the documents, and nothing else is. */
import { describe, expect, test } from "vitest";
import { unknowns } from "../../generated/unknowns.js";
import { LEFT_OPEN, NOT_SHOWN, NOT_SHOWN_COUNT } from "./not-shown-passages.js";

const PASSAGES = [...NOT_SHOWN, ...LEFT_OPEN];

describe("the marks in the documents", () => {
  test.each(PASSAGES)("section $section: $quote", ({ section, ids }) => {
    for (const id of ids) expect(unknowns).toContainEqual(expect.objectContaining({ id, section }));
  });

  test("stand for a passage each", () => {
    const known = new Set(PASSAGES.flatMap((passage) => passage.ids));
    expect(unknowns.filter(({ id }) => !known.has(id))).toEqual([]);
  });

  test("share their ids where both documents leave the same open", () => {
    const shared = unknowns.filter(({ variants }) => variants.length === 2).map(({ id }) => id);
    expect(shared.sort()).toEqual([
      "business-functions",
      "current-variant",
      "device-body",
      "envelope",
      "other-endpoints",
      "other-events",
      "other-limits",
      "other-resource-fields",
      "version-policy",
    ]);
  });
});

test("each passage says it once, and none is left out", () => {
  const counts = NOT_SHOWN.map(({ quote }) => quote.split("not shown").length - 1);
  expect(counts).toEqual(NOT_SHOWN.map(() => 1));
  expect(NOT_SHOWN).toHaveLength(NOT_SHOWN_COUNT);
});
