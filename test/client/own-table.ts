// A service of Variant B over a table written in a test, whose calls go to a real server with the
// real fetch.
import { createService, type Variant } from "../../src/index.js";
import { numberedAuth } from "../support/numbered-auth.js";

export interface Outcome {
  readonly ok: boolean;
  readonly status: number;
  readonly data?: unknown;
  readonly error?: { readonly code: string; readonly body: unknown };
  readonly response: Response;
  readonly retries: number;
}

export type OwnCall = (operationId: string, init?: object) => Promise<Outcome>;

type Rows = Readonly<Record<string, object>>;
type Options = Parameters<typeof createService>[1];

/** Calls of rows that name only what differs from a GET that answers 200 with JSON. */
export function ownCall(
  rows: Rows,
  baseUrl: string,
  options: Options = {},
  variant: Variant = "B",
): OwnCall {
  const usual = { method: "GET", path: "/v1/own", success: [200], failure: [] };
  const table = Object.fromEntries(
    Object.entries(rows).map(([id, row]) => [id, { ...usual, ...row }]),
  );
  const api = { operations: { A: table, B: table } } as never;
  const auth = numberedAuth({ variant, baseUrl, now: Date.now });
  const service = createService(auth, { api, maxRetries: 0, fetch: globalThis.fetch, ...options });
  return service.call.bind(service) as never;
}
