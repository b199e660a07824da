// The operations of the option `api`: which of them are served, and what they answer.
import { z } from "zod";
import type { OperationEntry } from "../../../generated/operations.js";
import { mostAlike } from "../../option-names.js";
import { issueError } from "../errors.js";
import { ownMember } from "../http/messages.js";
import { canBeRouted } from "../http/router.js";
import { type Answers, documentedAnswer, valueAnswer } from "./answers.js";
import type { Devices } from "./devices.js";
import type { DocumentedRequests } from "./requests.js";
import type { ApiTypes, Responses } from "./responses.js";
import { type ApiRoute, placeOf, type ServedRoute } from "./route.js";
import { Schemas } from "./schemas.js";

/** The module operations.ts that `bivariant generate` wrote from documents of your own. */
export interface EmulatedApi<T extends ApiTypes = ApiTypes> {
  /** `types` does not exist at run time. */
  readonly operations: { readonly A: object; readonly B: object; readonly types?: T | undefined };
  /** Loads the answers. Without it every operation answers its operationId and parameters. */
  readonly emulation?: (() => Promise<object>) | undefined;
  /** Why an operation has no sample among the answers, by operationId. Absent if each has one. */
  readonly notSampled?: Readonly<Record<"A" | "B", Readonly<Record<string, string>>>> | undefined;
}

const documentedTable = z.record(
  z.string(),
  z.looseObject({ method: z.string(), path: z.string() }),
);
const reasonTable = z.record(z.string(), z.string());
export const apiSchema: z.ZodType<EmulatedApi> = z.object(
  {
    operations: z.object({ A: documentedTable, B: documentedTable }),
    emulation: z.custom<() => Promise<object>>((value) => typeof value === "function").optional(),
    notSampled: z.object({ A: reasonTable, B: reasonTable }).optional(),
  },
  "must be the module operations.ts that `bivariant generate` writes",
);

/** The Fetch standard forbids TRACE, so no client could send it. */
const METHODS: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "OPTIONS",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
]);

export interface RouteSettings {
  readonly variants: readonly ("A" | "B")[];
  readonly routes: readonly ApiRoute[];
  readonly refreshPath: string;
  readonly api: EmulatedApi;
  readonly respond: Responses;
  readonly devices?: Devices | undefined;
}

/**
 * An operation of the option `api` that the emulator leaves out, or for whose answer it has no
 * sample.
 */
export interface NotServed {
  readonly variant: "A" | "B";
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly reason: string;
}

/** `reason` says why no request can reach the operation. */
type DocumentedRow = OperationEntry &
  Pick<NotServed, "variant" | "operationId"> & { readonly reason: string | undefined };

export function documentedRows({ variants, api }: RouteSettings): DocumentedRow[] {
  const taken = new Map<string, string>();
  return variants.flatMap((variant) => {
    const table: Record<string, OperationEntry> = { ...api.operations[variant] };
    return Object.entries(table).map(([operationId, entry]) => {
      const place = placeOf(entry);
      const reason = reasonNotToServe(entry, taken.get(place));
      taken.set(place, operationId);
      return { ...entry, variant, operationId, reason };
    });
  });
}

function reported(
  { variant, operationId, method, path }: DocumentedRow,
  reason: string | undefined,
): NotServed[] {
  return reason === undefined ? [] : [{ variant, operationId, method, path, reason }];
}

/** The operations of the option `api` that no request can reach. */
export function operationsNotServed(settings: RouteSettings): readonly NotServed[] {
  return documentedRows(settings).flatMap((row) => reported(row, row.reason));
}

/** The operations of the option `api` whose documented answer the emulator cannot make. */
export function operationsNotSampled(settings: RouteSettings): readonly NotServed[] {
  return documentedRows(settings).flatMap((row) => {
    const reasons = settings.api.notSampled?.[row.variant] ?? {};
    return reported(row, ownMember(reasons, row.operationId));
  });
}

function reasonNotToServe(
  { method, path }: OperationEntry,
  same: string | undefined,
): string | undefined {
  if (!METHODS.has(method)) return "fetch does not send this method";
  if (path.includes("#")) return "its path has a fragment, which no request carries";
  if (path.includes("?")) return "its path has a query, which is not a part of a path";
  if (!canBeRouted(path)) return "its path has two parameters without a character between them";
  return same === undefined ? undefined : `no request could tell it from ${same}`;
}

export function documentedRoute(
  { success, reason: _, ...row }: DocumentedRow,
  { devices: given, respond: responses }: RouteSettings,
  load: () => Promise<Emulation>,
  deviceLists: readonly ApiRoute[],
): ServedRoute {
  const { variant, operationId } = row;
  const [status = 200, ...statuses] = success;
  const route = row as ServedRoute;
  const list = deviceLists.find((described) => placeOf(described) === placeOf(route));
  const own = ownMember(responses, operationId);
  return {
    ...route,
    scope: route.scope ?? list?.scope,
    describe: async () => {
      const { requests = {}, schemas = {} } = await load();
      const documented = requests[variant]?.operations;
      if (documented === undefined) return undefined;
      const request = ownMember(documented, operationId) ?? {};
      return { request, schemas: schemas[variant] ?? new Schemas() };
    },
    async respond(call) {
      const { parameters, devices, request } = call;
      const accept = request.headers.get("accept");
      const { emulation = {} } = await load();
      const answer = emulation[variant]?.[operationId] ?? {
        status,
        contentType: "application/json",
      };
      if (own !== undefined) {
        const value = await own(call);
        if (value instanceof Response) return value;
        if (value !== undefined) return valueAnswer(status, value, answer.contentType);
        return new Response(null, {
          status: statuses.includes(204) || success.length === 0 ? 204 : status,
        });
      }
      if (list === undefined) return documentedAnswer(answer, { operationId, parameters }, accept);
      const { body: _, ...shape } = answer;
      return documentedAnswer(given === undefined ? answer : shape, devices, accept);
    },
  };
}

/** The module emulation.ts, with the schemas of each document ready for use. */
interface Emulation {
  readonly emulation?: Answers;
  readonly requests?: { readonly [V in "A" | "B"]?: DocumentedRequests };
  readonly schemas?: { readonly [V in "A" | "B"]?: Schemas };
}

/** Loads the module at the first call. */
export function emulationLoader({ emulation }: EmulatedApi): () => Promise<Emulation> {
  let loaded: Promise<Emulation> | undefined;
  const load = async (): Promise<Emulation> => {
    const module: Emulation = (await emulation?.()) ?? {};
    const schemas = {
      A: new Schemas(module.requests?.A?.schemas),
      B: new Schemas(module.requests?.B?.schemas),
    };
    return { ...module, schemas };
  };
  return () => {
    loaded ??= load();
    return loaded;
  };
}

/** A misspelt name would leave the documented answer in place. */
export function checkResponses({ api: { operations }, respond }: RouteSettings): void {
  const known = [...Object.keys(operations.A), ...Object.keys(operations.B)];
  const unknown = Object.keys(respond).find((id) => !known.includes(id));
  if (unknown === undefined) return;
  const meant = mostAlike(unknown, known);
  const issue =
    `respond.${unknown}: no operation of \`api\` has this ` +
    `operationId${meant ? `; use ${meant}` : ""}`;
  throw issueError("option_invalid", issue);
}
