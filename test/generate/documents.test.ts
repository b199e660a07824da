// Documents as others write them: several files, operations without names, and many mistakes at
// once.
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { type GenerateError, generate, type Notice } from "../../src/generate/index.js";
import {
  answer,
  generated,
  json,
  DONE as ok,
  openapi,
  refusalOf,
  sample,
} from "./sample-documents.js";

describe("references to other files", () => {
  const files: Readonly<Record<string, object>> = {
    "schemas/pets.yaml": {
      Pet: {
        type: "object",
        properties: {
          owner: { $ref: "./people.yaml#/Person" },
          next: { $ref: "#/Pet" },
          tag: { $ref: "#/Tag" },
        },
      },
      Tag: { type: "string", enum: ["cat", "dog"] },
    },
    "schemas/people.yaml": {
      Person: {
        type: "object",
        properties: { pets: { type: "array", items: { $ref: "pets.yaml#/Pet" } } },
      },
    },
    "paths/pets.yaml": {
      parameters: [{ $ref: "../parameters.yaml#/limit" }],
      get: {
        operationId: "listPets",
        responses: {
          200: { $ref: "../responses.yaml" },
          default: {
            description: "Wrong.",
            content: json({ $ref: "../openapi.yaml#/components/schemas/Problem" }),
          },
        },
      },
    },
    "parameters.yaml": {
      limit: { name: "limit", in: "query", required: true, schema: { type: "integer" } },
    },
    "responses.yaml": { description: "Pets.", content: json({ $ref: "schemas/pets.yaml#/Pet" }) },
  };
  const main = openapi(
    { "/pets": { $ref: "./paths/pets.yaml" }, "/more": { $ref: "./paths/pets.yaml" } },
    {
      schemas: {
        Problem: { type: "object", properties: { code: { type: "integer" } } },
        Pet: { type: "number" },
      },
    },
  );

  /** Writes the document and its files into a folder of its own. */
  async function written(document: object, others: Readonly<Record<string, object>> = files) {
    const { out } = await sample({});
    const root = join(dirname(out), "api");
    for (const [name, content] of Object.entries({ ...others, "openapi.yaml": document })) {
      await mkdir(dirname(join(root, name)), { recursive: true });
      await writeFile(join(root, name), stringify(content));
    }
    const notices: Notice[] = [];
    const documents = { A: join(root, "openapi.yaml") };
    return {
      documents,
      out,
      root,
      notices,
      onNotice: (notice: Notice) => void notices.push(notice),
    };
  }

  test("are followed, and their files are in the lock", async () => {
    const { documents, out, notices, onNotice } = await written(main);
    await generate({ documents, out, onNotice });
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

  test("a mistake in a file is reported with its line", async () => {
    const { documents, out } = await written(main, {
      ...files,
      "responses.yaml": {
        description: "Pets.",
        content: json({ $ref: "schemas/pets.yaml#/Missing" }),
      },
    });
    await expect(generate({ documents, out })).rejects.toMatchObject({
      code: "reference_missing",
      document: "responses.yaml",
      message: expect.stringMatching(/^responses\.yaml:\d+:\d+#\/content/),
    });
  });

  test("do not leave the folder of the document, not even by a link, unless `refs` allows it", async () => {
    const outside = {
      "/pets": { get: { operationId: "a", responses: { 200: { $ref: "../responses.yaml" } } } },
    };
    const { documents, out, root } = await written(openapi(outside));
    const others = { description: "Pets." };
    await writeFile(join(root, "../responses.yaml"), stringify(others));
    await expect(generate({ documents, out })).rejects.toMatchObject({
      code: "reference_external",
    });
    await generate({ documents, out, refs: dirname(root) });
    await symlink(join(root, "../responses.yaml"), join(root, "linked.yaml"));
    const linked = structuredClone(outside);
    linked["/pets"].get.responses[200].$ref = "linked.yaml";
    await writeFile(documents.A, stringify(openapi(linked)));
    await expect(generate({ documents, out })).rejects.toMatchObject({
      code: "reference_external",
    });
  });

  test("to another address are refused with the command that bundles them", async () => {
    const error = await refusalOf(openapi({ "/a": { $ref: "https://api.example/a.yaml" } }));
    expect(error).toMatchObject({ code: "reference_external", pointer: "/paths/~1a" });
    expect(error.message).toMatch(/npx @redocly\/cli bundle \S+\/a\.yaml --output bundled\.yaml$/);
  });

  test("with the separators of Windows are refused with the advice to write a slash", async () => {
    const error = await refusalOf(openapi({ "/a": { $ref: "paths\\a.yaml" } }));
    expect(error).toMatchObject({ code: "reference_missing", pointer: "/paths/~1a" });
    expect(error.message).toContain("write / between folders");
  });

  test("are reported to onFile before they are read, and missing ones too", async () => {
    const { documents, out, root } = await written(main, {
      ...files,
      "paths/pets.yaml": { $ref: "../missing.yaml" },
    });
    const read: string[] = [];
    const onFile = (path: string) => void read.push(path);
    await expect(generate({ documents, out, onFile })).rejects.toMatchObject({
      code: "reference_missing",
    });
    expect(read).toEqual(
      expect.arrayContaining(
        ["openapi.yaml", "paths/pets.yaml", "missing.yaml"].map((one) => join(root, one)),
      ),
    );
  });

  test("a discriminator may lead to a file or to the name of a schema", async () => {
    const mapping = { dog: "./dog.yaml", cat: "Cat", cow: "#/components/schemas/Cat" };
    const Pet = {
      oneOf: [{ $ref: "./dog.yaml" }],
      discriminator: { propertyName: "kind", mapping },
    };
    const Cat = { type: "object", properties: { kind: { type: "string" } } };
    const paths = {
      "/a": { get: { operationId: "a", responses: answer({ $ref: "#/components/schemas/Pet" }) } },
    };
    const { documents, out } = await written(openapi(paths, { schemas: { Pet, Cat } }), {
      "dog.yaml": Cat,
    });
    await generate({ documents, out });
    expect(await readFile(join(out, "variant-a.ts"), "utf8")).toContain(
      'Pet: components["schemas"]["dog"];',
    );
  });
});

describe("operations without an operationId", () => {
  test("are named by method and path, and listed once", async () => {
    const paths = {
      "/": { get: { responses: ok } },
      "/users/{id}/open-tasks": {
        get: { responses: ok },
        post: { operationId: "", responses: ok },
      },
    };
    const named = structuredClone(paths) as typeof paths &
      Record<"/users/{id}/open-tasks", { parameters?: object }>;
    named["/users/{id}/open-tasks"].parameters = [
      { name: "id", in: "path", required: true, schema: {} },
    ];
    const { notices, text } = await generated(openapi(named));
    expect(notices).toEqual([
      {
        level: "note",
        code: "operation_named",
        document: "a.yaml",
        message:
          "a.yaml: operations without an operationId are called by method and path: " +
          "getRoot (GET /), getUsersByIdOpenTasks (GET /users/{id}/open-tasks), " +
          "postUsersByIdOpenTasks (POST /users/{id}/open-tasks)",
      },
    ]);
    expect(await text("operations.ts")).toContain(
      'A.operations["getUsersByIdOpenTasks"]["parameters"]["path"]',
    );
  });

  test("are refused if two have the same name, which names both", async () => {
    const error = await refusalOf(
      openapi({ "/a-b": { get: { responses: ok } }, "/a/b": { get: { responses: ok } } }),
    );
    expect(error.code).toBe("operation_id_duplicate");
    expect(error.message).toContain('GET /a/b has the operationId "getAB" of GET /a-b');
  });
});

describe("swapped documents", () => {
  const at = (path: string) => openapi({ [path]: { get: { operationId: "a", responses: ok } } });

  test("are noticed by the paths of both", async () => {
    const { documents, out } = await sample(at("/v1/things"), at("/api/v1/{tenantId}/things"));
    const error = await generate({ documents, out }).catch((cause) => cause);
    expect(error.errors.map(({ code }: GenerateError) => code)).toEqual([
      "document_swapped",
      "document_swapped",
    ]);
  });

  test.each([
    { name: "/v1 in Variant A", A: at("/v1/things"), B: at("/things") },
    { name: "/api/v1 in Variant B", A: at("/things"), B: at("/api/v1/{tenantId}/things") },
  ])("are not seen in $name alone", async ({ A, B }) => {
    const { documents, out } = await sample(A, B);
    await generate({ documents, out, strict: true });
  });

  const tokenOfA = "/api/v1/{tenantId}/external-plugin/oauth/token";

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

  test("are not seen in documents that describe the token endpoints of both", async () => {
    const tokens = { [tokenOfA]: {}, "/v1/auth/token": {} };
    const [A, B] = [at("/api/v1/{tenantId}/things"), at("/v1/things")].map((document) => {
      const { paths } = document as { readonly paths: object };
      return { ...document, paths: { ...paths, ...tokens } };
    });
    const { documents, out } = await sample(A as object, B);
    await generate({ documents, out, strict: true });
  });
});

describe("what an operation documents", () => {
  test("as parameters in the path may differ from the path, whose names are then sent", async () => {
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
});

describe("a run with several mistakes", () => {
  const missing = (name: string) => answer({ $ref: `#/components/schemas/${name}` });
  const wrong = {
    "/a": { get: { operationId: "a", responses: missing("One") } },
    "/b": { get: { operationId: "a", responses: missing("Two") } },
    "/c": {
      get: {
        operationId: "c",
        parameters: [{ name: "p", in: "query", style: "label" }],
        responses: ok,
      },
    },
    d: {},
  };

  test("reports all of them, of both documents, each once and with its line", async () => {
    const { documents, out } = await sample(openapi(wrong), openapi({ "/e": { gte: {} } }));
    const error = await generate({ documents, out }).catch((cause) => cause);
    const codes = error.errors.map(({ code }: GenerateError) => code).sort();
    expect(codes).toEqual([
      "document_invalid",
      "document_invalid",
      "operation_id_duplicate",
      "reference_missing",
      "reference_missing",
      "style_invalid",
    ]);
    for (const { message } of error.errors) {
      expect(message).toMatch(/^[ab]\.yaml:\d+:\d+#\//);
      expect(error.message.split("\n")).toContain(message);
    }
  });

  test("in the syntax of a file reports those", async () => {
    const error = await refusalOf("openapi: 3.1.0\na: !x 1\nb: !y 2\n");
    expect(error.errors).toHaveLength(2);
    expect(error.code).toBe("document_not_yaml");
  });

  test("stops at a circle of references, since nothing can follow it", async () => {
    const Loop = { allOf: [{ $ref: "#/components/schemas/Loop" }] };
    const paths = {
      "/a": { post: { operationId: "a", requestBody: { content: json(Loop) }, responses: ok } },
    };
    const error = await refusalOf(openapi(paths, { schemas: { Loop } }));
    expect(error.errors.map(({ code }) => code)).toContain("reference_circular");
  });
});

test("the lines of a large JSON document are those of its text", async () => {
  const document = openapi({ "/a": { get: { operationId: "a", parameters: [{ name: "p" }] } } });
  for (const indent of [undefined, 2, "\t"]) {
    const text = JSON.stringify(document, undefined, indent);
    const error = await refusalOf(text);
    const before = text.slice(0, text.indexOf("{", text.indexOf('"parameters"')));
    const lines = before.split("\n");
    expect(error.message).toContain(`a.yaml:${lines.length}:${(lines.at(-1) ?? "").length + 1}#`);
  }
});
