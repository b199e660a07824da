// Values that no well-behaved sender sends: what breaks parsers, what is inherited, what is huge, what is of another type.
import fc from "fast-check";

const ODD_STRINGS: readonly string[] = [
  "",
  " ",
  "\0",
  "\t\r\n",
  "\u{feff}",
  "\u{fffd}",
  "\u{d800}",
  "\u{202e}\u{1f984}",
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "null",
  "undefined",
  "NaN",
  "-0",
  "1e309",
  "true",
  "[object Object]",
  "<script>alert(1)</script>",
  "' OR 1=1 --",
  "..",
  "../../etc/passwd",
  "%2e%2e%2f",
  "%",
  "%zz",
  "%00",
  "%ff%fe",
  "a=b&c=d",
  "{tenantId}",
  "*",
  ":tenantId",
  "Bearer",
  "eyJhbGciOiJub25lIn0.e30.",
  "acme",
  "globex",
  "portal",
  "vault",
  "client_credentials",
  "refresh_token",
];

const OTHER_TYPES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  2 ** 53,
  Number.MAX_VALUE,
  [],
  {},
  [[]],
  ["client_credentials"],
  { toString: null },
  [{ toString: null }],
  { length: 1e9 },
];

const LENGTHS = [41, 41, 201, 201, 4096, 65_537];

/** Arrays in arrays, deeper than a recursion may go; made only where it is written, so that a failure can be printed. */
class Nested {
  readonly depth: number;

  constructor(depth: number) {
    this.depth = depth;
  }

  toJSON(): unknown {
    let value: unknown = [];
    for (let level = 1; level < this.depth; level++) value = [value];
    return value;
  }
}

/** Of any code points; `fc.string` of them would first list all there are. */
const anyText = fc
  .array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength: 30 })
  .map((points) => String.fromCodePoint(...points));

export const oddString: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...ODD_STRINGS) },
  { weight: 3, arbitrary: anyText },
  { weight: 1, arbitrary: fc.constantFrom(...LENGTHS).map((length) => "x".repeat(length)) },
  { weight: 1, arbitrary: fc.base64String({ maxLength: 60 }) },
);

export const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: oddString },
  { weight: 3, arbitrary: fc.constantFrom(...OTHER_TYPES) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  { weight: 1, arbitrary: fc.constantFrom(100, 2000).map((depth) => new Nested(depth)) },
);
