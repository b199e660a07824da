// `generate` and `checkGenerated`: what they write, which drift they report, and what stops them.
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { loadPeer } from "../../src/generate/emit/variant-types.js";
import { checkGenerated, type Drift, generate } from "../../src/generate/index.js";
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

  test("refuses a folder in which it would overwrite a document, and leaves that as it is", async () => {
    const { out, documents } = await sample(openapi(ONE_OPERATION));
    await mkdir(out);
    const text = JSON.stringify(openapi(ONE_OPERATION));
    await writeFile(join(out, "variant-a.json"), text);
    const link = `${documents.A}.link`;
    await symlink(join(out, "variant-a.json"), link);
    const overlay = `${out}.overlay`;
    const actions = [{ target: "$.info", update: { "x-tags": ["more"] } }];
    const info = { title: "More", version: "1" };
    await writeFile(overlay, JSON.stringify({ overlay: "1.1.0", info, actions }));
    for (const A of [join(out, "variant-a.json"), link]) {
      const options = { documents: { A, B: documents.B }, overlays: [overlay], out };
      const says = `${A} would be overwritten: \`out\` must be another folder`;
      await expect(generate(options)).rejects.toThrow(says);
    }
    expect(await contents(out)).toEqual({ "variant-a.json": text });
  });

  const row = (name: string, options: unknown, says: string) => ({ name, options, says });
  test.each([
    row("null", null, "`documents` must be"),
    row("no document", { documents: {}, out: "x" }, "`documents` must be"),
    row("another variant", { documents: { A: "a", C: "c" }, out: "x" }, "`documents`"),
    row("a number as path", { documents: { A: 1 }, out: "x" }, "`documents` must be"),
    row("no folder", { documents: { A: "a.yaml" } }, "`out` must be"),
  ])("is refused with option_invalid for $name", async ({ options, says }) => {
    const message = expect.stringContaining(says);
    for (const promise of [generate(options as never), checkGenerated(options as never)])
      await expect(promise).rejects.toMatchObject({ code: "option_invalid", message });
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
) => ({ name, change, expected: { ...NONE, ...expected } });
const drifts = [
  drift("there is a new file in a folder", { extra: ["more/extra.ts"] }, async (out) => {
    await mkdir(join(out, "more"));
    await writeFile(join(out, "more", "extra.ts"), "");
  }),
  drift("a checkout changed the line ends", {}, async (out) => {
    const text = await readFile(join(out, "unknowns.ts"), "utf8");
    await writeFile(join(out, "unknowns.ts"), text.replaceAll("\n", "\r\n"));
  }),
  drift("the folder is missing", { missing: FILES }, (out) => rm(out, { recursive: true })),
  drift("a file is a link that leads nowhere", { different: ["schemas.ts"] }, async (out) => {
    await rm(join(out, "schemas.ts"));
    await symlink("nowhere", join(out, "schemas.ts"));
  }),
];

describe("checkGenerated", () => {
  test.each(drifts)("reports the drift when $name", async ({ change, expected }) => {
    const { documents, out } = await generated();
    await change(out);
    expect(await checkGenerated({ documents, out })).toEqual(expected);
  });

  test("refuses a file as the folder", async () => {
    const { documents } = await sample(openapi(ONE_OPERATION));
    const checked = checkGenerated({ documents, out: documents.A });
    await expect(checked).rejects.toMatchObject({ code: "option_invalid" });
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

test("generate that is aborted in any turn rejects, and changes nothing in the folder", async () => {
  /** Aborts after this many turns of the event loop. */
  const abortedAfter = (turns: number): AbortSignal => {
    const controller = new AbortController();
    const count = (left: number): unknown =>
      left === 0 ? controller.abort("the reason") : setImmediate(count, left - 1);
    count(turns);
    return controller.signal;
  };
  const { documents, out } = await sample(openapi(ONE_OPERATION));
  await mkdir(out);
  await writeFile(join(out, "lock.json"), "old");
  let turns = 0;
  for (; ; turns += 1) {
    const run = generate({ documents, out, signal: abortedAfter(turns) });
    const end = await run.catch((why: unknown) => why);
    if (Array.isArray(end)) break;
    expect(end).toBe("the reason");
    expect(await contents(out)).toEqual({ "lock.json": "old" });
  }
  expect(turns).toBeGreaterThan(8);
  expect(Object.keys(await contents(out))).toEqual(FILES);
});

describe("generate into a folder where not every file can be written", () => {
  test.each<{ name: string; says: string; prepare: (out: string) => Promise<unknown> }>([
    { name: "that is a file", says: "EEXIST", prepare: (out) => writeFile(out, "old") },
    {
      name: "with old files and a folder in the place of a file",
      says: "EISDIR",
      prepare: async (out) => {
        await mkdir(join(out, "schemas.ts"), { recursive: true });
        for (const name of ["emulation.ts", "lock.json"]) await writeFile(join(out, name), "old");
      },
    },
  ])("leaves everything as it was: $name", async ({ says, prepare }) => {
    const { documents, out } = await sample(openapi(ONE_OPERATION));
    await prepare(out);
    const before = await readdir(dirname(out), { recursive: true });
    const promise = generate({ documents, out });
    const message = expect.stringMatching(`generated cannot be written.*${says}`);
    await expect(promise).rejects.toMatchObject({ code: "out_unwritable", message });
    expect(await readdir(dirname(out), { recursive: true })).toEqual(before);
    const old = join(out, "lock.json");
    if (existsSync(old)) expect(await readFile(old, "utf8")).toBe("old");
  });
});

test("a schema that contains itself in a property, an item or a choice is not circular", async () => {
  const tree = { $ref: "#/components/schemas/Tree" };
  const both = { oneOf: [{ type: "null" }, { type: "array", items: tree }] };
  const Tree = { type: "object", properties: { left: tree, both }, additionalProperties: tree };
  const { documents, out } = await sample(openapi({}, { schemas: { Tree } }));
  expect(await generate({ documents, out })).toEqual(FILES);
});

test("names in `security` of Variant B may be roles, of which the description says nothing", async () => {
  const get = { operationId: "a", security: [{ login: ["editor"] }] };
  const { documents, out } = await sample({}, openapi({ "/a": { get } }));
  expect(await generate({ documents: { B: documents.B }, out, strict: true })).toEqual(FILES);
});
