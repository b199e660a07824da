/** Emits unknowns.ts: what the documents mark with `x-not-shown`, one entry per id. */
import { z } from "zod";
import { type Document, documentError, type Variant, walkDocument } from "../document/document.js";
import { pointerTo } from "../document/source-file.js";
import { fileHeader, prettyLiteral } from "./source-text.js";

export interface Unknown {
  readonly id: string;
  readonly section: string;
  readonly says: string;
  readonly untilTold?: string | undefined;
  readonly variants: Variant[];
  readonly pointers: Partial<Record<Variant, string[]>>;
}

const DECLARATION = `export interface Unknown {
  readonly id: string;
  /** Section of the description that leaves it open. */
  readonly section: string;
  readonly says: string;
  /** What is assumed until it is known, and the option that changes it. */
  readonly untilTold?: string;
  readonly variants: readonly ("A" | "B")[];
  /** JSON pointers of the marks in the document of each variant. */
  readonly pointers: { readonly A?: readonly string[]; readonly B?: readonly string[] };
}
`;

const Mark = z.object({
  id: z.string().regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/),
  section: z.string(),
  says: z.string().min(1),
  untilTold: z.string().optional(),
});

/** What the documents mark with `x-not-shown`, by id. */
export function collectUnknowns(documents: readonly Document[]): ReadonlyMap<string, Unknown> {
  const unknowns = new Map<string, Unknown>();
  for (const document of documents) {
    const invalid = (pointer: string, message: string): Error =>
      documentError(document, "not_shown_invalid", pointer, message);
    walkDocument(document.root, (value, pointerOf) => {
      const marks = value["x-not-shown"];
      if (marks === undefined) return;
      const pointer = pointerOf();
      const place = pointerTo(pointer, "x-not-shown");
      if (!Array.isArray(marks))
        throw invalid(place, "`x-not-shown` must be a list of { id, section, says, untilTold? }");
      for (const [index, mark] of marks.entries()) {
        const { data } = Mark.safeParse(mark);
        if (data === undefined) {
          const needed =
            "each item of `x-not-shown` must have the strings `id` (kebab-case), `section` and " +
            "`says`, and may have the string `untilTold`";
          throw invalid(pointerTo(place, index), needed);
        }
        const { id, section, says, untilTold } = data;
        const known = unknowns.get(id) ?? { ...data, variants: [], pointers: {} };
        if (known.section !== section || known.says !== says || known.untilTold !== untilTold) {
          const message = `the id ${id} has another section or text elsewhere; they must be the same`;
          throw invalid(pointerTo(place, index), message);
        }
        if (!known.variants.includes(document.variant)) known.variants.push(document.variant);
        known.pointers[document.variant] = [...(known.pointers[document.variant] ?? []), pointer];
        unknowns.set(id, known);
      }
    });
  }
  return unknowns;
}

export function emitUnknowns(documents: readonly Document[]): string {
  const unknowns = collectUnknowns(documents);
  const list = [...unknowns.values()].sort(
    (a, b) => a.section.localeCompare(b.section, "en", { numeric: true }) || (a.id < b.id ? -1 : 1),
  );
  return [
    fileHeader(
      "What the description does not show, from the x-not-shown marks of the documents.",
      documents,
    ),
    DECLARATION,
    `export const unknowns: readonly Unknown[] = ${prettyLiteral(list)};\n`,
  ].join("\n");
}
