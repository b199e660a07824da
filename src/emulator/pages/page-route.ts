// A route that serves a browser: a page, a form, an asset, or what a page's script asks.
import type { Deployment } from "../deployment.js";
import type { RequestNote } from "../journal/journal.js";

/** One request of a browser. */
export interface Visit {
  readonly deployment: Deployment;
  readonly request: Request;
  /** Of the path, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly note: RequestNote;
}

export interface PageRoute {
  /** Undefined: served whatever the variants. */
  readonly variant?: "A" | "B";
  /** As the journal shows it. */
  readonly operation: string;
  readonly method: "GET" | "POST";
  readonly path: string;
  answer(visit: Visit): Response | Promise<Response>;
}

/** A path under the base URL as a link needs it. */
export function linkTo({ publicUrl }: Deployment, path: string): string {
  return new URL(publicUrl()).pathname.replace(/\/+$/, "") + path;
}
