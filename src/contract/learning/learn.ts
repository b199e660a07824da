/**
 * What a run teaches: an overlay for the documents of this package, and the settings of the
 * deployment.
 */
import { stringify } from "yaml";
import { unknowns } from "../../../generated/unknowns.js";
import type { ContractResult } from "../case.js";
import type { Exchange, Observation } from "../exchange.js";
import type { Variant } from "../kit.js";
import { brokenRulesOf } from "./broken-rules.js";
import { exampleFor, exampleOf, type JsonSchema, mergeObserved } from "./schema.js";
import { type DeploymentSettings, deploymentSettings } from "./settings.js";

/** What {@link learnFrom} makes of the results of a run. */
export interface Learnt {
  /**
   * An OAI Overlay 1.0.0 in YAML for both documents of this package. `x-observed` marks what it
   * adds. It removes the `x-not-shown` marks of what was answered.
   */
  readonly overlay: string;
  /**
   * The options that follow, under their own names, sorted. Bodies are examples, without a value of
   * the deployment.
   */
  readonly settings: DeploymentSettings;
  /** The ids of the unknowns that were answered, as `bivariant unknowns` lists them. */
  readonly answered: readonly string[];
  /**
   * Sentences about settings that are left out, because cases learnt different values, and about
   * what the deployment breaks and no setting copies.
   */
  readonly conflicts: readonly string[];
}

/**
 * Merges what the cases of a run observed. The results may come from `bivariant contract --json`.
 * The same results always give the same text.
 *
 * @example
 * import { writeFile } from "node:fs/promises";
 * import { createEmulator } from "bivariant/emulator";
 *
 * const results: ContractResult[] = [];
 * for await (const result of runContract({ baseUrl, tenantId, plugin: { clientId, privateKey } }))
 *   results.push(result);
 * const { overlay, settings } = learnFrom(results);
 * await writeFile("learnt.yaml", overlay); // bivariant generate --overlay learnt.yaml
 * const emulator = createEmulator(settings);
 */
export function learnFrom(results: Iterable<ContractResult>): Learnt {
  const all = [...results];
  const answers = all.filter(({ result }) => result === "learnt");
  const observations = all.flatMap(({ evidence = [] }) => evidence.flatMap(observationOf));
  const devices = examplesOfDevices(schemaOf(observations.filter(isDeviceList)));
  const options = answers.flatMap(optionsOf).filter(({ name }) => name !== "devices");
  if (devices !== undefined) options.push({ id: "device-body", name: "devices", value: devices });
  // Only both answers together say which variants are served.
  const asked = answers
    .filter(({ unknown }) => unknown === "current-variant")
    .map(({ variant }) => variant);
  const isKnown =
    new Set(asked).size === 2 &&
    options.some(({ name, value }) => name === "variants" && `${value}`);
  const merged = mergeOptions(options.filter(({ name }) => isKnown || name !== "variants"));
  const broken = brokenRulesOf(all, merged.settings);
  const settings = broken.rules
    ? sorted({ ...merged.settings, rules: broken.rules })
    : merged.settings;
  const actions = (["A", "B"] as const).flatMap((variant) => {
    const own = answers.filter((answer) => answer.variant === variant);
    const seen = observations.filter((one) => one.variant === variant);
    const all = [
      ...marksOf(variant, own),
      ...limitsOf(variant, own),
      ...responsesOf(variant, seen, own),
      ...schemasOf(variant, seen, own, settings),
    ];
    return all.map(({ target, ...change }) => ({ target, "x-variant": variant, ...change }));
  });
  const nothing = { target: "$", description: "Nothing was observed.", update: {} };
  const overlay = {
    overlay: "1.0.0",
    info: { title: "What a contract test observed", version: "1" },
    actions: actions.length > 0 ? actions : [nothing],
  };
  return {
    overlay: stringify(overlay, { aliasDuplicateObjects: false, lineWidth: 0 }),
    settings,
    answered: unknowns
      .map(({ id }) => id)
      .filter((id) => answers.some(({ unknown }) => unknown === id)),
    conflicts: [...merged.conflicts, ...broken.conflicts],
  };
}

/** The order of the names does not depend on what was learnt first. */
function sorted(settings: DeploymentSettings): DeploymentSettings {
  return Object.fromEntries(
    Object.entries(settings).sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}

/** What is done in the document of one variant. */
interface Action {
  readonly target: string;
  readonly update?: object;
  readonly remove?: true;
}

const observed = { "x-observed": true };

/** Settings whose members are options of their own, so that several cases may learn one each. */
const groups: readonly string[] = ["envelope", "refreshTokens"];
/** Settings that collect what several cases learn. */
const lists: readonly string[] = ["unauthorizedStatuses", "variants"];
const bodies = /^(?:bearerBody|clientErrorBody|missingCapabilityBody|tokenResponseExtras)$/;

interface LearntOption {
  /** The case that learnt it. */
  readonly id: string;
  readonly name: string;
  readonly value: unknown;
}

function optionsOf({ id, settings = {} }: ContractResult): readonly LearntOption[] {
  const given = Object.entries(settings).filter(([, value]) => value !== undefined);
  return given.map(([name, value]) => ({
    id,
    name,
    value: bodies.test(name) ? exampleOf(value) : value,
  }));
}

/** An option of which cases learnt different values is left out. */
function mergeOptions(learnt: readonly LearntOption[]): Pick<Learnt, "settings" | "conflicts"> {
  const settings: Record<string, unknown> = {};
  const conflicts: string[] = [];
  for (const name of [...new Set(learnt.map((option) => option.name))].sort()) {
    const own = learnt.filter((option) => option.name === name);
    const values = own.map(({ value }) => value);
    const isList = lists.includes(name);
    const group = groups.includes(name) ? Object.assign({}, ...values) : undefined;
    const merged = isList ? [...new Set(values.flat())].sort() : (group ?? values[0]);
    const text = JSON.stringify(merged);
    const agrees = (value: unknown) =>
      JSON.stringify(group ? { ...group, ...Object(value) } : value) === text;
    const isTaken = deploymentSettings.safeParse({ [name]: merged }).success;
    if (!isTaken) conflicts.push(`${name} was learnt as a value that the option cannot have.`);
    else if (isList || values.every(agrees)) settings[name] = merged;
    else {
      const who = own.map(({ id, value }) => `${JSON.stringify(value).slice(0, 100)} by ${id}`);
      conflicts.push(`${name} was learnt as ${who.join(", ")}.`);
    }
  }
  return { settings, conflicts };
}

function isAnswered(answers: readonly ContractResult[], id: string): boolean {
  return answers.some(({ unknown }) => unknown === id);
}

/** Takes the marks of what was answered away, and keeps the answers in words. */
function marksOf(variant: Variant, answers: readonly ContractResult[]): readonly Action[] {
  const answered = unknowns.filter(
    ({ id, variants }) => variants.includes(variant) && isAnswered(answers, id),
  );
  const marks = answered.map(
    ({ id }) => ({ target: `$..['x-not-shown'][?@.id=='${id}']`, remove: true }) as const,
  );
  const words = answered.flatMap(({ id }) => {
    const said = answers.filter(({ unknown }) => unknown === id).map((answer) => answer.observed);
    const text = [...new Set(said)].sort().join(" ");
    return text === "" ? [] : [[id, text]];
  });
  if (words.length === 0) return marks;
  return [
    ...marks,
    { target: "$.info", update: { "x-answered": Object.fromEntries(words), ...observed } },
  ];
}

/** `info.x-limits` of a document. Each variant has its own lifetimes. */
function limitsOf(variant: Variant, answers: readonly ContractResult[]): readonly Action[] {
  const own: DeploymentSettings = Object.assign({}, ...answers.map(({ settings }) => settings));
  const { tokenLifetimeSeconds, codeLifetimeSeconds, rateLimit } = own;
  const row = (id: string) => `$.info['x-limits'][?@.id=='${id}']`;
  const actions: Action[] = [];
  const change = (target: string, update: object) =>
    actions.push({ target, update: { ...update, ...observed } });
  if (tokenLifetimeSeconds !== undefined)
    change(row("access-token-lifetime"), { value: tokenLifetimeSeconds });
  const id = "authorization-code-lifetime";
  if (codeLifetimeSeconds !== undefined && variant === "A")
    change(row(id), { value: codeLifetimeSeconds });
  if (codeLifetimeSeconds !== undefined && variant === "B") {
    const about = { id, section: "4.2", appliesTo: "authorization code" };
    change("$.info['x-limits']", { ...about, value: codeLifetimeSeconds, unit: "seconds" });
  }
  if (rateLimit && variant === "A") {
    const { requests: maximum, windowSeconds } = rateLimit;
    change(row("token-rate-limit"), { maximum, unit: "requests", windowSeconds });
  }
  return actions;
}

const responses = {
  A: {
    token: "$.paths['/api/v1/{tenantId}/external-plugin/oauth/token'].post.responses",
    devices: "$.paths['/api/v1/{tenantId}/devices'].get.responses",
  },
  B: {
    token: "$.paths['/v1/auth/token'].post.responses",
    devices: "$.paths['/v1/devices'].get.responses",
  },
};

/** The responses that the documents describe beside 200 of each operation, and where. */
const described: { readonly [name: string]: string } = {
  "A token 400": `${responses.A.token}['400']`,
  "A token 429": "$.components.responses.RateLimited",
  "A devices 403": "$.components.responses.Forbidden",
};
/** This one is described as empty, and not for a refused bearer. */
const withoutBody = "A devices 403";

/** Statuses, headers, and the bodies of errors. */
function responsesOf(
  variant: Variant,
  observations: readonly Observation[],
  answers: readonly ContractResult[],
): readonly Action[] {
  const actions: Action[] = [];
  for (const place of ["token", "devices"] as const) {
    const at = responses[variant][place];
    const operations = place === "token" ? ["requestToken"] : ["listDevices", "bearer"];
    const here = observations.filter(({ operation }) => operations.includes(operation));
    const statuses = [...new Set(here.map(({ status }) => status))].sort((a, b) => a - b);
    for (const status of statuses) {
      const own = here.filter((one) => one.status === status);
      const name = `${variant} ${place} ${status}`;
      const schema = place === "token" ? "TokenResponse" : "DeviceList";
      const target = status === 200 ? `${at}['200']` : described[name];
      const hasBody = target === undefined || name === withoutBody;
      const content = hasBody ? contentOf(own, status < 300 ? schema : undefined) : {};
      const update = { ...headersOf(own), ...content };
      const added = {
        [status]: { description: "Observed by a contract test.", ...observed, ...update },
      };
      if (target === undefined) actions.push({ target: at, update: added });
      else if (Object.keys(update).length > 0) actions.push({ target, update });
    }
    // The description shows no status of a success: the documents say 200.
    const isOther = statuses.some((status) => status < 300) && !statuses.includes(200);
    if (place === "token" && isOther && isAnswered(answers, "token-success-status"))
      actions.push({ target: `${at}['200']`, remove: true });
  }
  return actions;
}

/**
 * Headers of HTTP itself, of caches, proxies and browsers (RFC 9110, 9111, 6265, 6750, Fetch),
 * which describe nothing.
 */
const usualHeader =
  /^(?:accept-|access-control-|age$|allow$|alt-svc$|cache-|cdn-|cf-|connection$|content-|cross-origin-|date$|etag$|expect-ct$|expires$|keep-alive$|last-modified$|link$|location$|nel$|origin-agent|permissions-policy|pragma$|proxy-|referrer-policy$|report|retry-after$|server|set-cookie|strict-transport|timing-allow|trailer$|transfer-|upgrade$|vary$|via$|warning$|www-authenticate$|x-(?:cache|content-type|dns|download|frame|permitted|powered|xss)|$)/;

function headersOf(answers: readonly Observation[]) {
  const names = new Set(
    answers.flatMap(({ headers }) => headers).map((name) => name.toLowerCase()),
  );
  const shown = [...names].filter(
    (name) => /^[a-z][a-z0-9-]{0,60}$/.test(name) && !usualHeader.test(name),
  );
  if (shown.length === 0) return {};
  const header = { ...observed, schema: { type: "string" } };
  return { headers: Object.fromEntries(shown.sort().map((name) => [name, header])) };
}

/** The bodies by media type: of a success the named schema, of an error what was observed. */
function contentOf(answers: readonly Observation[], name: string | undefined) {
  const types = new Set(answers.flatMap(({ contentType }) => contentType ?? []));
  const shown = [...types].filter((type) => /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(type)).sort();
  const content = shown.map((type) => {
    if (name !== undefined) return [type, { schema: { $ref: `#/components/schemas/${name}` } }];
    const schema = schemaOf(answers.filter(({ contentType }) => contentType === type));
    return [type, { schema: { ...observed, ...(schema ?? { type: "string" }) } }];
  });
  return content.length === 0 ? {} : { content: Object.fromEntries(content) };
}

const schemaPath = (name: string) => `$.components.schemas.${name}`;

/** The fields of token answers and errors besides those of the description, and the device list. */
function schemasOf(
  variant: Variant,
  observations: readonly Observation[],
  answers: readonly ContractResult[],
  { revoShape }: DeploymentSettings,
): readonly Action[] {
  const successes = observations.filter(({ status }) => status < 300);
  const token = membersOf(
    schemaOf(successes.filter(({ operation }) => /token|refresh/i.test(operation))),
  );
  const actions: Action[] = [];
  const addFields = (target: string, members: Members, known: readonly string[]) => {
    const others = Object.entries(members).filter(([name]) => !known.includes(name));
    const properties = Object.fromEntries(
      others.map(([name, schema]) => [name, { ...observed, ...schema }]),
    );
    if (others.length > 0) actions.push({ target, update: { properties } });
  };
  if (variant === "A") {
    const revo = membersOf(token.revo);
    const user = membersOf(revo.user ?? token["revo.user"]);
    const roles = (revo.roles ?? token["revo.roles"])?.items as JsonSchema | undefined;
    const flat = ["revo.tenant", "revo.user", "revo.roles"];
    const known = ["access_token", "token_type", "expires_in", "revo", ...flat];
    addFields(schemaPath("TokenResponse"), token, known);
    addFields(`${schemaPath("TokenResponse")}.properties.revo`, revo, ["tenant", "user", "roles"]);
    addFields(schemaPath("TokenUser"), user, ["userId", "firstname", "lastname"]);
    addFields(`${schemaPath("TokenRoles")}.items`, membersOf(roles), ["name", "group"]);
    const refusals = observations.filter(
      ({ operation, status }) => operation === "requestToken" && status === 400,
    );
    addFields(schemaPath("TokenError"), membersOf(schemaOf(refusals)), [
      "error",
      "error_description",
    ]);
    const other = { nested: flat, flat: ["revo"] }[String(revoShape)] ?? [];
    for (const name of other)
      actions.push({
        target: `${schemaPath("TokenResponse")}.properties['${name}']`,
        remove: true,
      });
    const type = user.userId?.type;
    if (isAnswered(answers, "user-id-type") && (type === "string" || type === "integer")) {
      // The described type is a list, which an update would add to.
      const target = `${schemaPath("TokenUser")}.properties`;
      actions.push({ target: `${target}.userId`, remove: true });
      actions.push({ target, update: { userId: { ...observed, type } } });
    }
  } else addFields(schemaPath("TokenResponse"), token, ["access_token", "refresh_token"]);
  const devices = schemaOf(observations.filter(isDeviceList));
  if (devices !== undefined)
    actions.push({ target: schemaPath("DeviceList"), update: { ...observed, ...devices } });
  return actions;
}

type Members = Readonly<Record<string, JsonSchema>>;

/** The members of an object, also of one that may be null. */
function membersOf(schema: JsonSchema | undefined): Members {
  const parts: readonly JsonSchema[] = Array.isArray(schema?.anyOf) ? schema.anyOf : [schema ?? {}];
  return Object(parts.find(({ properties }) => properties !== undefined)?.properties);
}

/** Undefined if there was no JSON, or one that cannot be described. */
function schemaOf(observations: readonly Observation[]): JsonSchema | undefined {
  const schemas = observations.flatMap(({ schema }) => (schema === undefined ? [] : [schema]));
  const merged = mergeObserved(schemas);
  return Object.keys(merged).length === 0 ? undefined : merged;
}

const isDeviceList = ({ operation, status }: Observation) =>
  operation === "listDevices" && status < 300;

/** Three invented devices, if each has a text as its id, which the emulator needs. */
function examplesOfDevices(schema: JsonSchema | undefined): readonly object[] | undefined {
  const item = schema?.items as JsonSchema | undefined;
  const needed = Array.isArray(item?.required) ? item.required : [];
  if (schema?.type !== "array" || !needed.includes("id") || membersOf(item).id?.type !== "string")
    return undefined;
  return ([0, 1, 2] as const).map((index) => ({
    ...Object(exampleFor(item ?? {}, index)),
    id: `device-${index + 1}`,
  }));
}

/** Answers of a fault or a redirect describe nothing. A file may hold anything. */
function observationOf({ observation }: Exchange): Observation[] {
  if (typeof observation !== "object" || observation === null) return [];
  const { status, headers } = observation;
  const isAnswer = (status >= 200 && status < 300) || (status >= 400 && status < 500);
  return isAnswer && Number.isInteger(status) && Array.isArray(headers) ? [observation] : [];
}
