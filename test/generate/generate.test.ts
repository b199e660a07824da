// `generate` and `checkGenerated`: what they write, which drift they report, and which documents
// they refuse.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { loadPeer } from "../../src/generate/emit/variant-types.js";
import {
  checkGenerated,
  type Drift,
  GenerateError,
  type GenerateErrorCode,
  generate,
  type Notice,
} from "../../src/generate/index.js";
import { ONE_OPERATION, openapi, sample } from "./sample-documents.js";

const fromRoot = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const NONE = { missing: [], different: [], extra: [] };
const FILES = [
  "emulation.ts",
  "lock.json",
  "operations.ts",
  "schemas.ts",
  "unknowns.ts",
  "variant-a.ts",
  "variant-b.ts",
];

async function generated() {
  const { documents, out } = await sample(openapi(ONE_OPERATION));
  const names = await generate({ documents, out });
  return { documents, out, names };
}

async function contents(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).sort();
  return Object.fromEntries(
    await Promise.all(
      names.map(async (name) => [name, await readFile(join(folder, name), "utf8")]),
    ),
  );
}

describe("generate", () => {
  test("writes the same bytes for the same documents", async () => {
    const { documents, out, names } = await generated();
    expect(names).toEqual(FILES);
    const again = join(`${out}-again`, "below");
    await generate({ documents, out: again });
    expect(await contents(again)).toEqual(await contents(out));
  });

  test("writes into every file that it is generated, and the hash of its document", async () => {
    const { documents, out } = await generated();
    const hash = createHash("sha256")
      .update(await readFile(documents.A))
      .digest("hex");
    for (const [name, text] of Object.entries(await contents(out))) {
      if (name !== "variant-b.ts") expect(text, name).toContain(hash);
      expect(text, name).toContain("do not edit");
    }
  });

  test("ignores line ends and a byte order mark", async () => {
    const { documents, out } = await generated();
    const before = await contents(out);
    const text = await readFile(documents.A, "utf8");
    await writeFile(documents.A, `\uFEFF${text.replaceAll("\n", "\r\n")}`);
    await generate({ documents, out });
    expect(await contents(out)).toEqual(before);
  });

  test("sorts the unknowns by section, in numerical order", async () => {
    const marks = ["10", "2"].map((section) => ({ id: `at-${section}`, section, says: "This." }));
    const { documents, out } = await sample({ ...openapi(ONE_OPERATION), "x-not-shown": marks });
    await generate({ documents, out });
    expect(await readFile(join(out, "unknowns.ts"), "utf8")).toMatch(/at-2"[\s\S]*at-10"/);
  });

  test("writes the documents and the version of every generator into the lock", async () => {
    const { out } = await generated();
    expect(JSON.parse(await readFile(join(out, "lock.json"), "utf8"))).toMatchObject({
      documents: { A: { file: "a.yaml" }, B: { file: "b.yaml" } },
      generators: {
        bivariant: expect.any(Number),
        "openapi-typescript": expect.stringMatching(/^7\.13\./),
        typescript: expect.stringMatching(/^5\./),
      },
    });
  });
});

describe("generate with one document", () => {
  test.each(["A", "B"] as const)(
    "of Variant %s takes the other from this package",
    async (variant) => {
      const { documents, out } = await sample(openapi(ONE_OPERATION), openapi(ONE_OPERATION));
      const other = variant === "A" ? "B" : "A";
      await generate({ documents: { [variant]: documents[variant] }, out });
      expect(await readFile(join(out, `variant-${other.toLowerCase()}.ts`), "utf8")).toBe(
        await readFile(fromRoot(`generated/variant-${other.toLowerCase()}.ts`), "utf8"),
      );
      const text = await readFile(join(out, "operations.ts"), "utf8");
      expect(text).toContain(`export interface Operations${variant} {\n  listThings: {`);
      expect(text).toContain(`export interface Operations${other} {\n  requestToken: {`);
      expect(await checkGenerated({ documents: { [variant]: documents[variant] }, out })).toEqual(
        NONE,
      );
    },
  );

  const row = (name: string, options: unknown, says: string) => ({ name, options, says });
  const wrong: { name: string; options: unknown; says: string }[] = [
    row("null", null, "`documents` must be"),
    row("no options", {}, "`documents` must be"),
    row("no document", { documents: {}, out: "x" }, "`documents` must be"),
    row("another variant", { documents: { A: "a", C: "c" }, out: "x" }, "`documents`"),
    row("a number as path", { documents: { A: 1 }, out: "x" }, "`documents` must be"),
    row("no folder", { documents: { A: "a.yaml" } }, "`out` must be"),
    row(
      "a signal of another kind",
      { documents: { A: "a.yaml" }, out: "x", signal: "SIGINT" },
      "`signal` must be",
    ),
  ];
  test.each(wrong)("is refused with option_invalid for $name", async ({ options, says }) => {
    for (const promise of [generate(options as never), checkGenerated(options as never)]) {
      await expect(promise).rejects.toMatchObject({
        name: "GenerateError",
        code: "option_invalid",
      });
      await expect(promise).rejects.toThrow(says);
    }
  });
});

describe("a package that only generating needs", () => {
  const failing = (cause: Error) => loadPeer("openapi-typescript", () => Promise.reject(cause));

  test("is named with the command that installs it when it is missing", async () => {
    const missing = failing(Object.assign(new Error(), { code: "ERR_MODULE_NOT_FOUND" }));
    await expect(missing).rejects.toMatchObject({ name: "GenerateError", code: "peer_missing" });
    await expect(missing).rejects.toThrow(
      /package openapi-typescript\. .*npm install .*openapi-typescript@7\.13\.0 typescript@5\.9/,
    );
  });

  test("keeps its own error when it fails to load", async () => {
    const broken = new Error("broken");
    await expect(failing(broken)).rejects.toBe(broken);
  });
});

const drift = (
  name: string,
  expected: Partial<Drift>,
  change: (out: string) => Promise<unknown>,
) => ({ ...{ name, change, expected: { ...NONE, ...expected } } });
const drifts = [
  drift("nothing changed", {}, async () => {}),
  drift("a file was deleted", { missing: ["schemas.ts"] }, (out) => rm(join(out, "schemas.ts"))),
  drift("a file was edited", { different: ["operations.ts"] }, (out) =>
    writeFile(join(out, "operations.ts"), "export {};\n"),
  ),
  drift("there is a new file", { extra: ["extra.ts"] }, (out) =>
    writeFile(join(out, "extra.ts"), ""),
  ),
  drift("there is a new file in a folder below", { extra: ["more/extra.ts"] }, async (out) => {
    await mkdir(join(out, "more"));
    await writeFile(join(out, "more", "extra.ts"), "");
  }),
  drift("a checkout changed the line ends", {}, async (out) => {
    const text = await readFile(join(out, "unknowns.ts"), "utf8");
    await writeFile(join(out, "unknowns.ts"), text.replaceAll("\n", "\r\n"));
  }),
  drift("the folder is missing", { missing: FILES }, (out) => rm(out, { recursive: true })),
];

describe("checkGenerated", () => {
  test.each(drifts)("reports the drift when $name", async ({ change, expected }) => {
    const { documents, out } = await generated();
    await change(out);
    expect(await checkGenerated({ documents, out })).toEqual(expected);
  });

  test("reports every file that depends on a document that changed", async () => {
    const { documents, out } = await generated();
    await writeFile(documents.A, `${await readFile(documents.A, "utf8")}# a comment\n`);
    const { different } = await checkGenerated({ documents, out });
    expect(different).toEqual(FILES.filter((name) => name !== "variant-b.ts"));
  });

  test("reports no drift in this repository", async () => {
    const documents = {
      A: fromRoot("openapi/variant-a.yaml"),
      B: fromRoot("openapi/variant-b.yaml"),
    };
    expect(await checkGenerated({ documents, out: fromRoot("generated") })).toEqual(NONE);
  });
});

describe("generate that is aborted", () => {
  /** Aborts after this many turns of the event loop. */
  const abortedAfter = (turns: number): AbortSignal => {
    const controller = new AbortController();
    const count = (left: number): unknown =>
      left === 0 ? controller.abort("the reason") : setImmediate(count, left - 1);
    count(turns);
    return controller.signal;
  };

  test.each(["empty", "old"])(
    "in any turn rejects and changes nothing in a folder: %s",
    async (state) => {
      const { documents, out } = await sample(openapi(ONE_OPERATION));
      const before = state === "old" ? { "lock.json": "old" } : {};
      const found = async () => (existsSync(out) ? await contents(out) : {});
      if (state === "old") {
        await mkdir(out);
        await writeFile(join(out, "lock.json"), "old");
      }
      let turns = 0;
      for (; ; turns += 1) {
        const end = await generate({ documents, out, signal: abortedAfter(turns) }).catch(
          (why: unknown) => why,
        );
        if (Array.isArray(end)) break;
        expect(end).toBe("the reason");
        expect(await found()).toEqual(before);
      }
      expect(turns).toBeGreaterThan(8);
      expect(Object.keys(await found())).toEqual(FILES);
    },
  );
});

describe("generate into a folder where not every file can be written", () => {
  const folders: { name: string; says: string; prepare: (out: string) => Promise<unknown> }[] = [
    { name: "below a file", says: "ENOTDIR", prepare: (out) => writeFile(dirname(out), "") },
    { name: "that is a file", says: "EEXIST", prepare: (out) => writeFile(out, "old") },
    {
      name: "with a folder in the place of a file",
      says: "EISDIR",
      prepare: (out) => mkdir(join(out, "unknowns.ts"), { recursive: true }),
    },
    {
      name: "with old files and a folder in the place of a file",
      says: "EISDIR",
      prepare: async (out) => {
        await mkdir(join(out, "schemas.ts"), { recursive: true });
        for (const name of ["emulation.ts", "lock.json"]) await writeFile(join(out, name), "old");
      },
    },
  ];
  test.each(folders)("leaves everything as it was: $name", async ({ says, prepare }) => {
    const { documents, out } = await sample(openapi(ONE_OPERATION));
    const folder = join(dirname(out), "made", "generated");
    await mkdir(join(dirname(out), "made"), { recursive: true });
    if (says === "ENOTDIR") await rm(dirname(folder), { recursive: true });
    await prepare(folder);
    const before = await readdir(dirname(out), { recursive: true });
    const promise = generate({ documents, out: folder });
    await expect(promise).rejects.toMatchObject({ name: "GenerateError", code: "out_unwritable" });
    await expect(promise).rejects.toThrow(new RegExp(`generated cannot be written.*${says}`));
    expect(await readdir(dirname(out), { recursive: true })).toEqual(before);
    const old = join(folder, "lock.json");
    if (existsSync(old)) expect(await readFile(old, "utf8")).toBe("old");
  });
});

const get = (operation: object) => openapi({ "/things": { get: operation } });
const answer = (schema: object, components: object = {}) =>
  openapi(
    {
      "/things": {
        get: {
          operationId: "listThings",
          responses: {
            200: { description: "Things.", content: { "application/json": { schema } } },
          },
        },
      },
    },
    components,
  );
const MEDIA = "/paths/~1things/get/responses/200/content/application~1json";
const SCHEMA = `${MEDIA}/schema`;
/** A GET at the path that takes these path parameters. */
const getAt = (path: string, ...names: readonly string[]) => {
  const parameters = names.map((name) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  return openapi({ [path]: { get: { operationId: "getThing", parameters, responses: {} } } });
};
const exampleOf = (media: object) => {
  const content = {
    "application/json": { schema: { type: "array", items: { type: "string" } }, ...media },
  };
  return get({
    operationId: "listThings",
    responses: { 200: { description: "Things.", content } },
  });
};

const refusal = (
  name: string,
  code: GenerateErrorCode,
  document: object | string,
  pointer?: string,
) => ({ ...{ name, code, document, pointer } });
const refused = [
  refusal("text that is not YAML", "document_not_yaml", "a: [1"),
  refusal("a list at the top", "document_not_yaml", "- 1\n"),
  refusal(
    "a YAML tag that the parser does not know",
    "document_not_yaml",
    "a: !!js/function 'x'\n",
  ),
  refusal(
    "a YAML alias that refers to a node that contains it",
    "reference_circular",
    "openapi: 3.1.0\nx-loop: &loop\n  self: *loop\n",
  ),
  refusal(
    "a YAML alias in an alias in an alias, and so on, that expands to a thousand million values",
    "document_too_large",
    `openapi: 3.1.0\n` +
      `${Array.from({ length: 10 }, (_, level) => `x-${level}: &a${level} [${level === 0 ? "x" : Array(9).fill(`*a${level - 1}`)}]`).join("\n")}`,
  ),
  refusal(
    "a chain of YAML aliases, each to a copy of the one before",
    "document_too_large",
    `openapi: 3.1.0\nx-0: &a0 ` +
      `[${Array(20_000).fill("x")}]\n` +
      `${Array.from({ length: 150 }, (_, level) => `x-${level + 1}: &a${level + 1} [*a${level}]`).join("\n")}`,
  ),
  ...[
    [
      "YAML",
      (levels: number) =>
        `openapi: 3.1.0\nx-deep: ${"{ a: ".repeat(levels)}1${" }".repeat(levels)}`,
    ] as const,
    [
      "YAML blocks",
      (levels: number) =>
        Array.from({ length: levels }, (_, at) => `${" ".repeat(at)}a:`).join("\n"),
    ] as const,
    ["JSON", (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`] as const,
  ].flatMap(([name, text]) =>
    [201, 1500, 9000].map((levels) =>
      refusal(`${levels} levels of ${name}`, "document_too_large", text(levels)),
    ),
  ),
  refusal(
    "a JSON key given twice",
    "document_not_yaml",
    '{ "openapi": "3.1.0", "info": { "title": "\\"a\\": b" }, "paths": {}, "paths": {} }',
  ),
  refusal(
    "a YAML key given twice",
    "document_not_yaml",
    "openapi: 3.1.0\ninfo: { a: 1, 'a': 2 }\n",
  ),
  ...[
    { name: "a JSON string", text: (long: string) => JSON.stringify({ "x-long": long }) },
    { name: "a JSON key", text: (long: string) => JSON.stringify({ [long]: 1 }) },
    { name: "a YAML string", text: (long: string) => `x-long: ${long}` },
  ].map(({ name, text }) =>
    refusal(`${name} of twelve million characters`, "document_too_large", text("a".repeat(12e6))),
  ),
  refusal(
    "a JSON string of four million escapes",
    "document_too_large",
    JSON.stringify({ "x-long": "\n".repeat(4e6) }),
  ),
  refusal(
    "a YAML alias of a long string, given often",
    "document_too_large",
    `openapi: 3.1.0\nx-0: &a ${"b".repeat(900_000)}\nx-1: [${"*a, ".repeat(80)}]`,
  ),
  refusal(
    "two YAML documents in one file",
    "document_not_yaml",
    "openapi: 3.1.0\n---\nopenapi: 3.1.0\n",
  ),
  refusal("an empty file", "document_not_yaml", ""),
  ...["allOf", "anyOf", "oneOf"].map((key) =>
    refusal(
      `schemas that apply each other to the same value by ${key}`,
      "reference_circular",
      answer(
        {},
        {
          schemas: {
            Pet: { [key]: [{ $ref: "#/components/schemas/Dog" }] },
            Dog: { allOf: [{ $ref: "#/components/schemas/Pet" }, { type: "object" }] },
          },
        },
      ),
    ),
  ),
  refusal(
    "a property named __proto__",
    "schema_unsupported",
    `{ "openapi": "3.1.0", "info": {}, "components": { "schemas": { "Odd": { "properties": ` +
      `{ "__proto__": {} } } } } }`,
  ),
  refusal(
    "OpenAPI 4.0",
    "document_version_unsupported",
    { ...openapi(ONE_OPERATION), openapi: "4.0.0" },
    "/openapi",
  ),
  refusal("Swagger 1.2", "document_version_unsupported", { swagger: "1.2" }, "/swagger"),
  refusal("a document without info", "document_invalid", { openapi: "3.1.0", paths: {} }, "/info"),
  ...["3.1.0", "3.2.0"].map((version) =>
    refusal(
      `OpenAPI ${version} without paths, components and webhooks`,
      "document_invalid",
      { openapi: version, info: {} },
      "/paths",
    ),
  ),
  refusal(
    "OpenAPI 3.0 without paths",
    "document_invalid",
    { openapi: "3.0.3", info: {}, components: {} },
    "/paths",
  ),
  refusal("Swagger 2.0 without paths", "document_invalid", { swagger: "2.0", info: {} }, "/paths"),
  refusal("a document of another kind", "document_version_unsupported", { asyncapi: "3.0.0" }),
  refusal(
    "a $ref to a missing place",
    "reference_missing",
    answer({ $ref: "#/components/schemas/Missing" }),
    SCHEMA,
  ),
  refusal(
    "a $ref that is not UTF-8",
    "reference_missing",
    answer({ $ref: "#/components/schemas/%FF" }),
  ),
  refusal(
    "references in a circle",
    "reference_circular",
    answer(
      {},
      { schemas: { A: { $ref: "#/components/schemas/B" }, B: { $ref: "#/components/schemas/A" } } },
    ),
  ),
  refusal(
    "an operationId given twice",
    "operation_id_duplicate",
    openapi({ ...ONE_OPERATION, "/more": ONE_OPERATION["/things"] }),
    "/paths/~1more/get/operationId",
  ),
  ...["webhooks", "callbacks"].map((where) => {
    const paths = { "/things": { get: { operationId: "a", responses: {}, callbacks: {} } } };
    const again = { post: { operationId: "a", responses: {} } };
    if (where === "callbacks")
      Object.assign(paths["/things"].get.callbacks, { done: { "{$url}": again } });
    const document = {
      ...openapi(paths),
      ...(where === "webhooks" && { webhooks: { done: again } }),
    };
    return refusal(
      `an operationId given again in ${where}`,
      "operation_id_duplicate",
      document,
      `/${where}/done`,
    );
  }),
  refusal(
    "an example that refers to a missing place",
    "reference_missing",
    exampleOf({ examples: { some: { $ref: "#/components/examples/missing" } } }),
    `${MEDIA}/examples/some`,
  ),
  ...["#/components/schemas/Cat", "Cat"].map((target) =>
    refusal(
      `a discriminator that maps to ${target}, which does not exist`,
      "reference_missing",
      answer({ type: "object", discriminator: { propertyName: "kind", mapping: { cat: target } } }),
      `${SCHEMA}/discriminator/mapping/cat`,
    ),
  ),
  refusal(
    "a discriminator that maps to a number",
    "reference_missing",
    answer({ type: "object", discriminator: { propertyName: "kind", mapping: { cat: 5 } } }),
    `${SCHEMA}/discriminator/mapping/cat`,
  ),
  ...["#/components/schemas%2FCat", "#/components/schemas/a%7E1b"].map((reference) =>
    refusal(
      `the reference ${reference}, whose separator is percent-encoded`,
      "reference_missing",
      answer(
        { $ref: reference },
        { schemas: { Cat: { type: "string" }, "a/b": { type: "string" } } },
      ),
      SCHEMA,
    ),
  ),
  ...["webhooks", "callbacks", "links", "securitySchemes"].map((where) => {
    const missing = { default: { $ref: "#/components/missing" } };
    const document = openapi(ONE_OPERATION, where === "webhooks" ? {} : { [where]: missing });
    return refusal(
      `a missing reference in ${where} under the name "default"`,
      "reference_missing",
      { ...document, ...(where === "webhooks" && { webhooks: missing }) },
      `/${where}/default`,
    );
  }),
  ...["default", "example"].map((name) =>
    refusal(
      `an operationId given again in the webhook "${name}"`,
      "operation_id_duplicate",
      { ...openapi(ONE_OPERATION), webhooks: { [name]: { post: { operationId: "listThings" } } } },
      `/webhooks/${name}/post`,
    ),
  ),
  refusal(
    "an operationId given again where only a webhook refers to it",
    "operation_id_duplicate",
    {
      ...openapi(ONE_OPERATION),
      webhooks: { done: { $ref: "#/x-shared/done" } },
      "x-shared": { done: { post: { operationId: "listThings" } } },
    },
    "/x-shared/done/post",
  ),
  refusal(
    "a method without an operation",
    "document_invalid",
    "openapi: 3.1.0\ninfo: {}\npaths:\n  /things:\n    get:\n",
    "/paths/~1things/get",
  ),
  refusal(
    "a key that is not a status",
    "status_invalid",
    get({ operationId: "a", responses: { "2OO": { description: "Letters." } } }),
  ),
  refusal(
    "an x-not-shown mark without an id",
    "not_shown_invalid",
    { ...openapi(ONE_OPERATION), "x-not-shown": [{ section: "1", says: "This." }] },
    "/x-not-shown/0",
  ),
  refusal("a mark whose untilTold is a list", "not_shown_invalid", {
    ...openapi(ONE_OPERATION),
    "x-not-shown": [{ id: "a", section: "1", says: "This.", untilTold: [] }],
  }),
  refusal(
    "a mark without an id at a property named default",
    "not_shown_invalid",
    answer({
      type: "object",
      properties: { default: { "x-not-shown": [{ section: "1", says: "This." }] } },
    }),
    `${SCHEMA}/properties/default`,
  ),
  ...[
    { section: "1", says: "That." },
    { section: "2", says: "This." },
    { section: "1", says: "This.", untilTold: "Assumed." },
  ].map((other) => {
    const marks = [
      { id: "a", section: "1", says: "This." },
      { id: "a", ...other },
    ];
    const document = { ...openapi(ONE_OPERATION), "x-not-shown": marks };
    return refusal(`one id also for ${JSON.stringify(other)}`, "not_shown_invalid", document);
  }),
  refusal(
    "a parameter without a place",
    "document_invalid",
    get({ operationId: "a", parameters: [{ name: "b" }], responses: {} }),
  ),
];

const without = (schema: unknown, at: string, says: string) => ({ schema, at, says });
/** What of a schema is not checked, and the advice of the warning. */
const unchecked = [
  without({ minLenght: 1 }, "/minLenght", 'Did you mean "minLength"?'),
  without({ nullable: true }, "/nullable", 'Write "null" into `type`.'),
  without(
    { dependencies: {} },
    "/dependencies",
    "Write `dependentRequired` or `dependentSchemas`.",
  ),
  without({ $dynamicRef: "#here" }, "/$dynamicRef", "Write `$ref`."),
  without({ colour: "red" }, "/colour", "start its name with x-."),
  without({ pattern: "(" }, "/pattern", '"(" is not a regular expression of ECMAScript.'),
  without({ pattern: "\\Aa\\z" }, "/pattern", "is not a regular expression of ECMAScript."),
  without(
    { patternProperties: { "(": {} } },
    "/patternProperties",
    '"(" is not a regular expression',
  ),
  without({ items: [{ type: "string" }] }, "/items", "write the list as `prefixItems`."),
  without({ required: true }, "/required", '"required" must be a list of names in the schema of'),
  without(
    { exclusiveMinimum: true },
    "/exclusiveMinimum",
    "must be a number; it takes the place of",
  ),
  without({ minLength: "1" }, "/minLength", '"minLength" must be a count.'),
  without({ oneOf: { a: 1 } }, "/oneOf", '"oneOf" must be a list of schemas.'),
  without({ properties: { b: 1 } }, "/properties/b", "a schema must be an object, true or false."),
  without({ enum: "a" }, "/enum", '"enum" must be a list of values.'),
  without({ allOf: [] }, "/allOf", '"allOf" must be a list of schemas.'),
  without({ allOf: ["a"] }, "/allOf/0", "a schema must be an object, true or false."),
  without(null, "", "a schema must be an object, true or false."),
  without({ type: "aray" }, "/type", '"aray" is not a type; use one of object, array'),
  without({ type: ["string", "nul"] }, "/type", '"nul" is not a type'),
];

/** What is only a warning, unless `strict` makes it an error. */
const warned: readonly (ReturnType<typeof refusal> & { readonly says?: readonly string[] })[] = [
  ...[{ paths: {} }, { components: {} }, { webhooks: { done: {} } }].map((parts) => ({
    ...refusal(
      `a document of nothing but ${Object.keys(parts)}`,
      "document_invalid",
      { openapi: "3.1.0", info: {}, ...parts },
      "/paths",
    ),
    says: ["the document has no operations"],
  })),
  refusal(
    "a name in the path without a parameter",
    "document_invalid",
    getAt("/things/{id}"),
    "/paths/~1things~1{id}/get",
  ),
  refusal(
    "a scope that is not area:read, area:write or area:execute",
    "scope_invalid",
    get({ operationId: "a", security: [{ token: ["write-schedules"] }] }),
    "/paths/~1things/get/security",
  ),
  refusal(
    "a path parameter that the path does not have",
    "document_invalid",
    get({
      operationId: "a",
      parameters: [{ name: "id", in: "path", schema: { type: "string" } }],
      responses: {},
    }),
    "/paths/~1things/get",
  ),
  refusal(
    "two paths that differ only in the names of their parameters",
    "document_invalid",
    openapi({
      "/things/{a}": {
        get: { operationId: "a", parameters: [{ name: "a", in: "path" }], responses: {} },
      },
      "/things/{b}": {
        get: { operationId: "b", parameters: [{ name: "b", in: "path" }], responses: {} },
      },
    }),
    "/paths/~1things~1{b}/get",
  ),
  refusal(
    "a server whose address is ignored",
    "part_ignored",
    { ...openapi(ONE_OPERATION), servers: [{ url: "https://api.example/v2" }] },
    "/servers/0",
  ),
  refusal(
    "a security scheme that is not the bearer",
    "part_ignored",
    openapi(ONE_OPERATION, {
      securitySchemes: { key: { type: "apiKey", in: "header", name: "X-Key" } },
    }),
    "/components/securitySchemes/key",
  ),
  refusal(
    "a misspelt type of a parameter",
    "schema_unsupported",
    get({ operationId: "a", parameters: [{ name: "b", in: "query", schema: { type: "aray" } }] }),
    "/paths/~1things/get/parameters/0/schema/type",
  ),
  refusal(
    "a list of alternatives of a parameter that is not one",
    "schema_unsupported",
    get({
      operationId: "a",
      parameters: [{ name: "b", in: "query", schema: { anyOf: {} } }],
      responses: {},
    }),
    "/paths/~1things/get/parameters/0/schema/anyOf",
  ),
  refusal(
    "a parameter whose schema is null",
    "schema_unsupported",
    get({
      operationId: "a",
      parameters: [{ name: "b", in: "query", schema: null }],
      responses: {},
    }),
    "/paths/~1things/get/parameters/0/schema",
  ),
  ...unchecked.map(({ schema, at, says }) => {
    const document = answer({ type: "object", properties: { a: schema } });
    const place = `${SCHEMA}/properties/a${at}`;
    return {
      ...refusal(`the schema ${JSON.stringify(schema)}`, "schema_unsupported", document, place),
      says: [says, "It is not checked"],
    };
  }),
];

test("a schema that contains itself in a property, an item or a choice is not circular", async () => {
  const tree = { $ref: "#/components/schemas/Tree" };
  const choice = { oneOf: [{ type: "null" }, { type: "array", items: tree }] };
  const Tree = {
    type: "object",
    properties: { left: tree, both: choice },
    additionalProperties: tree,
  };
  const { documents, out } = await sample(answer(tree, { schemas: { Tree } }));
  expect(await generate({ documents, out })).toEqual(FILES);
});

test("names in `security` of Variant B may be roles, of which the description says nothing", async () => {
  const { documents, out } = await sample(
    {},
    get({ operationId: "a", security: [{ login: ["editor"] }] }),
  );
  await generate({ documents: { B: documents.B }, out });
  expect(existsSync(out)).toBe(true);
});

describe("a refused document", () => {
  test.each(refused)("$name is refused with $code", async ({ document, code, pointer }) => {
    const { documents, out } = await sample(document);
    const error = await generate({ documents, out }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(GenerateError);
    const refusal = error as GenerateError;
    expect(refusal.code).toBe(code);
    expect(refusal.document).toBe("a.yaml");
    if (pointer !== undefined) expect(refusal.pointer).toContain(pointer);
    expect(existsSync(out)).toBe(false);
  });

  test.each(warned)("$name is a warning, and with strict refused with $code", async (row) => {
    const { documents, out } = await sample(row.document);
    const notices: Notice[] = [];
    const onNotice = (notice: Notice) => void notices.push(notice);
    await expect(generate({ documents, out, strict: true, onNotice })).rejects.toMatchObject({
      code: row.code,
    });
    expect(existsSync(out)).toBe(false);
    await generate({ documents, out, onNotice });
    const warnings = notices.filter(({ level }) => level === "warning");
    expect(warnings).toMatchObject([{ code: row.code, document: "a.yaml", pointer: row.pointer }]);
    expect(warnings[0]?.message).toMatch(/^a\.yaml:\d+:\d+#\//);
    for (const text of row.says ?? []) expect(warnings[0]?.message).toContain(text);
  });

  test("a file that is missing is refused with document_unreadable", async () => {
    const { documents, out } = await sample(openapi(ONE_OPERATION));
    const missing = { ...documents, A: `${documents.A}.missing` };
    await expect(generate({ documents: missing, out })).rejects.toMatchObject({
      code: "document_unreadable",
    });
  });
});
