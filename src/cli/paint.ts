/** Colour, where it is wanted: on a terminal that is not dumb, unless NO_COLOR says otherwise (no-color.org). */

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;

export type Paint = (style: keyof typeof codes, text: string) => string;

export function painter(
  stream: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
): Paint {
  const isWanted = stream.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
  return (style, text) => (isWanted ? `\u001b[${codes[style]}m${text}\u001b[0m` : text);
}
