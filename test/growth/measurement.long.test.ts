// The measurement of growth finds planted work that is quadratic, and nothing else.
import { describe, expect, test } from "vitest";
import { superLinear } from "./growth.js";

describe("the measurement", () => {
  const planted = (name: string, work: (text: string) => unknown) => ({
    name,
    most: 8_000,
    reaches: /./,
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
