// The stateful fake of documents.md compiles against the code that is generated of its document,
// and runs as printed.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import type { Emulator } from "../../src/emulator/index.js";
import { readApi } from "../../src/generate/emit/emulation.js";
import { generate } from "../../src/generate/index.js";
import { connect, serviceAccount } from "../../src/index.js";
import { openapi, sample } from "../generate/sample-documents.js";
import { blockWith, bundleProgram, cacheFolder, compile } from "../readme/pages.js";

const worker = { clientId: "worker", clientSecret: "not a real secret" };
const text = { type: "string" };
const Note = {
  type: "object",
  required: ["id", "text"],
  properties: { id: { ...text, readOnly: true }, text },
};
const reference = { $ref: "#/components/schemas/Note" };
const note = { "application/json": { schema: reference } };
const notes = { "application/json": { schema: { type: "array", items: reference } } };
const answered = (status: number, content?: object) => ({
  responses: { [status]: { description: "Done.", ...(content && { content }) } },
});
const limit = { name: "limit", in: "query", schema: { type: "integer" } };
const requestBody = { required: true, content: note };
const paths = {
  "/v1/notes": {
    get: { operationId: "listNotes", parameters: [limit], ...answered(200, notes) },
    post: { operationId: "addNote", requestBody, ...answered(201, note) },
  },
  "/v1/notes/{id}": {
    parameters: [{ name: "id", in: "path", required: true, schema: text }],
    get: { operationId: "getNote", ...answered(200, note) },
    delete: { operationId: "removeNote", ...answered(204) },
  },
};

test("the option respond makes a stateful fake, as the page about documents prints it", async () => {
  const folder = cacheFolder();
  const { documents } = await sample(openapi({}), openapi(paths, { schemas: { Note } }));
  await generate({ documents: { B: documents.B }, out: join(folder, "generated") });
  const printed = blockWith("ts", "removeNote");
  expect(compile({ printed }, join(folder, "generated"))).toEqual([]);
  const file = await bundleProgram(printed, folder, "fake.mjs", folder);
  const { emulator } = (await import(pathToFileURL(file).href)) as { emulator: Emulator };
  emulator.registerServiceAccount({ ...worker, tenantId: "acme" });
  const { fetch, publicUrl: baseUrl } = emulator;
  const credentials = [serviceAccount(worker)];
  const api = (await readApi({ B: documents.B })) as never;
  const service = await connect({ baseUrl, tenantId: "acme", credentials, fetch, api });
  // biome-ignore lint/suspicious/noExplicitAny: the document is made while the test runs
  const { call }: any = { call: service.call.bind(service) };
  const first = await call("addNote", { body: { text: "one" } });
  expect(first).toMatchObject({ status: 201, data: { text: "one" } });
  expect((await call("addNote", { body: { text: "two" } })).status).toBe(201);
  expect((await call("listNotes")).data).toHaveLength(2);
  expect((await call("listNotes", { params: { query: { limit: 1 } } })).data).toEqual([first.data]);
  const params = { path: { id: first.data.id } };
  expect(await call("getNote", { params })).toMatchObject({ status: 200, data: first.data });
  expect((await call("removeNote", { params })).status).toBe(204);
  expect((await call("getNote", { params })).status).toBe(404);
  expect((await call("addNote", { body: { text: 1 } })).status).toBe(400);
  expect(emulator.customerLog.last()?.expected).toBe('body/text with {"type":"string"}');
});
