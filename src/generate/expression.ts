/** What the functions that rewrite schemas for zod pass among themselves. */
import type { Document } from "./document.js";
import type { JsonObject } from "./json-pointer.js";

export type Schema = JsonObject | boolean;

export interface Expression {
  readonly document: Document;
  /** Name under `$defs` of the schema at a pointer of the document. */
  readonly nameOf: (pointer: string) => string;
}
