/** Finds lines and columns in JSON: the YAML parser would need a minute for a large document. */

/**
 * The children of a JSON object or array, by the offset of the container: where their key and their
 * value begin.
 */
export type JsonPositions = Map<number, ReadonlyMap<string, readonly [key: number, value: number]>>;

/**
 * Line and column of the value that the keys lead to, or of its key; of the deepest one that
 * exists.
 */
export function jsonPosition(
  text: string,
  known: JsonPositions,
  keys: readonly string[],
  part?: "key",
): string {
  let place: readonly [key: number, value: number] = [0, text.search(/\S/)];
  for (const key of keys) {
    const [, container] = place;
    const children = known.get(container) ?? jsonChildren(text, container);
    known.set(container, children);
    const child = children.get(key);
    if (child === undefined) break;
    place = child;
  }
  const offset = place[part === "key" ? 0 : 1];
  const before = text.lastIndexOf("\n", offset - 1);
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1))
    line += 1;
  return `${line}:${offset - before}`;
}

/** Reads valid JSON only, so everything that is not a string or a bracket can be passed over. */
function jsonChildren(
  text: string,
  container: number,
): ReadonlyMap<string, readonly [number, number]> {
  const children = new Map<string, readonly [number, number]>();
  const isList = text[container] === "[";
  if (!isList && text[container] !== "{") return children;
  const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},:]|[^\s[\]{},:"]+/g;
  token.lastIndex = container + 1;
  let level = 0;
  /** The tokens of one member that are not inside of its value: the key, a colon, the value. */
  let member: RegExpExecArray[] = [];
  for (let found = token.exec(text); found !== null; found = token.exec(text)) {
    const [word] = found;
    if (word === "]" || word === "}") level -= 1;
    if (level < 0) break;
    if (level === 0 && word === ",") member = [];
    else if (level === 0) member.push(found);
    const [first] = member;
    if (level === 0 && first !== undefined && member.length === (isList ? 1 : 3))
      children.set(isList ? String(children.size) : JSON.parse(first[0]), [
        first.index,
        found.index,
      ]);
    if (word === "[" || word === "{") level += 1;
  }
  return children;
}
