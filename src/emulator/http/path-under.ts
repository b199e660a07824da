// The path of a request under the public URL's: routes are literal, and whatever stands before them is no pattern.
import { getPath } from "hono/utils/url";

/** Undefined: not under it. Decoded as far as routing needs, so that every spelling of the prefix is the same one. */
export type PathUnder = (request: Request) => string | undefined;

/** `prefix` is the path of the public URL, without a trailing slash. */
export function pathUnder(prefix: string): PathUnder {
  if (prefix === "") return getPath;
  // RFC 3986 section 6.2.2: /%7Euser and /~user are one path.
  const decoded = getPath({ url: `http://emulator.localhost${prefix}` } as Request);
  return (request) => {
    const path = getPath(request);
    return path.startsWith(`${decoded}/`) ? path.slice(decoded.length) : undefined;
  };
}
