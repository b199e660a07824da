// Texts that patterns and loops take long for: runs of what they skip, of what they look for, and
// of what ends neither.

type Text = (size: number) => string;
export type Shapes = Readonly<Record<string, Text>>;

const around = (part: string): Text => {
  return (size) => `x${part.repeat(Math.ceil(size / part.length))}x`;
};

/** Made of characters that a header value may have. */
export const lines: Shapes = {
  letters: around("a"),
  digits: around("1"),
  spaces: around(" "),
  tabs: around("\t "),
  commas: around(", "),
  semicolons: around("; "),
  "equals signs": around("="),
  pairs: around("a=b&"),
  dots: around("."),
  slashes: around("/"),
  dashes: around("-"),
  "open braces": around("{"),
  "open brackets": around("["),
  "question marks": around("?#"),
  quotes: around('"'),
  "backslashes and quotes": around('\\"'),
  "percent signs": around("%25"),
  "encoded dots": around("%2e/"),
  "the start of a token": around("eyJ"),
  "words and punctuation": around("a!), "),
};

export const texts: Shapes = {
  ...lines,
  "line breaks": around("\n"),
  "blank lines": around("\r\n\t"),
  "control characters": around("\u0000\u001b"),
  "letters of other scripts": around("é\u0660"),
  "characters of two units": around("\u{1f600}"),
};

/** JSON of about that many characters, whatever it means to its reader. */
export const documents: Shapes = {
  "many keys": (size) => json(Object.fromEntries(keys(size / 12).map((key) => [key, 1]))),
  "nested objects": (size) => `${'{"a":'.repeat(size / 6)}1${"}".repeat(size / 6)}`,
  "nested lists": (size) => "[".repeat(size / 2) + "]".repeat(size / 2),
  "a list of numbers": (size) => json(keys(size / 2).map(() => 1)),
  "a list of objects": (size) => json(keys(size / 15).map((a) => ({ a }))),
  "one key many times": (size) => `{${'"a":1,'.repeat(size / 6)}"a":1}`,
  "a number of many digits": (size) => "1".repeat(size),
  "an open string": (size) => `{"a":"${"x".repeat(size)}`,
  "an open list": (size) => "[1,".repeat(size / 3),
  "spaces before nothing": (size) => " ".repeat(size),
};

export const keys = (count: number): string[] =>
  Array.from({ length: Math.ceil(count) }, (_, at) => `k${at}`);

const json = (value: unknown) => JSON.stringify(value);

/**
 * A text of at most `size` bytes once it was written, so that it is not refused for its size before
 * it is read.
 */
export const within = (size: number, text: Text, write = (of: string): string => of): string =>
  text(Math.min(size, Math.floor((size * size) / Buffer.byteLength(write(text(size))))));
