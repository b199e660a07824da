/** `bivariant generate`: code from the OpenAPI documents of both variants. */
import { setTimeout as wait } from "node:timers/promises";
import { type Command, Option } from "commander";
import type { Drift, GenerateOptions, Notice } from "../../generate/index.js";
import { collect, invalidFlag } from "../arguments.js";
import { exitCodes, reportError } from "../error-report.js";
import { FileWatcher, lookEveryMs } from "../file-watcher.js";
import { type Output, printableText } from "../output.js";
import type { Context } from "../run.js";
import { shellWord } from "../settings.js";

interface Flags {
  readonly variantA?: string;
  readonly variantB?: string;
  readonly overlay?: readonly string[];
  readonly out: string;
  readonly refs?: string;
  readonly strict?: true;
  readonly check?: true;
  readonly watch?: true;
}

const orElse =
  "; if it is left out, and the other one or an overlay is given, that of this package";

export function define(command: Command, { output, signal, finish }: Context): void {
  command
    .option("--variant-a <path>", `document of Variant A${orElse}`)
    .option("--variant-b <path>", `document of Variant B${orElse}`)
    .option("--overlay <path>", "OpenAPI Overlay 1.0 or 1.1 to apply; may be repeated", collect)
    .requiredOption("--out <folder>", "folder for the generated files; required")
    .option(
      "--refs <folder>",
      "folder that references to other files may reach (default: that of the document)",
    )
    .option("--strict", "treat warnings as errors")
    .option(
      "--check",
      "write nothing; exit 1 if the files in the folder are not what would be generated",
    )
    .addOption(
      new Option(
        "--watch",
        "generate again whenever a document, a file it refers to or an overlay changes",
      ).conflicts("check"),
    )
    .action(
      async ({
        variantA,
        variantB,
        overlay: overlays = [],
        out,
        refs,
        strict,
        check,
        watch,
      }: Flags) => {
        if (variantA === undefined && variantB === undefined && overlays.length === 0)
          throw invalidFlag(
            "--variant-a",
            "or --variant-b is needed: pass your document of at least one variant, or " +
              "an --overlay.",
          );
        const documents = { A: variantA, B: variantB };
        const options = { documents, overlays, out, refs, strict, signal };
        if (check) {
          const { checkGenerated } = await import("../../generate/index.js");
          const { notices, onNotice } = noticesOn(output);
          const drift = await output.during("generating to compare", () =>
            checkGenerated({ ...options, onNotice }),
          );
          const lines = (["missing", "different", "extra"] as const).flatMap((kind) =>
            drift[kind].map((file) => `${kind.padEnd(10)}${out}/${file}`),
          );
          if (output.json) output.value({ ...drift, notices });
          else output.lines(...(lines.length === 0 ? [`${out} matches the documents.`] : lines));
          if (lines.length === 0) return;
          if (!output.json) output.lines(remedyOf(options, drift));
          finish(exitCodes.checkSaidNo);
          return;
        }
        if (!watch) return generateOnce(options, output);
        await generateAndWatch(options, output);
      },
    )
    .addHelpText(
      "after",
      `
Requires openapi-typescript and typescript 5.9 in the same project (with
TypeScript 7 it says what to install beside it):
  $ npm install --save-dev --save-exact openapi-typescript@7.13.0 typescript@5.9

Examples:
  $ cp node_modules/bivariant/openapi/variant-?.yaml .
  $ bivariant generate --variant-a variant-a.yaml --variant-b variant-b.yaml \\
      --out generated
  $ bivariant generate --overlay learnt.yaml --overlay mine.yaml \\
      --out generated --watch

Then: connect({ ..., api: await import("./generated/operations.js") }).

A document may be OpenAPI 3.0, 3.1, 3.2 or Swagger 2.0, in several files. All of
its mistakes are reported at once. A warning names what is ignored or sent
otherwise than documented; --strict makes it an error.

Supported in types, calls, validator and emulator (the whole table:
src/generate/documents.md of the package):
  parameters  path, query, header and cookie, in every style, and with content
  bodies      JSON, forms and multipart with encoding, text, XML, files, streams
  answers     JSON, text, XML, event streams, JSON lines, files; ranges,
              default, none at all
  schemas     JSON Schema 2020-12; what the validator cannot check is a warning
  ignored     servers, security schemes other than the bearer, callbacks, links;
              webhooks have types only

An overlay is strict: an action that matches nothing is an error. Nothing is
written unless all files are. --watch prints an error and goes on; Ctrl-C ends
it with 0.

With overlays the folder also holds variant-a.json and variant-b.json, the
documents with the overlays applied, so that bivariant diff can compare two such
folders.

With --json: { "out", "files", "notices" }, or with --check { "missing",
"different", "extra", "notices" }. With --watch each line is one such object, or
an { "error" }.`,
    );
}

/** Shows each notice on stderr, and keeps it for the result in JSON. */
function noticesOn(output: Output) {
  const notices: Notice[] = [];
  const onNotice = (notice: Notice) => {
    notices.push(notice);
    const { level, message } = notice;
    output.note(printableText(level === "warning" ? `warning: ${message}` : message));
  };
  return { notices, onNotice };
}

/** What makes the folder match: unwrapped, because a shell reads it. */
function remedyOf({ documents, overlays = [], out, refs }: GenerateOptions, drift: Drift): string {
  const flags = [
    ["--variant-a", documents?.A],
    ["--variant-b", documents?.B],
    ...overlays.map((path) => ["--overlay", path]),
    ["--out", out],
    ["--refs", refs],
  ];
  const given = flags.flatMap(([flag, path]) =>
    path === undefined ? [] : `${flag} ${shellWord(path)}`,
  );
  const command = `Run: bivariant generate ${given.join(" ")}`;
  return drift.extra.length === 0 ? command : `${command}\nand delete what is extra.`;
}

async function generateOnce(options: GenerateOptions, output: Output) {
  const { out } = options;
  const { generate } = await import("../../generate/index.js");
  const { notices, onNotice } = noticesOn(output);
  const files = await output.during("generating", () => generate({ ...options, onNotice }));
  if (output.json) output.value({ out, files, notices });
  else output.lines(...files.map((file) => `${out}/${file}`));
}

async function generateAndWatch(
  options: GenerateOptions & { readonly signal: AbortSignal },
  output: Output,
) {
  const { signal } = options;
  output.indent = 0;
  const watcher = new FileWatcher();
  const onFile = (file: string) => watcher.add(file);
  const attempt = () =>
    generateOnce({ ...options, onFile }, output).catch((error: unknown) => {
      if (!signal.aborted) reportError(output, error);
    });
  await attempt();
  output.note(
    "Watching the documents, the overlays and the files that they refer to. Press Ctrl-C to stop.",
  );
  while (!signal.aborted) {
    await wait(lookEveryMs, undefined, { signal }).catch(() => {});
    if (watcher.hasChanged()) await attempt();
  }
}
