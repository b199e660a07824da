// Does to a valid request what its mutations say, and makes a Request of what is left.
import type { ByteChange, FieldChange, Mutation } from "./mutation.js";
import type { Draft, Field } from "./valid-requests.js";
import type { Members, World } from "./world.js";

/** Of a body that is repeated: twice what is read of one. */
const MAXIMUM_BYTES = 131_072;

export function mutatedRequest(world: World, draft: Draft, mutations: readonly Mutation[]): Request {
  const changed = mutations.reduce(withField, signed(world, draft, mutations));
  const bytes = mutations.reduce(withBytes, Buffer.from(bodyOf(changed)));
  const stream = mutations.find((one) => one.part === "stream");
  const { method } = changed;
  const hasBody = draft.body !== undefined || bytes.length > 0;
  const body = stream === undefined ? bytes : streamOf(bytes, stream.how);
  const isBodiless = /^(get|head)$/i.test(method) || !hasBody;
  return new Request(urlOf(world, changed), {
    method,
    headers: headersOf(changed.headers),
    ...(!isBodiless && { body, duplex: "half" }),
  } as RequestInit);
}

/** The assertion's own members are changed first, so that its signature is right. */
function signed(world: World, draft: Draft, mutations: readonly Mutation[]): Draft {
  const { assertion, body } = draft;
  if (assertion === undefined || body === undefined) return draft;
  const header = withMembers(assertion.header, mutations, "jose-header");
  const claims = withMembers(assertion.claims, mutations, "claim");
  const value = world.sign({ ...assertion, header, claims });
  const fields = [...body.fields, ["client_assertion", value] as const];
  return { ...draft, body: { ...body, fields }, secrets: [...draft.secrets, value] };
}

function withMembers(members: Members, mutations: readonly Mutation[], part: string): Members {
  const changes = mutations.flatMap((one) =>
    one.part === part && "name" in one ? [[one.name, one.to]] : [],
  );
  return changes.length === 0 ? members : Object.fromEntries([...Object.entries(members), ...changes]);
}

function withField(draft: Draft, one: Mutation): Draft {
  if (one.part === "method") return { ...draft, method: one.to };
  if (one.part === "header") return { ...draft, headers: withHeader(draft.headers, one.name, one.to) };
  if (one.part === "query") return { ...draft, query: changeField(draft.query, one) };
  if (one.part === "path") {
    const named = draft.segments.map((segment) => [segment, segment] as const);
    return { ...draft, segments: changeField(named, one).map(([, value]) => textOf(value)) };
  }
  if (one.part !== "body" || draft.body === undefined) return draft;
  return { ...draft, body: { ...draft.body, fields: changeField(draft.body.fields, one) } };
}

function withHeader(headers: Draft["headers"], name: string, to: string | null): Draft["headers"] {
  const others = Object.entries(headers).filter(([other]) => other !== name);
  return Object.fromEntries(to === null ? others : [...others, [name, to]]);
}

function changeField(
  fields: readonly Field[],
  { at, how, to }: { readonly at: number; readonly how: FieldChange; readonly to: unknown },
): readonly Field[] {
  const index = at % Math.max(1, fields.length);
  const [name, value] = fields[index] ?? ["added", ""];
  const put = (...instead: Field[]) => fields.toSpliced(index, 1, ...instead);
  if (how === "drop") return put();
  if (how === "twice") return put([name, value], [name, value]);
  if (how === "replace") return put([name, to]);
  if (how === "rename") return put([textOf(to), value]);
  if (how === "truncate") return put([name, textOf(value).slice(0, -1 - (at % 5))]);
  if (how === "lengthen") return put([name, textOf(value) + textOf(to)]);
  const next = fields[index + 1];
  return next === undefined ? fields : fields.toSpliced(index, 2, [name, next[1]], [next[0], value]);
}

function bodyOf({ body }: Draft): string {
  if (body === undefined) return "";
  // Written by hand: an object could hold neither a name twice nor __proto__.
  if (body.type === "json") return `{${body.fields.map(jsonMember).join(",")}}`;
  if (body.type === "multipart") return [...body.fields.map(multipart), "--limit--\r\n"].join("");
  return String(new URLSearchParams(body.fields.map(([name, value]) => [name, textOf(value)])));
}

function multipart([name, value]: Field): string {
  const disposition = `form-data; name="${name.replace(/["\r\n]/g, "_")}"`;
  return `--limit\r\nContent-Disposition: ${disposition}\r\n\r\n${textOf(value)}\r\n`;
}

function jsonMember([name, value]: Field): string {
  return `${JSON.stringify(name)}:${JSON.stringify(value) ?? "null"}`;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function urlOf(world: World, { segments, query }: Draft): string {
  const search = new URLSearchParams(query.map(([name, value]) => [name, textOf(value)]));
  // A path of several megabytes is no request of HTTP.
  const path = segments.join("/").slice(0, 16_384);
  return world.url(`/${path}${query.length === 0 ? "" : `?${search}`}`);
}

/** What a Request takes: anything else would be no request. */
function headersOf(headers: Draft["headers"]): [string, string][] {
  return Object.entries(headers).map(([name, value]) => [
    name,
    value.replace(/[\0\r\n]|[^\0-\xff]/g, "?").slice(0, 16_384),
  ]);
}

function withBytes(body: Buffer, one: Mutation): Buffer {
  if (one.part !== "bytes") return body;
  const at = one.at % Math.max(1, body.length);
  const odd = Buffer.from(one.to);
  const changes: Record<ByteChange, () => Buffer> = {
    cut: () => body.subarray(0, at),
    insert: () => Buffer.concat([body.subarray(0, at), odd, body.subarray(at)]),
    flip: () => Buffer.from(body.map((byte, index) => (index === at ? byte ^ (odd[0] ?? 1) : byte))),
    repeat: () => Buffer.alloc(Math.min(MAXIMUM_BYTES, body.length * (1 + one.at)), body),
    "replace-all": () => odd,
  };
  return changes[one.how]();
}

function streamOf(bytes: Buffer, how: "in-pieces" | "broken" | "endless"): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = bytes.subarray(sent, sent + 64);
      sent += 64;
      if (piece.length > 0 && sent < 100_000) controller.enqueue(piece);
      else if (how === "endless") controller.enqueue(new Uint8Array(16_384));
      else if (how === "broken") controller.error(new Error("the sender went away"));
      else controller.close();
    },
  });
}
