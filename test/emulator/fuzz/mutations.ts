// Mutations are data, so that fast-check can make, shrink and print them. `mutate` applies them to
// a request.
import fc from "fast-check";
import { pluginKey } from "../deployment.js";
import { compactJws, rs256 } from "../signing-key.js";

type Field = readonly [name: string, value: unknown];
type PartName = "method" | "path" | "query" | "headers" | "body" | "jose" | "claims";
/** A request as lists of fields. The assertion is decoded, and signed again when changed. */
type Parts = Readonly<Record<PartName, readonly Field[]>>;
type FieldChange = "drop" | "replace" | "add" | "twice" | "truncate" | "lengthen" | "swap";
type ByteChange = "cut" | "insert" | "repeat" | "replace-all";

/** `at` is an index, modulo the number of fields or bytes. */
export type Mutation =
  | { part: PartName; how: FieldChange; at: number; name: string; to: unknown }
  | { part: "bytes"; how: ByteChange; at: number; to: readonly number[] }
  | { part: "stream"; how: "broken" | "endless" };

const words = (text: string): string[] => text.split(" ");
const ODD_STRINGS = [
  ...words("__proto__ constructor hasOwnProperty null undefined NaN -0 1e309 true {tenantId} *"),
  ...words(".. ../../etc/passwd %2e%2e%2f % %zz %00 %ff%fe a=b&c=d acme globex portal vault none"),
  ...["", " ", "\0", "\t\r\n", "\ufeff", "\ufffd", "\ud800", "\u202e\u{1f984}", "' OR 1=1 --"],
  "<script>alert(1)</script>",
];
const OTHER_TYPES: readonly unknown[] = [
  null,
  true,
  -1,
  1.5,
  2 ** 53,
  [],
  {},
  { length: 1e9 },
  { toString: null },
];
/** Too deep for a recursion. Only the request spells it out, so that a failure can be printed. */
const nested = (depth: number) => ({
  depth,
  toJSON: (): unknown => JSON.parse("[".repeat(depth) + "]".repeat(depth)),
});
/** `fc.string` with all code points as its units would first list them all. */
const anyText = fc
  .array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength: 30 })
  .map((points) => String.fromCodePoint(...points));
const lengthy = fc.constantFrom(41, 201, 4096, 65_537).map((length) => "x".repeat(length));
const oddString = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...ODD_STRINGS) },
  { weight: 3, arbitrary: anyText },
  { weight: 1, arbitrary: lengthy },
);
const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 5, arbitrary: oddString },
  { weight: 3, arbitrary: fc.constantFrom<unknown>(...OTHER_TYPES) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  { weight: 1, arbitrary: fc.constantFrom(100, 2000).map(nested) },
);
const METHODS = words("GET HEAD POST PUT PATCH DELETE OPTIONS QUERY BREW __proto__ get");
const HEADERS = words(
  "content-type authorization cookie x-form-token x-envelope host origin referer accept forwarded " +
    "content-length content-encoding x-forwarded-host x-http-method-override range __proto__",
);
const HEADER_VALUES = [
  ...words("application/json application/x-www-form-urlencoded text/plain gzip -1 null"),
  "application/x-www-form-urlencoded; charset=utf-16",
  ...["multipart/form-data; boundary=x", "Bearer ", "Bearer x", "Basic d29ya2VyOng="],
  "a=b; a=c; =; emulator-host=x; emulator-login=",
];
const CLAIMS = words("iss sub aud jti iat exp nbf __proto__");
const JOSE = words("alg kid typ crit b64 jwk jku x5u x5c zip __proto__");
const FIELDS = words("client_id client_secret code scope state redirect_uri request __proto__");
/** Invalid UTF-8, a byte order mark, and bytes that end a field, a string or a line. */
const ODD_BYTES = words("ff c080 eda080 efbbbf 00 25 26 22 0a").map((hex) => [
  ...Buffer.from(hex, "hex"),
]);

const REPLACING = words("drop replace replace replace add twice truncate lengthen swap swap");
const SETTING = words("add add add drop truncate lengthen");
function changeOf(
  weight: number,
  part: PartName,
  changes: readonly string[],
  names: readonly string[],
  to: fc.Arbitrary<unknown> = oddValue,
): fc.WeightedArbitrary<Mutation> {
  const how = fc.constantFrom(...(changes as FieldChange[]));
  const [at, name] = [fc.nat({ max: 50 }), fc.constantFrom(...names)];
  return { weight, arbitrary: fc.record({ part: fc.constant(part), how, at, name, to }) };
}
const bytesOf: fc.Arbitrary<Mutation> = fc.record({
  part: fc.constant("bytes" as const),
  how: fc.constantFrom<ByteChange>("cut", "insert", "repeat", "replace-all"),
  at: fc.nat({ max: 2000 }),
  to: fc.oneof(fc.constantFrom(...ODD_BYTES), fc.array(fc.nat({ max: 255 }), { maxLength: 8 })),
});
const streamOfKind: fc.Arbitrary<Mutation> = fc.record({
  part: fc.constant("stream" as const),
  how: fc.constantFrom("broken" as const, "endless" as const),
});
const headerValue = fc.oneof(fc.constantFrom(...HEADER_VALUES), oddString);

export const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  changeOf(12, "body", REPLACING, FIELDS),
  changeOf(4, "query", REPLACING, FIELDS),
  changeOf(3, "path", REPLACING, FIELDS),
  changeOf(2, "method", ["replace"], [""], fc.constantFrom(...METHODS)),
  changeOf(4, "headers", SETTING, HEADERS, headerValue),
  changeOf(2, "claims", SETTING, CLAIMS, fc.oneof(oddValue, fc.integer())),
  changeOf(1, "jose", SETTING, JOSE),
  { weight: 4, arbitrary: bytesOf },
  { weight: 1, arbitrary: streamOfKind },
);

const FORM = "application/x-www-form-urlencoded";
const SECRET_FIELDS = words(
  "authorization cookie client_assertion code code_verifier refresh_token client_secret",
);

/** Returns the mutated request, and the secrets of the original one, which no answer may repeat. */
export async function mutate(
  origin: string,
  path: string,
  init: RequestInit,
  mutations: readonly Mutation[],
): Promise<{ request: Request; secrets: readonly string[] }> {
  const original = new Request(new URL(path, origin), init);
  const text = await original.text();
  const type = original.headers.get("content-type") ?? "";
  const parts = read(original, type, text);
  const secrets = [...parts.body, ...parts.query, ...parts.headers]
    .filter(([name]) => SECRET_FIELDS.includes(name))
    .map(([, value]) => String(value).replace(/^(Bearer |.*=)/, ""))
    // Leaves out values that a row sends in place of a secret, such as "x".repeat(43).
    .filter((secret) => secret.length >= 16 && new Set(secret).size >= 8);
  const mutated = mutations.reduce(withField, parts);
  return { request: write(origin, mutated, type, text, mutations), secrets };
}

function read(request: Request, type: string, text: string): Parts {
  const { pathname, searchParams } = new URL(request.url);
  const object = /^\{.*\}$/s.test(text) ? text : "{}";
  const body: Field[] = type.startsWith(FORM)
    ? [...new URLSearchParams(text)]
    : Object.entries(JSON.parse(object));
  const assertion = body.find(([name]) => name === "client_assertion")?.[1] ?? "";
  const encoded = String(assertion).split(".");
  const [jose = [], claims = []] = encoded.length === 3 ? encoded.map(decoded) : [];
  const path = pathname.slice(1).split("/");
  return {
    method: [["", request.method]],
    path: path.map((segment) => [segment, segment]),
    query: [...searchParams],
    headers: [...request.headers],
    body,
    jose,
    claims,
  };
}

function decoded(part: string): Field[] {
  try {
    return Object.entries(JSON.parse(Buffer.from(part, "base64url").toString()) as object);
  } catch {
    return [];
  }
}

function withField(parts: Parts, one: Mutation): Parts {
  if (one.part === "bytes" || one.part === "stream") return parts;
  const after = { ...parts, [one.part]: changed(parts[one.part], one) };
  if (one.part !== "claims" && one.part !== "jose") return after;
  const { jose, claims } = after;
  if (jose.length === 0 || claims.length === 0) return parts;
  const assertion = compactJws(
    Object.fromEntries(jose),
    Object.fromEntries(claims),
    rs256(pluginKey),
  );
  const others = parts.body.filter(([name]) => name !== "client_assertion");
  return { ...after, body: [...others, ["client_assertion", assertion]] };
}

function changed(
  fields: readonly Field[],
  one: { how: FieldChange; at: number; name: string; to: unknown },
): Field[] {
  const index = one.at % Math.max(1, fields.length);
  const [name, value] = fields[index] ?? ["", ""];
  const other = (index + 1 + (one.at % 7)) % Math.max(1, fields.length);
  const put = (...instead: Field[]) => fields.toSpliced(index, 1, ...instead);
  const changes: Record<FieldChange, () => Field[]> = {
    drop: () => put(),
    replace: () => put([name, one.to]),
    add: () => [...fields.filter(([other]) => other !== one.name), [one.name, one.to]],
    twice: () => put([name, value], [name, value]),
    truncate: () => put([name, textOf(value).slice(0, -1 - (one.at % 5))]),
    lengthen: () => put([name, textOf(value) + textOf(one.to)]),
    // For example, a secret and the client id change places.
    swap: () => put([name, fields[other]?.[1]]).with(other, [fields[other]?.[0] ?? "", value]),
  };
  return changes[one.how]();
}

function write(
  origin: string,
  { method: [[, method] = ["", ""]], path, query, headers, body }: Parts,
  type: string,
  text: string,
  mutations: readonly Mutation[],
): Request {
  const json = body.map(
    ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value) ?? "null"}`,
  );
  const isUnread = body.length === 0 && !mutations.some(({ part }) => part === "body");
  const written = type.startsWith(FORM) ? String(parameters(body)) : `{${json}}`;
  const bytes = mutations.reduce(withBytes, Buffer.from(isUnread ? text : written));
  const stream = mutations.find((one) => one.part === "stream");
  const isBodiless = /^(get|head)$/i.test(String(method)) || bytes.length === 0;
  const whole = path.map(([, value]) => textOf(value)).join("/");
  // A path of several megabytes is not a request of HTTP.
  const pathname = whole.slice(0, 16_384);
  const url = `${origin}/${pathname}${query.length === 0 ? "" : `?${parameters(query)}`}`;
  return new Request(url, {
    method: String(method),
    headers: headers.map(headerOf),
    redirect: "manual",
    ...(!isBodiless && { body: stream ? streamOf(bytes, stream.how) : bytes, duplex: "half" }),
  } as RequestInit);
}

function parameters(fields: readonly Field[]): URLSearchParams {
  return new URLSearchParams(fields.map(([name, value]) => [name, textOf(value)]));
}

/** Replaces the characters that `Request` does not accept in a header. */
function headerOf([name, value]: Field): [string, string] {
  const token = name.replace(/[^\w-]/g, "").slice(0, 100) || "x";
  const latin1 = textOf(value).replace(/[\0\r\n]|[^\0-\xff]/g, "?");
  return [token, latin1.slice(0, 16_384)];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function withBytes(body: Buffer, one: Mutation): Buffer {
  if (one.part !== "bytes") return body;
  const at = one.at % Math.max(1, body.length);
  const odd = Buffer.from(one.to);
  if (one.how === "cut") return body.subarray(0, at);
  if (one.how === "insert") return Buffer.concat([body.subarray(0, at), odd, body.subarray(at)]);
  // At most twice the number of bytes that the emulator reads from a body.
  if (one.how === "repeat")
    return Buffer.alloc(Math.min(131_072, body.length * (1 + one.at)), body);
  return odd;
}

function streamOf(bytes: Buffer, how: "broken" | "endless"): ReadableStream<Uint8Array> {
  let isSent = false;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (!isSent && bytes.length > 0) controller.enqueue(new Uint8Array(bytes));
      else if (how === "endless") controller.enqueue(new Uint8Array(16_384));
      else controller.error(new Error("the sender went away"));
      isSent = true;
    },
  });
}
