/**
 * Checks the public types with the compiler and an editor: nothing is `any`, and a hover shows
 * plain types.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generate } from "../../src/generate/index.js";
import { findAny } from "./walk-types.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const control = "test/types/walk-control.ts";
/** Programs whose generated code is made below: not that of the package. */
const ownApi = "test/types/own-api";
const example = "test/examples/consumer";
const consumers = [
  `${ownApi}/consumer.ts`,
  ...["app.ts", "contract.test.ts", "workflow.long.test.ts"].map((name) => `${example}/${name}`),
];
const entries = [
  "src/index.ts",
  "src/variant-a.ts",
  "src/variant-b.ts",
  "src/json-schema/index.ts",
  "src/validate.ts",
  "src/emulator/index.ts",
  "src/generate/index.ts",
  "test/types/walk-service.ts",
];

/** A program that uses the client; its comments name the places of the hovers. */
const probe = {
  file: "test/types/probe.ts",
  text: `import type { Service } from "../../src/index.js";
declare const service: Service;
export const /*result*/result = await service./*call*/call("listDevices");
if (result.variant === "A" && result.status === 403) /*refused*/result;
if (service.variant === "A")
  await service.paths./*GET*/GET("/api/v1/{tenantId}/devices", { params: { path: { /*tenantId*/tenantId: "acme" } } });
`,
};

/** Calls of operations that one variant has, before the variant is known. */
const refused = {
  file: `${ownApi}/refused.ts`,
  text: `import type { Service } from "../../../src/index.js";
import type { OperationTypes } from "./generated/operations.js";
declare const service: Service<OperationTypes>;
type OnlyA = Omit<OperationTypes, "B"> & { B: Record<never, never> };
declare const ofOneDocument: Service<OnlyA>;
export const first: Promise<unknown> = service.call("searchDevices");
export const second: Promise<unknown> = ofOneDocument.call("startSchedule");
`,
};
const written: Readonly<Record<string, string>> = Object.fromEntries(
  [probe, refused].map(({ file, text }) => [join(root, file), text]),
);

let service: ts.LanguageService;
let program: ts.Program;
let temporary: string;

beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), "consumers-"));
  const documents = { A: join(root, ownApi, "a.yaml"), B: join(root, ownApi, "b.yaml") };
  await generate({ documents, out: join(temporary, ownApi) });
  const overlays = [join(root, example, "consumer.overlay.yaml")];
  await generate({ overlays, out: join(temporary, example) });
  // The code is compiled as if it were next to the consumer, where its imports of packages resolve.
  const real = (file: string) =>
    [ownApi, example].reduce(
      (path, folder) => path.replace(join(root, folder, "generated"), join(temporary, folder)),
      file,
    );
  const readFile = (file: string) => written[file] ?? ts.sys.readFile(real(file));
  const files = [...entries, control, ...consumers, probe.file, refused.file].map((file) =>
    join(root, file),
  );
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(
    { ...config, include: [], files: [] },
    ts.sys,
    root,
  );
  service = ts.createLanguageService({
    getScriptFileNames: () => files,
    getScriptVersion: () => "1",
    getScriptSnapshot: (file) => {
      const text = readFile(file);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => root,
    getCompilationSettings: () => options,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (file) => readFile(file) !== undefined,
    readFile,
    directoryExists: (folder) => ts.sys.directoryExists(real(folder)),
  });
  program = service.getProgram() as ts.Program;
});
afterAll(() => rm(temporary, { recursive: true, force: true }));

const messagesOf = (diagnostics: readonly ts.Diagnostic[]) =>
  diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));

describe("any", () => {
  test.each(entries)("is nowhere in the exports of %s, at any depth", (file) => {
    expect(findAny(program, join(root, file))).toEqual([]);
  });

  test("is found where the control file hides it", () => {
    const hidden = [
      "answer()[]",
      "argument[]",
      "member.deep.er",
      "parameter(options).fetch()",
      "union[key]",
    ];
    expect(findAny(program, join(root, control))).toEqual(hidden);
  });
});

test.each(consumers)("%s compiles with the code that was generated for it", (consumer) => {
  const file = join(root, consumer);
  expect(messagesOf(service.getSyntacticDiagnostics(file))).toEqual([]);
  expect(messagesOf(service.getSemanticDiagnostics(file))).toEqual([]);
});

test("the error of an operation that only one variant has says to compare service.variant", () => {
  const advice = "for an operation that only one variant has, compare service.variant first";
  const found = service.getSemanticDiagnostics(join(root, refused.file));
  expect(messagesOf(found)).toEqual([
    expect.stringMatching(
      `^Argument of type '"searchDevices"' is not assignable.*"${advice}".*'\\.$`,
    ),
    `Argument of type '"startSchedule"' is not assignable to parameter of type '"${advice}"'.`,
  ]);
});

describe("a hover in an editor", () => {
  const hoverOn = (place: string) => {
    const mark = `/*${place}*/`;
    const position = probe.text.indexOf(mark) + mark.length;
    const info = service.getQuickInfoAtPosition(join(root, probe.file), position);
    return ts.displayPartsToString(info?.displayParts).replace(/\s+/g, " ");
  };
  const init =
    "init?: ({ params?: { path?: { tenantId?: string; }; }; } & CallOptions) | undefined";
  const outcomesOfA = [
    'Success<"A", 200, unknown>',
    'Failure<"A", 403, undefined>',
    'Failure<"A", StatusOtherThan200And403, unknown>',
  ];
  const outcomesOfB = ['Success<"B", 200, unknown>', 'Failure<"B", StatusOtherThan200, unknown>'];
  const outcomes = [...outcomesOfA, ...outcomesOfB];

  test.each([
    { place: "result", name: "the result of a call shows its outcomes", shows: outcomes },
    { place: "call", name: "call shows its options and its outcomes", shows: [init, ...outcomes] },
    {
      place: "GET",
      name: "a path shows its options and its outcomes",
      shows: [init, ...outcomesOfA],
    },
    {
      place: "refused",
      name: "a narrowed result shows one",
      shows: ['result: Failure<"A", 403, undefined>'],
    },
    { place: "tenantId", name: "tenantId shows a string", shows: ["tenantId?: string"] },
  ])("on $name, without names of private types", ({ place, shows }) => {
    const shown = hoverOn(place);
    for (const part of shows) expect(shown).toContain(part);
    expect(shown).not.toMatch(/NonNullable|operations\[|Outcome|OperationTypes/);
  });
});
