/** From a path template and parameters to a URL under the base; what cannot stand in a path is refused. */
import { createFinalURL, createQuerySerializer, defaultPathSerializer } from "openapi-fetch";
import { ConfigurationError } from "../errors.js";
import { foldsAway, type Target } from "../variants/target.js";

export interface CallParameters {
  readonly path?: Readonly<Record<string, unknown>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly header?: Readonly<Record<string, unknown>> | undefined;
}

const querySerializer = createQuerySerializer();
/** What encodeURIComponent throws at. */
const loneSurrogate = /\p{Surrogate}/u;

/**
 * Builds the URL of a call. `tenantId` is filled in; another tenant's is refused, since the token is bound to one.
 *
 * @throws ConfigurationError `path_parameter_missing`, `path_parameter_invalid`, `option_invalid` for a query
 */
export function requestUrl(template: string, { path, query }: CallParameters, target: Target): string {
  const names = template.match(/\{[^{}]+\}/g);
  if (names === null && query === undefined) return target.baseUrl + template;
  const filled: Record<string, unknown> = {};
  for (const braced of names ?? []) {
    const name = nameIn(braced);
    filled[name] = name === "tenantId" ? tenantIdOf(path, target) : pathParameter(name, path);
  }
  const search = query === undefined ? "" : queryText(query);
  const url = createFinalURL(template, {
    baseUrl: target.baseUrl,
    params: { path: filled },
    querySerializer: () => search,
    pathSerializer: defaultPathSerializer,
  });
  // Looked at as it will be sent: a list of one, or the dot of the label style, folds no less than a plain value.
  const segments = url.slice(target.baseUrl.length).split(/[?#]/, 1)[0]?.split("/") ?? [];
  const folded = segments.findIndex(foldsAway);
  if (folded >= 0) throw folds(nameIn(template.split("/")[folded] ?? ""));
  return url;
}

function queryText(query: Readonly<Record<string, unknown>>): string {
  try {
    return querySerializer(query);
  } catch {
    throw new ConfigurationError(
      "option_invalid",
      "params.query cannot be written into a URL: it holds objects within objects or lists, or half a surrogate pair.",
      { option: "params.query" },
    );
  }
}

function nameIn(braced: string): string {
  return /\{[.;]?([^{}*]+)/.exec(braced)?.[1] ?? braced;
}

function tenantIdOf(path: CallParameters["path"], { tenantId }: Target): string {
  const given = path?.tenantId;
  if (given === undefined && tenantId === "")
    throw new ConfigurationError("path_parameter_missing", 'The path parameter "tenantId" is missing.', {
      option: "params.path.tenantId",
    });
  if (given === undefined || given === tenantId) return tenantId;
  throw new ConfigurationError(
    "path_parameter_invalid",
    "params.path.tenantId names another tenant than the token is for. Leave it out, or connect to that tenant.",
    { option: "params.path.tenantId" },
  );
}

function pathParameter(name: string, path: CallParameters["path"]): unknown {
  const value = path?.[name];
  const option = `params.path.${name}`;
  const parts = typeof value === "object" && value !== null ? Object.values(value) : [value];
  if (parts.every((part) => part === undefined || part === null || part === ""))
    throw new ConfigurationError(
      "path_parameter_missing",
      `The path parameter "${name}" is missing or empty.`,
      {
        option,
      },
    );
  const isPlain = parts.every((part) => ["string", "number", "boolean", "bigint"].includes(typeof part));
  if (!isPlain || (parts.length === 1 && foldsAway(String(parts[0])))) throw folds(name);
  if (parts.some((part) => loneSurrogate.test(String(part))))
    throw new ConfigurationError(
      "path_parameter_invalid",
      `The path parameter "${name}" holds half a surrogate pair, which no URL can.`,
      { option },
    );
  return value;
}

function folds(name: string): ConfigurationError {
  return new ConfigurationError(
    "path_parameter_invalid",
    `The path parameter "${name}" would change the path: "." and ".." are folded by every URL parser.`,
    { option: `params.path.${name}` },
  );
}
