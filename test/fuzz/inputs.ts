// Texts for a parser: valid ones that were changed, and others. A change is data, so that
// fast-check can shrink and print it.
import fc from "fast-check";
import { documents, texts } from "../growth/shapes.js";

const words = (text: string): string[] => text.split(" ");
const ODD = [
  ...words("__proto__ constructor prototype toString hasOwnProperty null undefined NaN -0 true"),
  ...words("[] {} [{}] % 1e309 -1 0 1.5 9007199254740993 99999999999999999999 0x10 1_000 ١٢"),
  ...words('%00 %ff %2e%2e%2f *a &a !!js << : = ; , " \\ \' -- # ? & "a":'),
  ...words(
    "\ud800 \udfff \0 \ufeff \u2028 \u202e\u{1f984} \r\n \r \t \x1b[2J \xff\xfe \xa0 \n\n \u001e",
  ),
  ...[" ", "\n- ", "<<: *a"],
];
const NESTS: readonly (readonly [open: string, close: string])[] = [
  ["[", "]"],
  ['{"a":', "}"],
  ['"', '"'],
  ["a: ", ""],
  ["- ", ""],
  ["[a]", ""],
];

const HOWS = words("flip cut end insert insert repeat nest number name value value swap");
type How = keyof ReturnType<typeof waysOf>;
/** `at` is a share of the text, in thousandths. `odd` is an index. */
type Change = readonly [how: How, at: number, length: number, odd: number];

const change: fc.Arbitrary<Change> = fc.tuple(
  fc.constantFrom(...(HOWS as How[])),
  fc.nat({ max: 999 }),
  fc.nat({ max: 40 }),
  fc.nat({ max: 10_000 }),
);

const pick = <T>(from: readonly T[], at: number): T => from[at % from.length] as T;
const LONGEST = 100_000;

function changed(text: string, change: Change): string {
  return waysOf(text, change)[change[0]]().slice(0, LONGEST);
}

/** What each way to change a text makes of it. */
function waysOf(text: string, [, share, length, odd]: readonly [unknown, number, number, number]) {
  const at = Math.floor((text.length * share) / 1_000);
  const [before, rest] = [text.slice(0, at), text.slice(at)];
  const [part, after] = [rest.slice(0, length), rest.slice(length)];
  /** Replaces the match that is nearest after `at`. */
  const instead = (pattern: RegExp, by: readonly string[]) =>
    before + rest.replace(pattern, () => pick(by, odd));
  return {
    flip: () =>
      before +
      String.fromCharCode((text.charCodeAt(at) || 0) ^ (1 << (odd % 16))) +
      text.slice(at + 1),
    cut: () => before + after,
    end: () => before,
    insert: () => before + pick(ODD, odd) + rest,
    repeat: () => before + part.repeat(2 + (odd % 60)) + after,
    nest: () => {
      const [open, close] = pick(NESTS, odd);
      const depth = odd % 50 === 0 ? 5_000 : length;
      return before + open.repeat(depth) + part + close.repeat(depth) + after;
    },
    number: () => instead(/\d+/, ["1e309", "-1", "0", "9".repeat(400), "1.5", "9007199254740993"]),
    name: () => instead(/[a-zA-Z_][\w-]*/, ODD),
    value: () => instead(/"[^"]*"|\d+|true|false|null/, ["null", "[]", "{}", "1", '""', "true"]),
    swap: () => after + part + before,
  };
}

const shapes = Object.values({ ...texts, ...documents });
const shaped = fc
  .tuple(fc.constantFrom(...shapes), fc.nat({ max: 600 }))
  .map(([text, size]) => text(size));
const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc
    .array(fc.nat({ max: 0xff_ff }), { maxLength: 40 })
    .map((units) => String.fromCharCode(...units)),
);

type Json = { [name: string]: unknown };
const VALUES: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1.5, 2 ** 53 + 2, 1e300, "", " ", "\ud800", "a\r\nb"],
  ...[[], {}, [[]], [null], ["a", "a"], { a: 1 }, { length: 1e9 }, { toString: null }],
  ...["1h", "0x10", "A", "https://a.example", "//", "x".repeat(5_000)],
  ...[{ $ref: "#" }, { $ref: "#/a~2" }, Array(500).fill(1)],
  JSON.parse("[".repeat(150) + "]".repeat(150)),
];
const NAMES = [...words("__proto__ constructor toString hasOwnProperty length then x $ref ä"), ""];
/** `at` counts the members of all objects and lists, from the outside in. */
type MemberChange = readonly [how: "replace" | "drop" | "add" | "copy", at: number, odd: number];
const memberChange: fc.Arbitrary<MemberChange> = fc.tuple(
  fc.constantFrom<MemberChange[0]>("replace", "replace", "drop", "add", "copy"),
  fc.nat({ max: 200 }),
  fc.nat({ max: 10_000 }),
);

/** Changes a member of JSON, so that it still is JSON. */
function memberChanged(text: string, [how, at, odd]: MemberChange): string {
  const root: unknown = JSON.parse(text);
  const members: (readonly [Json, string])[] = [];
  const parents = [root];
  for (const parent of parents)
    if (typeof parent === "object" && parent !== null)
      for (const [name, value] of Object.entries(parent)) {
        members.push([parent as Json, name]);
        parents.push(value);
      }
  if (members.length === 0) return text;
  const [parent, name] = pick(members, at);
  if (how === "drop") delete parent[name];
  else {
    const value = how === "copy" ? structuredClone(pick(members, odd)[0]) : pick(VALUES, odd);
    const to = how === "add" ? pick(NAMES, odd) : name;
    // An assignment to `__proto__` would be no member.
    if (!(Array.isArray(parent) && how === "add"))
      Object.defineProperty(parent, to, {
        value,
        enumerable: true,
        configurable: true,
        writable: true,
      });
  }
  return JSON.stringify(root);
}

const isJson = (text: string) => /^[[{]/.test(text) && typeof jsonOrText(text) === "object";

/**
 * Mostly an example with one to four changes, else what comes near no example, or an example
 * followed by such a text.
 */
export function inputOf(examples: readonly string[]): fc.Arbitrary<string> {
  const example = fc.constantFrom(...examples);
  const mutated = fc
    .tuple(example, fc.array(change, { minLength: 1, maxLength: 4 }))
    .map(([text, changes]) => changes.reduce(changed, text));
  const followed = fc.tuple(example, shaped).map(([text, more]) => (text + more).slice(0, LONGEST));
  const objects = examples.filter(isJson);
  const altered = () =>
    fc
      .tuple(fc.constantFrom(...objects), fc.array(memberChange, { minLength: 1, maxLength: 4 }))
      .map(([text, changes]) => changes.reduce(memberChanged, text).slice(0, LONGEST));
  return fc.oneof(
    ...(objects.length > 0 ? [{ weight: 14, arbitrary: altered() }] : []),
    { weight: 14, arbitrary: mutated },
    { weight: 2, arbitrary: anyText },
    { weight: 2, arbitrary: shaped },
    { weight: 1, arbitrary: followed },
  );
}

/** Bytes as they are if all units are bytes, which makes invalid UTF-8 too; else UTF-8. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text, /[^\0-\xff]/.test(text) ? "utf8" : "latin1"));
}

/** A header that `Headers` accepts, as an HTTP parser would have made it. */
export function headerOf(text: string): string {
  return text.replace(/[\0\r\n]|[^\0-\xff]/g, "?").slice(0, 65_000);
}

/** What a message may hold: the value if it is JSON, else the text. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
