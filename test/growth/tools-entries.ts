// What the files may hold that the tools read, beside the texts of parser-entries.ts: many members,
// actions, registrations and rows. And what a deployment may send to a survey, up to its outputs.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { parseSeedFile } from "../../src/emulator/seed/seed-file.js";
import { Findings } from "../../src/generate/document/findings.js";
import { readDocuments } from "../../src/generate/document/overlay.js";
import { shippedDocument } from "../../src/generate/document/read-document.js";
import { listOperations } from "../../src/generate/operations/list-operations.js";
import {
  parseResults,
  readCustomers,
  resultsCsv,
  resultsPage,
  type SurveyResult,
  survey,
} from "../../src/survey/index.js";
import type { Entry } from "./growth.js";
import { refusedOrDone } from "./refused.js";
import { documents, keys, texts } from "./shapes.js";

const folder = mkdtempSync(join(tmpdir(), "bivariant-growth-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function written(content: string | object): string {
  const path = join(folder, `${files++}.yaml`);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const [A, B] = [shippedDocument("A"), shippedDocument("B")];
const info = { title: "Grown", version: "1" };

async function read(paths: { A: string; B: string }, overlays: readonly string[]): Promise<string> {
  const findings = new Findings();
  const read = await readDocuments(paths, overlays, { findings });
  listOperations(read.B);
  findings.refuse();
  return "done";
}
const document = (members: object) => ({
  openapi: "3.1.0",
  info,
  "x-variant": "B",
  paths: {},
  ...members,
});
const overlay = (actions: readonly object[]) => ({ overlay: "1.1.0", info, actions });
const named = (size: number, value: (name: string) => unknown) =>
  Object.fromEntries(keys(size / 200).map((name) => [name, value(name)]));

const responses = {
  200: { description: "Done", content: { "application/json": { schema: { type: "string" } } } },
};
const grownDocuments: Readonly<Record<string, (size: number) => object>> = {
  paths: (size) => {
    const paths = Object.entries(
      named(size, (operationId) => ({ get: { operationId, responses } })),
    );
    return document({ paths: Object.fromEntries(paths.map(([name, path]) => [`/${name}`, path])) });
  },
  parameters: (size) => {
    const names = Object.keys(named(size, () => 1));
    const parameters = names.map((name) => ({ name, in: "query", schema: { type: "string" } }));
    return document({ paths: { "/x": { get: { operationId: "x", parameters, responses } } } });
  },
  schemas: (size) => document({ components: { schemas: named(size, () => ({ type: "object" })) } }),
  references: (size) => {
    const next = (name: string) => ({
      properties: { next: { $ref: `#/components/schemas/${name}` } },
    });
    return document({ components: { schemas: named(size, next) } });
  },
};
const grownOverlays: Readonly<Record<string, (size: number) => object>> = {
  actions: (size) =>
    overlay(
      keys(size / 200).map((name) => ({ target: "$.info", update: { [`x-${name}`]: name } })),
    ),
  "members of an update": (size) =>
    overlay([{ target: "$.info", update: { "x-grown": named(size, (a) => a) } }]),
};

function* memberEntries(): Generator<Entry> {
  for (const [name, make] of Object.entries(grownDocuments))
    yield {
      name: `${name} of a document`,
      most: 200_000,
      reaches: /^done/,
      prepare: (size) => {
        const path = written(make(size));
        return () => read({ A, B: path }, []);
      },
    };
  for (const [name, make] of Object.entries(grownOverlays))
    yield {
      name: `${name} of an overlay`,
      most: 200_000,
      reaches: /^done/,
      prepare: (size) => {
        const path = written(make(size));
        return () => read({ A, B }, [path]);
      },
    };
  const members = (size: number) => Object.fromEntries(keys(size / 12).map((name) => [name, 1]));
  for (const [name, make] of Object.entries({
    "keys of a seed": members,
    "rules of a seed": (size: number) => ({ options: { rules: members(size) } }),
    "mistakes in a seed": (size: number) => ({ operators: keys(size / 8).map(() => ({ a: 1 })) }),
  }))
    yield {
      name,
      most: 200_000,
      reaches: /^seed_invalid .*(?:unknown key|rules|operators)/,
      prepare: (size) => {
        const text = JSON.stringify(make(size));
        return refusedOrDone(() => parseSeedFile(text, "seed.json"));
      },
    };
  yield {
    name: "registrations of a seed",
    most: 100_000,
    reaches: /^.object/,
    prepare: (size) => {
      const serviceAccounts = keys(size / 100).map((clientId) => ({
        clientId,
        clientSecret: "s",
        tenantId: "acme",
      }));
      const text = JSON.stringify({ serviceAccounts });
      return () => parseSeedFile(text, "seed.json");
    },
  };
}

const result = '{"baseUrl":"https://a.example","tenantId":null,"variant":null,"works":false}';
const header = "baseUrl,tenantId,variant,works";
/** Rows of a file of customers, or of earlier results. */
const rows: Readonly<Record<string, (names: readonly string[]) => readonly string[]>> = {
  CSV: (names) => ["baseUrl,note", ...names.map((name) => `https://${name}.example,x`)],
  "JSON lines": (names) => names.map((name) => `{"baseUrl":"https://${name}.example"}`),
  YAML: (names) => names.map((name) => `- { baseUrl: "https://${name}.example", note: x }`),
  "earlier CSV": (names) => [header, ...names.map((name) => `https://${name}.example,,,true`)],
  "earlier lines": (names) => names.map((name) => result.replace("a.example", name)),
};

function* surveyEntries(): Generator<Entry> {
  for (const [file, make] of Object.entries(rows))
    yield {
      name: `${file} of a survey: rows`,
      most: 400_000,
      reaches: /^done/,
      prepare: (size) => {
        const text = make(keys(size / 50)).join("\n");
        const read = file.startsWith("earlier") ? parseResults : readCustomers;
        return refusedOrDone(() => read(text));
      },
    };
}

/** A deployment answers everything with the text, which also is in another column. */
function* surveyedEntries(): Generator<Entry> {
  const about = { startedAt: 0, seconds: 0 };
  const client = { bClientId: "account", bClientSecretVariable: "SECRET", variant: "B" } as const;
  for (const [at, [shape, text]] of Object.entries({ ...texts, ...documents }).entries())
    for (const status of [at % 2 === 0 ? 200 : 400])
      yield {
        name: `a deployment that a survey asks, ${status}: ${shape}`,
        most: 60_000,
        reaches: /^done/,
        prepare: (size) => {
          const body = text(size);
          const customer = { baseUrl: "https://a.example", ...client, other: { [body]: body } };
          const fetch = async () => new Response(body, { status });
          return refusedOrDone(async () => {
            const results: SurveyResult[] = [];
            const variables = { SECRET: "not a real secret" };
            for await (const one of survey([customer], { fetch, variables })) results.push(one);
            const longest = results.map((one) => ({ ...one, problem: body }));
            return [resultsCsv(longest), resultsPage(longest, about)];
          });
        },
      };
}

export const entries: readonly Entry[] = [
  ...memberEntries(),
  ...surveyEntries(),
  ...surveyedEntries(),
];
