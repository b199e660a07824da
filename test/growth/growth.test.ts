// What a stranger sends costs processor time in proportion to its size, at every entry (CWE-407, CWE-1333).
// Here are those of the backend, which are anonymous: each place with a sixth of the shapes, other ones at each place. All
// shapes, and the other entries, are in the long suite.
import { describe, expect, test } from "vitest";
import { entries } from "./backend-entries.js";
import { superLinear } from "./growth.js";

describe("the measurement", () => {
  const planted = (name: string, work: (text: string) => unknown) => ({
    ...{ name, most: 8_000, reaches: /./ },
    prepare: (size: number) => {
      const text = `x${" ".repeat(size)}x`;
      return () => work(text);
    },
  });

  test("finds work that is quadratic: a pattern that begins again at each space, and a search in a list", async () => {
    const quadratic = [
      planted("pattern", (text) => text.replace(/[ \t]+$/, "")),
      planted("list", (text) => {
        const names = Array.from(text.slice(0, text.length / 2), (_, at) => `k${at}`);
        return names.filter((name, at) => names.indexOf(name) === at);
      }),
    ];
    // A busy machine may hide the growth of one measurement, and never adds to it in all rounds.
    const found = new Set<string>();
    for (let run = 0; run < 4 && found.size < quadratic.length; run++)
      for (const name of await superLinear(quadratic)) found.add(name);
    expect([...found].sort()).toEqual(["list", "pattern"]);
  });

  test("finds an input that was refused before the code that an entry is about", async () => {
    const early = {
      ...planted("early", () => Response.json({ error: "too_large" })),
      reaches: /^200 .*read/,
    };
    expect(await superLinear([early])).toEqual(['early is answered 200 {"error":"too_large"}']);
  });

  test("finds nothing in work that is long but linear", async () => {
    const busy = (text: string) => {
      let sum = 0;
      for (let times = 0; times < 200; times++)
        for (let at = 0; at < text.length; at++) sum += text.charCodeAt(at);
      return sum;
    };
    expect(await superLinear([planted("loop", busy)])).toEqual([]);
  });
});

test("no input of the backend, of a sixth of the shapes, takes more than linear time", async () => {
  expect(await superLinear(entries.filter((_, at) => at % 6 === 0))).toEqual([]);
});
