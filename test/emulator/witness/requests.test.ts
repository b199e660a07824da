// What the emulator reads of requests that encoders of others wrote, and Ajv on the values that it
// made of texts.
import { Readable } from "node:stream";
import { Busboy } from "@fastify/busboy";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { FormData as UndiciFormData, Request as UndiciRequest } from "undici";
import { parseTemplate } from "url-template";
import { describe, expect, test } from "vitest";
import type { ReadCall } from "../../../src/emulator/api/requests.js";
import { createEmulator } from "../../../src/emulator/index.js";
import { readApi } from "../../../src/generate/emit/emulation.js";
import { openapi, sample } from "../../generate/sample-documents.js";

const open = { security: [], responses: { 200: { description: "What was read." } } };

/** An emulator that answers what it read, without a bearer. */
async function reader(paths: Record<string, Record<string, object>>) {
  const { documents } = await sample(openapi({}), openapi(paths));
  const api = await readApi({ B: documents.B });
  const seen: ReadCall[] = [];
  const answer = (received: ReadCall) => {
    seen.push(received);
    return {};
  };
  const respond = Object.fromEntries(Object.keys(api.operations.B).map((id) => [id, answer]));
  const emulator = createEmulator({ variants: ["B"], api, respond });
  /** What was read, or the status of a refusal. */
  return async (path: string, init?: RequestInit) => {
    seen.length = 0;
    const { status } = await emulator.fetch(`http://localhost${path}`, init);
    return seen[0] ?? status;
  };
}

const isWellFormed = (text: string) => !/\p{Surrogate}/u.test(text);
const text = fc.string({ unit: "binary", minLength: 1, maxLength: 8 }).filter(isWellFormed);
const list = fc.array(text, { minLength: 1, maxLength: 3 });
const name = fc.constantFrom("R", "G", "a b", "ä&=", "x.y", "x;y,z", "[0]", "%41", "+");
const object = fc.dictionary(name, text, { minKeys: 1, maxKeys: 3, noNullPrototype: true });
const values = { text, list, object };
const schemas = {
  text: { type: "string" },
  list: { type: "array", items: { type: "string" } },
  object: { type: "object", additionalProperties: { type: "string" } },
};
const kinds = ["text", "list", "object"] as const;

describe("parameters that url-template writes are read as they were", () => {
  const places = [
    { place: "path", style: "simple", operator: "" },
    { place: "path", style: "label", operator: "." },
    { place: "path", style: "matrix", operator: ";" },
    { place: "query", style: "form", operator: "?" },
  ] as const;
  const rows = places.flatMap((row) =>
    kinds.flatMap((kind) => [false, true].map((explode) => ({ ...row, kind, explode }))),
  );
  test.each(rows)("$place $style, explode $explode: $kind", async (row) => {
    const { place, style, operator, kind, explode } = row;
    const template = parseTemplate(`{${operator}color${explode ? "*" : ""}}`);
    const start = place === "path" ? "/v1/of" : "/v1/own";
    const own = { in: place, style, explode, required: place === "path" };
    const parameters = [{ name: "color", schema: schemas[kind], ...own }];
    const path = place === "path" ? "/v1/of{color}" : "/v1/own";
    const send = await reader({ [path]: { get: { operationId: "own", ...open, parameters } } });
    // An exploded label has dots between its values, and RFC 6570 encodes none in a value.
    const isWritten = (value: unknown) =>
      style !== "label" || !explode || kind === "text" || !JSON.stringify(value).includes(".");
    const property = async (color: unknown) => {
      const read = await send(start + template.expand({ color: color as string }));
      expect(read).toMatchObject({ params: { [place]: { color } } });
    };
    const written = (values[kind] as fc.Arbitrary<unknown>).filter(isWritten);
    await fc.assert(fc.asyncProperty(written, property), { numRuns: 40 });
  });
});

describe("a multipart body", () => {
  const schema = {
    type: "object",
    properties: {
      title: { type: "string" },
      count: { type: "integer" },
      tags: { type: "array", items: { type: "string" } },
      place: { type: "object", properties: { x: { type: "number" } } },
      photo: { type: "string", format: "binary" },
      files: { type: "array", items: { type: "string", format: "binary" } },
    },
  };
  const content = { "multipart/form-data": { schema } };
  const post = { operationId: "own", ...open, requestBody: { content } };
  const paths = { "/v1/own": { post } };

  /** The parts that busboy finds, in their order. */
  const partsOf = async (body: Uint8Array, contentType: string) => {
    const parts: { name: string; file?: string; type: string; bytes: Buffer }[] = [];
    const busboy = new Busboy({ headers: { "content-type": contentType } });
    busboy.on("field", (name, value, _, __, ___, type) =>
      parts.push({ name, type, bytes: Buffer.from(value) }),
    );
    busboy.on("file", (name, stream, file, _, type) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk) => chunks.push(chunk));
      stream.on("end", () => parts.push({ name, file, type, bytes: Buffer.concat(chunks) }));
    });
    await new Promise((resolve, reject) =>
      Readable.from([body]).pipe(busboy).on("finish", resolve).on("error", reject),
    );
    return parts;
  };

  test("that undici writes of a FormData holds the parts that busboy finds in it", async () => {
    const send = await reader(paths);
    const bytes = fc.uint8Array({ maxLength: 40 });
    // A browser and undici write the line end of a text as CR LF.
    const line = text.filter((one) => !/[\r\n]/.test(one));
    const file = line.filter((one) => !/["\\%/\0]/.test(one));
    const property = async (
      title: string,
      tags: string[],
      name: string,
      photo: Uint8Array,
      x: number,
    ) => {
      const form = new UndiciFormData();
      form.append("title", title);
      form.append("count", "7");
      for (const tag of tags) form.append("tags", tag);
      form.append("place", JSON.stringify({ x }));
      form.append("photo", new File([Buffer.from(photo)], name, { type: "image/png" }));
      form.append("files", new Blob([Buffer.from(photo)]), "a.bin");
      form.append("files", new Blob(["b"]), "b.bin");
      const request = new UndiciRequest("http://localhost", { method: "POST", body: form });
      const contentType = request.headers.get("content-type") ?? "";
      const body = Buffer.from(await request.arrayBuffer());
      const headers = { "content-type": contentType };
      const read = await send("/v1/own", { method: "POST", body, headers });
      if (typeof read === "number") throw new Error(`answered ${read}`);
      const { photo: received, files, ...rest } = read.body as { photo: File; files: File[] };
      expect(rest).toEqual({ title, count: 7, tags, place: { x: x === 0 ? 0 : x } });
      const parts = await partsOf(body, contentType);
      const first = parts.find((part) => part.name === "photo");
      expect([received.name, received.type]).toEqual([first?.file, first?.type]);
      expect(Buffer.from(await received.arrayBuffer())).toEqual(first?.bytes);
      expect(files.map((one) => one.name)).toEqual(["a.bin", "b.bin"]);
      const found = parts.filter((part) => part.name === "tags");
      expect(found.map((part) => String(part.bytes))).toEqual(tags);
    };
    const number = fc.double({ noNaN: true, noDefaultInfinity: true });
    const some = fc.array(line, { minLength: 1, maxLength: 3 });
    await fc.assert(fc.asyncProperty(line, some, file, bytes, number, property), { numRuns: 30 });
  });

  test.each([
    ["a quoted boundary", 'multipart/form-data; boundary="a b:c"; charset=utf-8', "--a b:c"],
    ["a boundary in another case", "Multipart/Form-Data; BOUNDARY=x", "--x"],
  ])("with %s is read as busboy reads it", async (_, type, edge) => {
    const part = (head: string, body: string) =>
      `${edge}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`;
    const json = 'name="place"\r\nContent-Type: application/json; charset=utf-8';
    const parts = part('name="title"', "roof") + part(json, '{"x":1}');
    const body = Buffer.from(`${parts}${edge}--\r\n`);
    const send = await reader(paths);
    const read = await send("/v1/own", { method: "POST", body, headers: { "content-type": type } });
    expect(read).toMatchObject({ body: { title: "roof", place: { x: 1 } } });
    const found = (await partsOf(body, type)).map(({ name, bytes }) => [name, String(bytes)]);
    expect(Object.fromEntries(found)).toEqual({ title: "roof", place: '{"x":1}' });
  });
});

describe("Ajv", () => {
  const members: readonly object[] = [
    { type: "integer", minimum: -1 },
    { type: "number", maximum: 1.5 },
    { type: "boolean" },
    { type: "string", maxLength: 2 },
    { type: "string", enum: ["a", "1", "true"] },
    { enum: [1, true, "on"] },
    { type: ["integer", "boolean"] },
    { anyOf: [{ type: "integer" }, { type: "string", pattern: "^[a-z]+$" }] },
  ];
  const usual = "a on true false null 1 -1 1.0 1.5 1e2 01 0x1".split(" ");
  const odd = "1_000 +1 Infinity NaN - .5 5. ٣ True 99999999999999999999".split(" ");
  const sent = fc.oneof(fc.constantFrom(...usual, "", " 1", ...odd), fc.string({ maxLength: 4 }));
  const ajv = new Ajv2020({ strict: false });
  const coercing = new Ajv2020({ strict: false, coerceTypes: true });
  const checks = members.map((color) => {
    const schema = { type: "object", required: ["color"], properties: { color } };
    return { schema, allows: ajv.compile(schema), coerces: coercing.compile(schema) };
  });

  /** Ajv makes numbers of texts that JSON has no numbers for, such as " 1" and "0x1". */
  const isJson = (one: string) =>
    /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i.test(one) || /^(true|false)$/.test(one);

  test.each(["query", "form"] as const)(
    "allows each value that is made of the text of a %s, and none that is refused, coerced or not",
    async (place) => {
      const operationOf = (index: number) => {
        const parameters = [{ in: "query", name: "color", required: true, schema: members[index] }];
        const content = { "application/x-www-form-urlencoded": { schema: checks[index]?.schema } };
        const own = { operationId: `own${index}`, ...open };
        if (place === "query") return { get: { ...own, parameters } };
        return { post: { ...own, requestBody: { required: true, content } } };
      };
      const paths = members.map((_, at) => [`/v1/${at}`, operationOf(at)]);
      const send = await reader(Object.fromEntries(paths));
      const property = async (at: number, color: string) => {
        const query = new URLSearchParams({ color });
        const read =
          place === "query"
            ? await send(`/v1/${at}?${query}`)
            : await send(`/v1/${at}`, { method: "POST", body: query });
        const { allows, coerces } = checks[at] as NonNullable<(typeof checks)[0]>;
        if (typeof read !== "number") {
          expect(allows(place === "query" ? read.params.query : read.body)).toBe(true);
          return;
        }
        const isAllowed = allows({ color }) || (isJson(color) && coerces({ color }));
        expect({ status: read, isAllowed }).toEqual({ status: 400, isAllowed: false });
      };
      const index = fc.nat(members.length - 1);
      await fc.assert(fc.asyncProperty(index, sent, property), { numRuns: 400 });
    },
  );
});
