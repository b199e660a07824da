/**
 * Finds the name that a function does not know among those of its options, and the name that was
 * meant. It knows nothing of the service, so every part of the package may use it.
 */

/**
 * The names of the options `T`: without the name of an option, or with a surplus one, its table
 * does not compile. `false` is a name that is accepted without being recommended.
 */
export type NamesOf<T> = { readonly [Name in keyof T]-?: boolean };

export type Names = Readonly<Record<string, boolean>>;

/** Says what to do with a name that belongs elsewhere, if it knows better than by the letters. */
export type Advice = (name: string) => string | undefined;

/** Advice for the names of another table. */
export function namesElsewhere(names: Names, advice: string): Advice {
  return (name) => (Object.hasOwn(names, name) ? advice : undefined);
}

/** `…` stands for a name that is not shown. */
export interface UnknownName {
  readonly name: string;
  readonly message: string;
}

/**
 * Finds the first name that the function `of` does not take. Only own, enumerable names count: what
 * is inherited belongs to a class.
 */
export function unknownName(
  of: string,
  options: object,
  names: Names,
  advice?: Advice,
): UnknownName | undefined {
  // Calls are checked too, so this makes nothing for a known name: `in` takes half the time of
  // Object.keys.
  for (const name in options) {
    // A name such as "constructor" finds a member of Object.prototype, which is not a boolean.
    if (typeof names[name] === "boolean" || !Object.hasOwn(options, name)) continue;
    const shown = isName(name) ? name : "…";
    const remedy = advice?.(name) ?? adviceFor(name, names);
    return { name: shown, message: `${shown} is not an option of ${of}. ${remedy}` };
  }
  return undefined;
}

/**
 * Whether a name may appear in a message. A name with digits may not, because a forgotten space
 * turns a secret into a key (`clientSecret:hunter2`).
 */
export function isName(name: string): boolean {
  return /^[a-z_.$-]{1,40}$/i.test(name);
}

/** Says to use the name that is most alike, or else which names there are. */
function adviceFor(name: string, names: Names): string {
  const known = Object.keys(names).filter((one) => names[one]);
  const meant = mostAlike(name, known);
  return meant ? `Use ${meant}.` : `It takes ${known.join(", ")}.`;
}

/** Returns the known name that a name is meant to be, if it is like one. */
export function mostAlike(name: string, known: readonly string[]): string | undefined {
  const asked = name.slice(0, 200).toLowerCase();
  let meant: string | undefined;
  // From this share of common letters on, two names are alike.
  let most = 0.66;
  for (const one of known) {
    const whole = one.toLowerCase();
    // A part of a name, such as `secret`, has few letters in common with the whole.
    const share =
      asked.length > 2 && whole.includes(asked)
        ? 0.6 + asked.length / whole.length / 2
        : (2 * commonLetters(asked, whole)) / (asked.length + whole.length);
    if (share > most) [most, meant] = [share, one];
  }
  return meant;
}

/** The parts of an issue of zod that are read here; `inst` is the schema. */
interface Issue {
  readonly code?: string | undefined;
  readonly keys?: readonly string[];
  readonly errors?: readonly (readonly { readonly code?: string; readonly message: string }[])[];
  readonly inst?: { readonly _zod: { readonly def: object } } | undefined;
}

/**
 * The words of zod for members that a strict object does not have:
 * `schema.safeParse(input, { error: unknownMembers })`.
 */
export function unknownMembers({ code, keys = [], errors = [], inst }: Issue): string | undefined {
  // That a member is unknown says more than that no part of a union matches.
  if (code === "invalid_union")
    return errors.flat().find((one) => one.code === "unrecognized_keys")?.message;
  if (code !== "unrecognized_keys") return undefined;
  const { shape = {} } = (inst?._zod.def ?? {}) as { readonly shape?: object };
  const names = Object.fromEntries(Object.keys(shape).map((name) => [name, true]));
  const words = keys.map((key) => {
    const [first, ...rest] = adviceFor(key, names).slice(0, -1);
    return `${isName(key) ? `"${key}"` : "…"} (${first?.toLowerCase()}${rest.join("")})`;
  });
  return `Unrecognized key${keys.length === 1 ? "" : "s"}: ${words.join(", ")}`;
}

/** The length of the longest common subsequence. Names are short, so its square matters little. */
function commonLetters(one: string, other: string): number {
  let row: number[] = [];
  for (const letter of one) {
    const above = row;
    row = [];
    for (let at = 0; at < other.length; at++) {
      const isSame = letter === other[at];
      row[at] = isSame ? (above[at - 1] ?? 0) + 1 : Math.max(row[at - 1] ?? 0, above[at] ?? 0);
    }
  }
  return row.at(-1) ?? 0;
}
