// What the files may hold that the tools read: documents, overlays, settings, seeds, customers and
// earlier results. And what a deployment may send to a survey, up to its outputs.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { readSettingsFile } from "../../src/cli/settings-file.js";
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
import { documents, keys, lines, texts } from "./shapes.js";

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

/** Reading two documents takes 20 ms or more, so not all shapes are tried. */
const { spaces, dots, quotes, "open brackets": open } = lines;
const few = { spaces, dots, quotes, open } as Readonly<Record<string, (size: number) => string>>;

function* textEntries(): Generator<Entry> {
  for (const [shape, text] of Object.entries({ ...few, ...documents })) {
    const of = (
      name: string,
      most: number,
      reaches: RegExp,
      use: (content: string) => () => unknown,
    ): Entry => ({
      ...{ name: `${name}: ${shape}`, most, reaches },
      prepare: (size) => refusedOrDone(use(text(size))),
    });
    yield of("settings file", 60_000, /^option_invalid/, (content) => {
      const path = written(content);
      return () => readSettingsFile(path, new AbortController().signal);
    });
    yield of(
      "seed file",
      60_000,
      /^seed_invalid/,
      (content) => () => parseSeedFile(content, "seed.yaml"),
    );
    yield of("document", 60_000, /^document_/, (content) => {
      const path = written(content);
      return () => read({ A, B: path }, []);
    });
    yield of("description in a document", 200_000, /^done/, (description) => {
      const path = written(document({ info: { ...info, description } }));
      return () => read({ A, B: path }, []);
    });
    yield of("target of an overlay", 20_000, /^overlay_invalid/, (target) => {
      const path = written(overlay([{ target, update: {} }]));
      return () => read({ A, B }, [path]);
    });
  }
}

function* memberEntries(): Generator<Entry> {
  for (const [name, make] of Object.entries(grownDocuments))
    yield {
      ...{ name: `${name} of a document`, most: 200_000, reaches: /^done/ },
      prepare: (size) => {
        const path = written(make(size));
        return () => read({ A, B: path }, []);
      },
    };
  for (const [name, make] of Object.entries(grownOverlays))
    yield {
      ...{ name: `${name} of an overlay`, most: 200_000, reaches: /^done/ },
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
      ...{ name, most: 200_000, reaches: /^seed_invalid .*(?:unknown key|rules|operators)/ },
      prepare: (size) => {
        const text = JSON.stringify(make(size));
        return refusedOrDone(() => parseSeedFile(text, "seed.json"));
      },
    };
  yield {
    ...{ name: "registrations of a seed", most: 100_000, reaches: /^.object/ },
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
/** What comes before the text of a stranger in a file of customers or of results. */
const beginnings = {
  CSV: "baseUrl,note\nhttps://a.example,",
  "JSON lines": '{"baseUrl":"https://a.example"}\n',
  YAML: "- baseUrl: https://a.example\n- ",
  "earlier CSV": "baseUrl,tenantId,variant,works\nhttps://a.example,,,",
  "earlier lines": `${result}\n`,
};
const surveyed = (text: string) =>
  text.startsWith("baseUrl,t") || text.startsWith(result)
    ? parseResults(text)
    : readCustomers(text);

function* surveyEntries(): Generator<Entry> {
  for (const [file, beginning] of Object.entries(beginnings)) {
    for (const [shape, text] of Object.entries({ ...texts, ...documents }))
      yield {
        ...{ name: `${file} of a survey: ${shape}`, most: 60_000 },
        reaches: /^(?:done|customers_invalid|earlier_invalid)/,
        prepare: (size) => {
          const content = beginning + text(size);
          return refusedOrDone(() => surveyed(content));
        },
      };
    const rows: Readonly<Record<string, (name: string) => string>> = {
      CSV: (name) => `https://${name}.example,x`,
      "JSON lines": (name) => `{"baseUrl":"https://${name}.example","note":"x"}`,
      YAML: (name) => `- { baseUrl: "https://${name}.example", note: x }`,
      "earlier CSV": (name) => `https://${name}.example,,,true`,
      "earlier lines": (name) => result.replace("a.example", name),
    };
    yield {
      ...{ name: `${file} of a survey: rows`, most: 400_000, reaches: /^done/ },
      prepare: (size) => {
        const content = [
          beginning.replace(/\n- $|\n[^\n]*$/, ""),
          ...keys(size / 50).map((name) => rows[file]?.(name)),
        ];
        const text = content.join("\n");
        return refusedOrDone(() => surveyed(text));
      },
    };
  }
}

/** A deployment answers everything with the text, which also is in another column. */
function* surveyedEntries(): Generator<Entry> {
  const about = { startedAt: 0, seconds: 0 };
  const client = { bClientId: "account", bClientSecretVariable: "SECRET", variant: "B" } as const;
  for (const status of [200, 400])
    for (const [shape, text] of Object.entries({ ...texts, ...documents }))
      yield {
        ...{
          name: `a deployment that a survey asks, ${status}: ${shape}`,
          most: 60_000,
          reaches: /^done/,
        },
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
  ...textEntries(),
  ...memberEntries(),
  ...surveyEntries(),
  ...surveyedEntries(),
];
