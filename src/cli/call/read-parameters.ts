/** `--param name=value`, put where the operation's path wants it. */
import { ConfigurationError } from "../../errors.js";

type Values = Record<string, string | string[]>;

export interface Parameters {
  readonly path: Values;
  readonly query: Values;
}

/**
 * A name that stands in braces in the path template is a path parameter, any other a query parameter; a repeated one
 * is a list.
 *
 * @throws ConfigurationError `option_invalid`
 */
export function readParameters(given: readonly string[], template: string): Parameters {
  const inPath = new Set((template.match(/\{[^{}]+\}/g) ?? []).map((braced) => braced.slice(1, -1)));
  const path: Values = {};
  const query: Values = {};
  for (const one of given) {
    const equals = one.indexOf("=");
    const name = one.slice(0, Math.max(equals, 0));
    if (name === "")
      throw new ConfigurationError("option_invalid", "--param takes name=value.", { option: "--param" });
    const values = inPath.has(name) ? path : query;
    const before = Object.hasOwn(values, name) ? values[name] : undefined;
    const value = one.slice(equals + 1);
    values[name] = before === undefined ? value : [before, value].flat();
  }
  return { path, query };
}
