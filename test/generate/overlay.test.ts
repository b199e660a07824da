// Overlays: what each kind of action does, which document it changes, what is refused and where,
// and what the generated code says of it. The expected documents are written by hand from the
// Overlay Specification 1.0 and 1.1.
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { learnFrom } from "../../src/contract/index.js";
import { Findings } from "../../src/generate/document/findings.js";
import { readDocuments } from "../../src/generate/document/overlay.js";
import {
  checkGenerated,
  type GenerateErrorCode,
  generate,
  type Notice,
} from "../../src/generate/index.js";
import { ONE_OPERATION, openapi, type Sample, sample } from "./sample-documents.js";

type Json = Readonly<Record<string, unknown>>;

const town = parse(`openapi: 3.1.0
info: { title: Town, version: "1" }
servers: [{ url: https://service.example }]
tags: [{ name: a }]
paths:
  /houses:
    get:
      operationId: listHouses
      summary: All houses
      tags: [a, b, c]
      responses: { 200: { description: Houses. }, 500: { description: Broken. } }
  /streets:
    get: { operationId: listStreets, responses: { 200: { description: Streets. } } }
    post: { operationId: addStreet, responses: { 201: { description: Added. } } }
components:
  schemas:
    House:
      type: object
      properties: { id: { type: integer, examples: [7] }, name: { type: string } }
`);

const overlay = (actions: readonly object[], more: Json = {}): Json => ({
  overlay: "1.1.0",
  info: { title: "Changes", version: "1" },
  ...more,
  actions,
});

/** Writes the documents and the overlays, and returns what generating from them needs. */
async function files(
  overlays: readonly (Json | string)[],
  a: object | string = town,
  b?: object | string,
) {
  const { documents, out } = await sample(a, b);
  const paths = overlays.map((_, index) =>
    join(dirname(out), `${["first", "second"][index]}.yaml`),
  );
  for (const [index, path] of paths.entries()) {
    const content = overlays[index] ?? "";
    await writeFile(path, typeof content === "string" ? content : stringify(content));
  }
  return { documents, overlays: paths, out };
}

async function read(documents: Sample["documents"], overlays: readonly string[]) {
  const findings = new Findings();
  const both = await readDocuments(documents, overlays, { findings });
  findings.refuse();
  return both;
}

/** Both documents after the overlays. */
async function overlaid(...args: Parameters<typeof files>): Promise<{ A: object; B: object }> {
  const { documents, overlays } = await files(...args);
  const { A, B } = await read(documents, overlays);
  return { A: A.root, B: B.root };
}

/** A copy of `value` with these values at their JSON pointers; undefined removes. */
function edited<T>(value: T, changes: Json): T {
  const copy = structuredClone(value);
  for (const [pointer, changed] of Object.entries(changes)) {
    const keys = pointer
      .split("/")
      .slice(1)
      .map((key) => key.replaceAll("~1", "/"));
    const last = keys.pop() ?? "";
    const holder = keys.reduce(
      (at, key) => at[key] as Record<string, unknown>,
      copy as Record<string, unknown>,
    );
    if (changed === undefined) delete holder[last];
    else holder[last] = changed;
  }
  return copy;
}

const HOUSES = "$.paths['/houses'].get";
const GET = "/paths/~1houses/get";
interface Change {
  readonly target: string;
  readonly "x-variant"?: string;
  readonly copy?: string;
  readonly update?: unknown;
  readonly remove?: true;
}
const action = (name: string, actions: readonly Change[], changes: Json, version = "1.1.0") => ({
  name,
  actions,
  version,
  expected: edited(town, changes),
});
const applied = [
  action(
    "update of texts and objects that the document has and has not",
    [{ target: HOUSES, update: { summary: "Houses", description: "All.", "x-a": { b: 1 } } }],
    { [`${GET}/summary`]: "Houses", [`${GET}/description`]: "All.", [`${GET}/x-a`]: { b: 1 } },
    "1.0.3",
  ),
  action(
    "update of every operation that a wildcard selects, each with a value of its own",
    [
      { target: "$.paths.*.get", update: { "x-deep": { list: [1] }, tags: ["d"] } },
      { target: `${HOUSES}['x-deep']`, update: { list: [2] } },
    ],
    {
      [`${GET}/x-deep`]: { list: [1, 2] },
      [`${GET}/tags`]: ["a", "b", "c", "d"],
      "/paths/~1streets/get/x-deep": { list: [1] },
      "/paths/~1streets/get/tags": ["d"],
    },
  ),
  action(
    "update that in 1.0 appends an array as one item",
    [{ target: "$.tags", update: [1] }],
    { "/tags": [{ name: "a" }, [1]] },
    "1.0.0",
  ),
  action("update of a place that is selected twice", [{ target: "$['tags','tags']", update: 1 }], {
    "/tags": [{ name: "a" }, 1],
  }),
  action(
    "remove of items by index, in any order",
    [{ target: `${HOUSES}.tags[0,2,1]`, remove: true }],
    { [`${GET}/tags`]: [] },
  ),
  action(
    "remove beside an update that it makes void",
    [{ target: "$.tags", remove: true, update: { name: "b" } }],
    { "/tags": undefined },
    "1.0.0",
  ),
  action(
    "copy of an array, of an object into an array, and of a text",
    [
      { target: "$.tags", copy: "$.tags" },
      { target: "$.tags", copy: "$.info" },
      { target: "$.info.title", copy: `${HOUSES}.summary` },
    ],
    { "/tags": [{ name: "a" }, { name: "a" }, town.info], "/info/title": "All houses" },
  ),
];

describe("an overlay", () => {
  test.each(applied)("applies an $name", async ({ actions, version, expected }) => {
    const { A } = await overlaid([overlay(actions, { overlay: version, "x-variant": "A" })]);
    expect(A).toEqual(expected);
  });

  test("may remove again what an overlay before it has removed from the document", async () => {
    const remove = { target: `${HOUSES}.tags[?@ == 'b']`, remove: true };
    const once = await overlaid([overlay([remove])]);
    expect(await overlaid([overlay([remove, remove]), overlay([remove])])).toEqual(once);
  });

  test("has the same result as with Redocly's applier", async () => {
    const rows = applied.filter(({ version }) => version !== "1.0.0");
    // Each row has a town of its own in one document, because each run of Redocly costs 0.3 s.
    const at = (path: string, index: number) => path.replace("$", `$['x-${index}']`);
    const actions = rows.flatMap(({ actions }, index) =>
      actions.map(({ target, ...more }) => ({
        ...more,
        target: at(target, index),
        ...(more.copy !== undefined && { copy: at(more.copy, index) }),
      })),
    );
    const towns = Object.fromEntries(rows.map((_, index) => [`x-${index}`, town]));
    const { documents, overlays, out } = await files([overlay(actions)], {
      ...openapi({}),
      ...towns,
    });
    const { resolve } = createRequire(import.meta.url);
    const redocly = join(dirname(resolve("@redocly/cli/package.json")), "bin", "cli.js");
    const to = join(dirname(out), "bundled.yaml");
    const env = {
      ...process.env,
      REDOCLY_TELEMETRY: "off",
      REDOCLY_SUPPRESS_UPDATE_NOTICE: "true",
    };
    const args = [redocly, "bundle", documents.A, "--overlay", ...overlays, "-o", to];
    const limit = { timeout: 60_000, killSignal: "SIGKILL" } as const;
    await promisify(execFile)(process.execPath, args, { env, ...limit });
    const result = parse(await readFile(to, "utf8"));
    for (const [index, { name, expected }] of rows.entries())
      expect(result[`x-${index}`], name).toEqual(expected);
    expect(result).toEqual((await read(documents, overlays)).A.root);
  });
});

describe("the document that an action changes", () => {
  const other = { ...openapi(ONE_OPERATION), tags: [] };
  const row = (name: string, more: Json, own: Json, changes: string) => ({
    name,
    more,
    own,
    changes,
  });
  const rows = [
    row("is the one that x-variant of the action names", {}, { "x-variant": "B" }, "B"),
    row("is the one that x-variant of the overlay names", { "x-variant": "A" }, {}, "A"),
    row("is the one that extends names", { extends: "./some/b.yaml#" }, {}, "B"),
    row(
      "is by x-variant if extends names another",
      { extends: "b.yaml" },
      { "x-variant": "A" },
      "A",
    ),
    row("is each that the target matches", {}, {}, "AB"),
    row("is the one that the target matches", {}, { target: "$.servers" }, "A"),
  ];
  test.each(rows)("$name", async ({ more, own, changes }) => {
    const change = { target: "$.tags", update: { name: "new" }, ...own };
    const { A, B } = await overlaid([overlay([change], more)], town, other);
    const changed = (document: object) => JSON.stringify(document).includes('"new"');
    expect({ A: changed(A), B: changed(B) }).toEqual({
      A: changes.includes("A"),
      B: changes.includes("B"),
    });
  });

  test("has an alias and its anchor as two values, of which an overlay changes one", async () => {
    const text = stringify(openapi(ONE_OPERATION)).concat("x-a: &a { list: [1] }\nx-b: *a\n");
    const json = JSON.stringify(
      overlay([{ target: "$['x-b'].list", update: 2, "x-variant": "A" }]),
    );
    expect((await overlaid([json], text)).A).toMatchObject({
      "x-a": { list: [1] },
      "x-b": { list: [1, 2] },
    });
  });
});

const TITLE = { target: "$.info.title", update: "New" };
/** `at` is line, column and pointer in the overlay; YAML by `stringify` unless it is a text. */
const row = (name: string, content: Json | string, at: string, says = "") => ({
  name,
  content,
  at,
  says,
});
const one = (name: string, action: object, at: string, says?: string) =>
  row(name, overlay([action]), at, says);
const rowsOf = (code: GenerateErrorCode, ...rows: readonly ReturnType<typeof row>[]) =>
  rows.map((refused) => ({ ...refused, code }));
const inA = (action: object) =>
  row(
    `a clash, ${JSON.stringify(action)}`,
    overlay([action], { "x-variant": "A" }),
    "7:5#/actions/0",
  );
const inside = (update: object, at: string) =>
  one(`a clash inside an update, ${JSON.stringify(update)}`, { target: "$", update }, at);
const again = (first: object, count: number, more: object) =>
  overlay([{ target: "$", update: first }, ...Array.from({ length: count }, () => ({ ...more }))]);

const refused = [
  ...rowsOf(
    "overlay_unmatched",
    row(
      "a target that matches nothing",
      overlay([TITLE, { target: "$.paths['/house'].get", remove: true }]),
      "8:5#/actions/1",
      "matches nothing in a.yaml and in b.yaml. Use /houses instead of /house",
    ),
    row(
      "a target that matches only in the other variant",
      overlay([{ ...TITLE, target: "$.servers", "x-variant": "B" }]),
      "6:5#/actions/0",
      "matches nothing in b.yaml",
    ),
    row(
      "extends with the name of neither document",
      overlay([TITLE], { extends: "c.yaml" }),
      "5:10#/extends",
      "c.yaml, but the documents are a.yaml and b.yaml",
    ),
    row(
      "a target that only an earlier action had written and another removed",
      again({ "x-a": 1 }, 2, { target: "$['x-a']", remove: true }),
      "11:5#/actions/2",
    ),
    row(
      "a target of a learnt overlay that the documents do not have",
      learnFrom([]).overlay.replace("target: $", "target: $.none"),
      "6:5#/actions/0",
      "A learnt overlay fits the documents of bivariant",
    ),
    one("copy of nothing", { target: "$.info", copy: "$.none" }, "6:5#/actions/0"),
  ),
  ...rowsOf(
    "overlay_conflict",
    inA({ target: "$.info", update: ["text"] }),
    inA({ target: "$.info.title", update: {} }),
    inA({ target: "$.info['title','version']", copy: "$.info.*" }),
    inA({ target: "$['info','servers']", update: {} }),
    inA({ target: "$", remove: true }),
    inside({ info: { "x-a": 1, title: { a: 1 } } }, "11:11#/actions/0/update/info/title"),
    inside({ servers: { url: "/" } }, "9:9#/actions/0/update/servers"),
    inside({ paths: null }, "8:14#/actions/0/update/paths"),
    row(
      "a text as target in 1.0",
      overlay([TITLE], { overlay: "1.0.0" }),
      "6:5#/actions/0",
      "needs `overlay: 1.1.0`",
    ),
    row(
      "a member named __proto__",
      `{"overlay":"1.1.0","info":{"title":"a","version":"1"},
        "actions":[{"target":"$","update":{"info":{"__proto__":{"a":1}}}}]}`,
      "2:20#/actions/0",
    ),
  ),
  ...rowsOf(
    "overlay_invalid",
    one("a JSONPath that does not parse", { ...TITLE, target: "$.a[" }, "6:13#/actions/0/target"),
    row("an unknown version", overlay([TITLE], { overlay: "1.2.0" }), "1:10#/overlay"),
    row(
      "a number as version",
      overlay([TITLE], { overlay: 1.1 }),
      "1:10#/overlay",
      'write "1.1.0"',
    ),
    row("another document", overlay([TITLE], { overlay: undefined }), "1:1#/overlay"),
    row("no title", overlay([TITLE], { info: { version: "1" } }), "3:3#/info/title"),
    row("an unknown member", overlay([TITLE], { action: [] }), "5:9#/action"),
    row("a variant C", overlay([TITLE], { "x-variant": "C" }), "5:12#/x-variant"),
    row("no action", overlay([]), "5:10#/actions"),
    one("an action without a target", { update: {} }, "6:5#/actions/0/target"),
    one("an action that does nothing", { target: "$", remove: false }, "6:5#/actions/0"),
    one("an action that does two things", { ...TITLE, copy: "$.info" }, "6:5#/actions/0"),
    one("an unknown member of an action", { ...TITLE, replace: 1 }, "8:14#/actions/0/replace"),
    one("remove that is a text", { target: "$.tags", remove: "yes" }, "7:13#/actions/0/remove"),
    row(
      "copy in 1.0",
      overlay([{ target: "$.info", copy: "$.info" }], { overlay: "1.0.0" }),
      "7:11#/actions/0/copy",
      "needs `overlay: 1.1.0`",
    ),
  ),
  ...rowsOf(
    "document_too_large",
    row(
      "copies that double the document again and again",
      again({ "x-many": [1, 2] }, 30, { target: "$['x-many']", copy: "$['x-many']" }),
      "45:5#/actions/18",
    ),
    row(
      "copies of one long text",
      again({ "x-many": ["a".repeat(900_000)] }, 10, {
        target: "$['x-many']",
        copy: "$['x-many']",
      }),
      "18:5#/actions/5",
      "characters",
    ),
  ),
];

test.each(refused)(
  "$name in an overlay is refused with $code, line and column",
  async ({ content, code, at, says }) => {
    const { documents, overlays } = await files([content]);
    const error = await read(documents, overlays).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "GenerateError", code, document: "first.yaml" });
    expect((error as Error).message).toContain(`first.yaml:${at}: `);
    expect((error as Error).message).toContain(says);
    expect(Object.prototype).not.toHaveProperty("a");
  },
);

const HOUSE = "$.components.schemas.House";
const schema = { $ref: "#/components/schemas/House" };
const getHouse = {
  operationId: "getHouse",
  responses: { 200: { description: "House.", content: { "application/json": { schema } } } },
};
const byAnAction = [
  {
    name: "an action that adds a dangling reference",
    changes: [TITLE, { target: HOUSE, update: { properties: { a: { $ref: "#/none" } } } }],
    code: "reference_missing",
    says: "first.yaml:13:11#/actions/1/update/properties/a: #/none does not exist in this document (a.ya",
  },
  {
    name: "an action that removes what is referred to",
    changes: [{ target: HOUSE, remove: true }],
    code: "reference_missing",
    says: "first.yaml:7:5#/actions/0: #/components/schemas/House does not exist in this document, because",
  },
  {
    name: "an action that gives an operationId twice",
    changes: [TITLE, TITLE, { target: HOUSES, update: { operationId: "listStreets" } }],
    code: "operation_id_duplicate",
    says: "first.yaml:13:20#/actions/2/update/operationId: ",
  },
  {
    name: "the `copy` that wrote a misspelt method",
    changes: [
      { target: "$.info", update: { "x-a": { psot: {} } } },
      { target: "$.paths['/house']", copy: "$.info['x-a']" },
    ],
    code: "document_invalid",
    says: "first.yaml:12:5#/actions/1/copy: ",
  },
  {
    name: "the document, for a mistake of its own behind an item that an action removed",
    changes: [{ target: "$['x-not-shown'][0]", remove: true }],
    code: "not_shown_invalid",
    says: "a.yaml:6:5#/x-not-shown/1: each item of `x-not-shown` must have the strings",
  },
];

test.each(byAnAction)(
  "a document that is invalid after an overlay names $name",
  async ({ changes, code, says }) => {
    const marks: object[] = [{ id: "one", section: "1", says: "One." }];
    if (code === "not_shown_invalid") marks.push({ id: "two" });
    const paths = { ...town.paths, "/house": { get: getHouse } };
    const document = stringify({ openapi: "3.1.0", "x-not-shown": marks, ...town, paths });
    const options = await files([overlay(changes, { "x-variant": "A" })], document);
    const message = expect.stringContaining(says);
    await expect(generate(options)).rejects.toMatchObject({ code, message });
  },
);

test("a warning names a misspelt keyword in an item that an earlier overlay's item moved, by its line in the update", async () => {
  const changes = [
    { target: HOUSE, update: { allOf: [{}, { properties: { a: { requried: [] } } }] } },
    { target: `${HOUSE}.allOf[0]`, remove: true },
  ];
  const options = await files([overlay(changes, { "x-variant": "A" })], stringify(town));
  const warnings: string[] = [];
  const onNotice = ({ code, message }: Notice) =>
    void (code === "schema_unsupported" && warnings.push(message));
  await generate({ ...options, onNotice });
  const says =
    "#/actions/0/update/allOf/1/properties/a/requried: " +
    '"requried" is not a keyword of JSON Schema 2020-12';
  expect(warnings).toEqual([expect.stringContaining(says)]);
});

describe("code generated with overlays", () => {
  const unknown = { id: "house-fields", section: "4", says: "The fields.", untilTold: "None." };
  const described = edited(town, {
    "/components/schemas/House/x-not-shown": [unknown],
    "/paths/~1house": { get: getHouse },
  });
  const head = 'overlay: 1.1.0\ninfo: { title: Changes, version: "1" }\nx-variant: A\nactions:\n';
  const learnt = `${head}
- { target: "${HOUSE}['x-not-shown'][?@.id == 'house-fields']", remove: true }
- target: ${HOUSE}.properties
  update:
    floors: { type: integer, x-observed: true }
    owner: { x-observed: true, properties: { name: {} } }
    name: { x-observed: true }
- target: $.paths
  update:
    /towns: { get: { operationId: listTowns, responses: { 200: { description: Towns. } } } }
`;
  const mine = `${head}
- target: ${HOUSE}.properties
  update: { colour: { $ref: "#/components/schemas/Colour" }, id: { description: The number. } }
- target: $.components.schemas
  update: { Colour: { type: string, x-assumed: true } }
`;

  test("says of each field and operation where it comes from, unless its document describes it", async () => {
    const { out, ...options } = await files([learnt, mine], described);
    await generate({ ...options, out });
    const types = await readFile(join(out, "variant-a.ts"), "utf8");
    const origins = [...types.matchAll(/Provenance: (.*)\.[\s\S]*?\*\/\s+"?(\w+)/g)].map(
      ([, says, of]) => [of, says],
    );
    expect(origins).toEqual([
      ["get", "overlaid (first.yaml)"],
      ["id", "overlaid (second.yaml)"],
      ["name", "observed (first.yaml)"],
      ["floors", "observed (first.yaml)"],
      ["owner", "observed (first.yaml)"],
      ["name", "observed (first.yaml)"],
      ["colour", "overlaid (second.yaml)"],
      ["Colour", "assumed (second.yaml)"],
      ["200", "overlaid (first.yaml)"],
    ]);
    expect(types).toContain("The number.\n");
    const operations = await readFile(join(out, "operations.ts"), "utf8");
    expect(operations.match(/\/\*\* Provenance: .*\n.*\w/g)).toEqual([
      "/** Provenance: overlaid (first.yaml). */\n  listTowns",
    ]);
    expect(await readFile(join(out, "unknowns.ts"), "utf8")).not.toContain("house-fields");
    const lock = JSON.parse(await readFile(join(out, "lock.json"), "utf8"));
    const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(lock.overlays).toEqual([
      { file: "first.yaml", sha256 },
      { file: "second.yaml", sha256 },
    ]);
    expect(types).toContain(` * second.yaml sha256 ${lock.overlays[1].sha256}\n`);
    expect(await checkGenerated({ ...options, out })).toEqual({
      missing: [],
      different: [],
      extra: [],
    });
    expect(await checkGenerated({ documents: options.documents, out })).toMatchObject({
      missing: [],
    });
  });

  test("names what is assumed until an unknown is told", async () => {
    const { documents, out } = await files([], described);
    await generate({ documents, out });
    expect(await readFile(join(out, "variant-a.ts"), "utf8")).toContain(
      "Provenance: described; assumed until told: house-fields (unknowns.ts). */\n        House: {",
    );
  });

  test("needs no document: the overlay of its page changes those of this package", async () => {
    const page = await readFile(new URL("../../src/generate/overlays.md", import.meta.url), "utf8");
    const { overlays, out } = await files([
      /```yaml\n(# mine\.yaml[\s\S]*?)```/.exec(page)?.[1] ?? "",
    ]);
    await generate({ overlays, out });
    const read = (name: string) => readFile(join(out, name), "utf8");
    for (const name of ["variant-a.ts", "variant-b.ts"]) {
      expect(await read(name)).toMatch(/DeviceList: \{[^}]*id: string;\s+\}\[\];/);
    }
    expect(await read("operations.ts")).toContain(
      '"/api/v1/{tenantId}/schedules": "listSchedules"',
    );
    expect(await read("unknowns.ts")).not.toContain("device-body");
  });
});
