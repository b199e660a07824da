// Documents as others write them: several files, operations without names, and the two documents
// swapped.
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { type GenerateError, generate, type Notice } from "../../src/generate/index.js";
import { generated, DONE as ok, openapi, START, sample } from "./sample-documents.js";

describe("references to other files", () => {
  const files: Readonly<Record<string, string>> = {
    "schemas/pets.yaml": `
Pet:
  type: object
  properties:
    { owner: { $ref: ./people.yaml#/Person }, next: { $ref: "#/Pet" }, tag: { $ref: "#/Tag" } }
Tag: { type: string, enum: [cat, dog] }`,
    "schemas/people.yaml": `
Person: { type: object, properties: { pets: { type: array, items: { $ref: pets.yaml#/Pet } } } }`,
    "paths/pets.yaml": `
parameters: [{ $ref: ../parameters.yaml#/limit }]
get:
  operationId: listPets
  responses:
    { 200: { $ref: ../responses.yaml }, 400: { $ref: ../openapi.yaml#/components/responses/B } }`,
    "parameters.yaml":
      "limit: { name: limit, in: query, required: true, schema: { type: integer } }",
    "responses.yaml": `
description: Pets.
content: { application/json: { schema: { $ref: schemas/pets.yaml#/Pet } } }`,
  };
  const main = `${START}
paths: { /pets: { $ref: ./paths/pets.yaml }, /more: { $ref: ./paths/pets.yaml } }
components: { schemas: { Pet: { type: number } }, responses: { B: { description: Wrong. } } }`;

  /** Writes the document and its files into a folder of its own. */
  async function written(document: string, others: Readonly<Record<string, string>> = files) {
    const { out } = await sample({});
    const root = join(dirname(out), "api");
    for (const [name, content] of Object.entries({ ...others, "openapi.yaml": document })) {
      await mkdir(dirname(join(root, name)), { recursive: true });
      await writeFile(join(root, name), content);
    }
    return { documents: { A: join(root, "openapi.yaml") }, out, root };
  }

  test("are followed, and their files are in the lock", async () => {
    const { documents, out } = await written(main);
    const notices: Notice[] = [];
    await generate({ documents, out, onNotice: (notice) => void notices.push(notice) });
    const types = await readFile(join(out, "variant-a.ts"), "utf8");
    expect(types).toContain('owner?: components["schemas"]["Person"];');
    expect(types).toContain('pets?: components["schemas"]["Pet-2"][];');
    expect(types).toContain('next?: components["schemas"]["Pet-2"];');
    expect(types).toContain("Pet: number;");
    const operations = await readFile(join(out, "operations.ts"), "utf8");
    // A path item that several paths have makes operations of each.
    expect(operations).toContain("listPets: {");
    expect(operations).toContain('path: "/more"');
    expect(notices).toMatchObject([
      { code: "operation_named", message: expect.stringContaining("getMore") },
    ]);
    const { files: locked } = JSON.parse(await readFile(join(out, "lock.json"), "utf8"));
    expect(locked.map(({ file }: { file: string }) => file).sort()).toEqual(
      Object.keys(files).sort(),
    );
  });

  test("a file of both documents is once in the lock", async () => {
    const { documents, out, root } = await written(main);
    await writeFile(join(root, "b.yaml"), main);
    await generate({ documents: { ...documents, B: join(root, "b.yaml") }, out });
    const { files: locked } = JSON.parse(await readFile(join(out, "lock.json"), "utf8"));
    const names: readonly string[] = locked.map(({ file }: { file: string }) => file);
    expect(names).toEqual([...new Set(names)]);
  });

  test.each([
    ["in another file", "paths/own.yaml"],
    ["in the components", "#/components/pathItems/own"],
  ])(
    "parameters beside a reference to a path item %s replace its own, which a warning says",
    async (_, $ref) => {
      const parameter = (name: string) =>
        `[{ name: ${name}, in: path, required: true, schema: {} }]`;
      const item = `{ parameters: ${parameter("b")}, get: { responses: { 200: { description: Done. } } } }`;
      const { documents, out } = await written(
        `${START}\npaths: { "/x/{a}/{b}": { $ref: "${$ref}", parameters: ${parameter("a")} } }` +
          `\ncomponents: { pathItems: { own: ${item} } }`,
        { "paths/own.yaml": item },
      );
      const notices: Notice[] = [];
      await generate({ documents, out, onNotice: (notice) => void notices.push(notice) });
      const says = "describes a (`parameters` beside $ref replace those of its target). Those of";
      expect(notices.map(({ message }) => message).join()).toContain(says);
    },
  );

  test("a mistake in a file is reported with its line", async () => {
    const wrong = files["responses.yaml"]?.replace("#/Pet", "#/Missing") ?? "";
    const { documents, out } = await written(main, { ...files, "responses.yaml": wrong });
    await expect(generate({ documents, out })).rejects.toMatchObject({
      code: "reference_missing",
      document: "responses.yaml",
      message: expect.stringMatching(/^responses\.yaml:\d+:\d+#\/content/),
    });
  });

  test("do not leave the folder of the document, not even by a link, unless `refs` allows it", async () => {
    const document = (file: string) =>
      `${START}paths: { /pets: { get: { responses: { 200: { $ref: ${file} } } } } }`;
    const { documents, out, root } = await written(document("../responses.yaml"));
    await writeFile(join(root, "../responses.yaml"), "description: Pets.");
    const refusal = { code: "reference_external" };
    await expect(generate({ documents, out })).rejects.toMatchObject(refusal);
    await generate({ documents, out, refs: dirname(root) });
    await symlink(join(root, "../responses.yaml"), join(root, "linked.yaml"));
    await writeFile(documents.A, document("linked.yaml"));
    await expect(generate({ documents, out })).rejects.toMatchObject(refusal);
  });

  test("a discriminator may lead to a file or to the name of a schema", async () => {
    const cat = "{ type: object, properties: { kind: { type: string } } }";
    const mapping = '{ dog: ./dog.yaml, cat: Cat, cow: "#/components/schemas/Cat" }';
    const pet = `{ oneOf: [{ $ref: ./dog.yaml }], discriminator: { propertyName: kind, mapping: ${mapping} } }`;
    const document = `${START}components: { schemas: { Pet: ${pet}, Cat: ${cat} } }`;
    const { documents, out } = await written(document, { "dog.yaml": cat });
    await generate({ documents, out });
    expect(await readFile(join(out, "variant-a.ts"), "utf8")).toContain(
      'Pet: components["schemas"]["dog"];',
    );
  });
});

test("operations without an operationId are named by method and path, and listed once", async () => {
  const parameters = [{ name: "id", in: "path", required: true, schema: {} }];
  const tasks = { get: { responses: ok }, post: { operationId: "", responses: ok }, parameters };
  const document = openapi({ "/": { get: { responses: ok } }, "/users/{id}/open-tasks": tasks });
  const { notices, text } = await generated(document);
  const message =
    "a.yaml: operations without an operationId are called by method and path: " +
    "getRoot (GET /), getUsersByIdOpenTasks (GET /users/{id}/open-tasks), " +
    "postUsersByIdOpenTasks (POST /users/{id}/open-tasks)";
  expect(notices).toEqual([
    { level: "note", code: "operation_named", document: "a.yaml", message },
  ]);
  expect(await text("operations.ts")).toContain(
    'A.operations["getUsersByIdOpenTasks"]["parameters"]["path"]',
  );
});

describe("swapped documents", () => {
  const at = (path: string, others: object = {}) =>
    openapi({ [path]: { get: { operationId: "a", responses: ok } }, ...others });

  test("are noticed by the paths of both", async () => {
    const { documents, out } = await sample(at("/v1/things"), at("/api/v1/{tenantId}/things"));
    const error = await generate({ documents, out }).catch((cause) => cause);
    expect(error.errors.map(({ code }: GenerateError) => code)).toEqual([
      "document_swapped",
      "document_swapped",
    ]);
  });

  const tokenOfA = "/api/v1/{tenantId}/external-plugin/oauth/token";
  const tokens = { [tokenOfA]: {}, "/v1/auth/token": {} };

  test.each([
    { name: "/v1 in Variant A alone", A: at("/v1/things"), B: at("/things") },
    { name: "/api/v1 in Variant B alone", A: at("/things"), B: at("/api/v1/{tenantId}/things") },
    { name: "both tokens", A: at("/api/v1/{tenantId}/a", tokens), B: at("/v1/a", tokens) },
  ])("are not seen in $name", async ({ A, B }) => {
    const { documents, out } = await sample(A, B);
    await generate({ documents, out, strict: true });
  });

  test("are noticed by a token path: that of A is refused in B, that of B is a warning in A, which any API may have", async () => {
    const { documents, out } = await sample(at("/things"), at(tokenOfA));
    const refused = generate({ documents, out });
    await expect(refused).rejects.toMatchObject({ code: "document_swapped", document: "b.yaml" });
    const { notices } = await generated(at("/v1/auth/token"));
    expect(notices).toMatchObject([
      { level: "warning", code: "document_swapped", pointer: "/paths/~1v1~1auth~1token" },
    ]);
    expect(notices[0]?.message).toMatch(/^a\.yaml:\d+:\d+#/);
  });
});

test("parameters in the path that differ from those of the operation are sent by the names of the path", async () => {
  const operation = {
    operationId: "a",
    parameters: [
      { name: "id", in: "path", required: true, schema: { type: "integer" } },
      { name: "old", in: "path", required: true, schema: { type: "string" } },
    ],
    responses: ok,
  };
  const { text } = await generated(openapi({ "/{id}/{part}": { get: operation } }));
  expect(await text("operations.ts")).toContain("path: { id: number; part: string }");
});
