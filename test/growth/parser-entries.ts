// The parsers that test/fuzz knows, with inputs that grow: a shape alone, after an example, and in
// place of each value of an example.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { outcomeOf } from "../fuzz/fuzz.js";
import { parsersIn } from "../fuzz/parsers.js";
import type { Entry } from "./growth.js";
import { documents, lines, type Shapes, texts, within } from "./shapes.js";

const folder = mkdtempSync(join(tmpdir(), "bivariant-growth-"));
afterAll(() => rmSync(folder, { recursive: true }));

/**
 * Reading a file of the tools takes 20 ms or more, so that few shapes are tried in place of the
 * values of an example.
 */
const isFile = ({ name }: { name: string }) => /document|overlay|file|survey/.test(name);
const { spaces, dots, quotes, "open brackets": open } = lines;
const few = { spaces, dots, quotes, open } as Shapes;
const all = Object.entries({ ...texts, ...documents });
const [fewAlone, fewWithin] = [Object.entries({ ...few, ...documents }), Object.entries(few)];
const escaped = (text: string) => JSON.stringify(text).slice(1, -1);

/** An example around each of its values: strings of JSON, and words of any other text. */
function* around(example: string): Generator<(grown: string) => string> {
  yield (grown) => example + grown;
  const isJson = /^[[{]/.test(example);
  for (const { 0: value, index } of example.matchAll(isJson ? /(?<=:")[^"]*/g : /[^\W_]+/g)) {
    const [before, after] = [example.slice(0, index), example.slice(index + value.length)];
    yield (grown) => before + (isJson ? escaped(grown) : grown) + after;
  }
}

/** Each shape alone, and a fifth of the shapes at each place. The ways of a parser take turns. */
function* parserEntries(): Generator<Entry> {
  for (const parser of parsersIn(folder)) {
    const places = ["", ...parser.examples].flatMap((example) => [...around(example)]);
    for (const [place, put] of places.entries()) {
      const isAlone = place === 0;
      const shapes = !isFile(parser) ? all : isAlone ? fewAlone : fewWithin;
      for (const [index, [shape, text]] of shapes.entries()) {
        if (!isAlone && (place + index) % 5 > 0) continue;
        const way = (place + index) % (parser.ways ?? 1);
        yield {
          name: `${parser.name}, place ${place}, way ${way}: ${shape}`,
          most: 60_000,
          reaches: /^[a-z_]+$/,
          prepare: (size) => {
            const grown = put(within(size, text, put));
            return () => outcomeOf(parser, grown, way);
          },
        };
      }
    }
  }
}

export const entries: readonly Entry[] = [...parserEntries()];
