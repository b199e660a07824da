/** Emits variant-a.ts and variant-b.ts: the document as TypeScript types, by openapi-typescript. */
import { unescape as percentDecoded } from "node:querystring";
import { freeName, kindAt } from "../document/bundle.js";
import {
  atPointer,
  type Document,
  NAMED_BY_AUTHOR,
  operationsOf,
  type Writable,
  walkDocument,
} from "../document/document.js";
import type { ProvenanceNotes } from "../document/provenance.js";
import {
  GenerateError,
  isObject,
  type JsonObject,
  keysOf,
  listOf,
  objectOf,
  pointerTo,
} from "../document/source-file.js";
import { DIRECTIONS, KEYWORDS, requiredOf } from "../schemas/checked-schema.js";
import { operationKey } from "./call-types.js";
import { fileHeader, UNCHECKED } from "./source-text.js";

/** Where operations.ts looks up a type of one direction. */
const ownTypes = /\b([AB])\.(requests|answers)\.operations\[("(?:[^"\\]|\\.)*")\]/g;

/** One command installs both packages, because one does not work without the other. */
const INSTALL = "npm install --save-dev --save-exact openapi-typescript@7.13.0 typescript@5.9";

/**
 * Loads openapi-typescript, and returns what emits the types of a document. Its checks and its
 * bundler would take two thirds of its time. They are left out, because `prepareDocument` and
 * `listOperations` have made them.
 *
 * @throws GenerateError `peer_missing`, `peer_unsuitable`
 */
export async function typeEmitter(): Promise<
  (document: Document, notes: ProvenanceNotes, operations: string) => string
> {
  checkCompiler(await loadPeer("typescript", () => import("typescript")));
  const peer = await loadPeer("openapi-typescript", () => import("openapi-typescript"));
  const { astToString, resolveRef, scanDiscriminators, transformSchema } = peer;
  type Options = Parameters<typeof transformSchema>[1] & Parameters<typeof scanDiscriminators>[1];
  const textOf = (root: Parameters<typeof transformSchema>[0] & JsonObject): string => {
    const resolve = ($ref: string) => resolveRef<JsonObject>(root, $ref, { silent: true });
    const partsOf = (schema: unknown, found = new Set<JsonObject>()): JsonObject[] => {
      const { $ref } = objectOf(schema);
      const part = objectOf(typeof $ref === "string" ? resolve($ref) : schema);
      const own = found.has(part) ? [] : listOf(part.allOf);
      found.add(part);
      for (const one of own) partsOf(one, found);
      return [...found];
    };
    combineParts(root, partsOf);
    // What is not given is off, as it is by default.
    const given = { silent: true, emptyObjectsUnknown: true, injectFooter: [] };
    const options = given as Partial<Options> as Options;
    options.discriminators = scanDiscriminators(root, options);
    // A required member may be one that the target has of its own parts.
    options.resolve = ($ref) => {
      const target = resolve($ref);
      if (target?.allOf === undefined) return target as never;
      const members = partsOf(target).map(({ properties }) => properties);
      return { ...target, properties: Object.assign({}, ...members) } as never;
    };
    return astToString(transformSchema(root, options)).trimEnd();
  };
  return (document, notes, operations) => {
    // A copy, because scanDiscriminators changes its input.
    const root = JSON.parse(
      JSON.stringify(document.root, (_, value) => plain(noted(value, notes))),
    );
    mendKinds(root);
    dropRefusedTags(root);
    nameTargets(root);
    const header = fileHeader(`Types of Variant ${document.variant}, by openapi-typescript.`, [
      document,
    ]);
    try {
      const others = (["readOnly", "writeOnly"] as const).flatMap((except) => {
        const name = DIRECTIONS[except];
        const kept = new Set(
          [...operations.matchAll(ownTypes)]
            .filter(([, variant, own]) => variant === document.variant && own === name)
            .map(([, , , key]) => key),
        );
        if (kept.size === 0) return [];
        const less = { ...document, root: structuredClone(root) };
        walkDocument(less.root, (value) => {
          if (Array.isArray(value.required)) value.required = requiredOf(less, value, except);
          for (const { key, operation } of operationsOf(value)) {
            const { operationId: id } = operation;
            if (typeof id === "string" && !kept.has(operationKey(id))) delete value[key];
          }
        });
        const comment = `/** The types of ${name}, in which what is ${except} may be left out. */`;
        return `${comment}\nexport declare namespace ${name} {\n${textOf(less.root)}\n}`;
      });
      return `${[UNCHECKED + header, textOf(root), ...others].join("\n")}\n`;
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new GenerateError("document_invalid", reason, { document: document.file, cause });
    }
  };
}

const COMPONENT = /^#\/(?:components\/[^/]+|paths|webhooks)\/[^/]+$/;

/**
 * Makes a component of each value inside of another one that a reference leads to, because the
 * types that openapi-typescript gives such a reference do not compile.
 */
function nameTargets(root: JsonObject): void {
  const names = new Map<string, string>();
  const components = { ...Object(root.components) } as Record<string, Writable>;
  walkDocument(root, (value, place) => {
    const { $ref } = value;
    const isInside = typeof $ref === "string" && $ref.startsWith("#/") && !COMPONENT.test($ref);
    if (!isInside) return;
    const pointer = percentDecoded($ref.slice(1));
    const target = atPointer(root, pointer);
    if (!isObject(target) && typeof target !== "boolean") return;
    const kind = kindAt("schemas", keysOf(place()));
    components[kind] ??= {};
    const holder = components[kind];
    const plainName = (keysOf(pointer).at(-1) ?? "").replace(/[^A-Za-z0-9._-]+/g, "-");
    const name = names.get(`${kind} ${pointer}`) ?? freeName(holder, plainName);
    names.set(`${kind} ${pointer}`, name);
    holder[name] = target;
    value.$ref = `#${pointerTo("/components", kind, name)}`;
  });
  if (names.size > 0) Object.assign(root, { components });
}

/**
 * Writes in another way what openapi-typescript would leave out or widen: what is beside a `$ref`,
 * `anyOf` beside other keywords, what one part of `allOf` requires of another, and the member of a
 * discriminator, which only the components that inherit it get back.
 */
function combineParts(root: JsonObject, partsOf: (schema: unknown) => JsonObject[]): void {
  walkDocument(root, (value, place) => {
    const { $ref, allOf, anyOf, ...others } = value;
    const isReference = typeof $ref === "string" && $ref.startsWith("#/components/schemas/");
    const parts = [
      ...(isReference ? [{ $ref }] : []),
      ...listOf(allOf),
      ...(Array.isArray(anyOf) ? [{ anyOf }] : []),
    ];
    const isAlone = parts.length === 1 && !Object.keys(others).some((key) => KEYWORDS.has(key));
    if (parts.length === 0 || (isAlone && allOf === undefined)) return;
    const isComponent = /^\/components\/schemas\/[^/]+$/.test(place());
    const isTagged = ({ discriminator, oneOf }: JsonObject) =>
      discriminator !== undefined && !(isComponent && oneOf === undefined);
    const required = parts.flatMap((part) => {
      const [{ properties, required: names } = {}] = partsOf(part);
      return listOf(names).filter((name) => !Object.hasOwn(Object(properties), String(name)));
    });
    delete value.$ref;
    delete value.anyOf;
    // In `allOf` it would fail over `true` and `false`.
    const isWrapped = (part: unknown) => !isObject(part) || partsOf(part).some(isTagged);
    value.allOf = parts.map((part) => (isWrapped(part) ? { oneOf: [part] } : part));
    if (required.length > 0)
      value.required = [...new Set([...listOf(value.required), ...required])];
  });
}

/** openapi-typescript writes descriptions as comments. */
function noted(value: unknown, notes: ProvenanceNotes): unknown {
  const note = notes.get(value);
  if (note === undefined || !isObject(value)) return value;
  return { ...value, description: [value.description ?? [], note].flat().join("\n\n") };
}

/**
 * Without a mapping the value of a discriminator is the name of the alternative, which
 * openapi-typescript writes over the schema of that member. Where this schema allows other values
 * only, no value would have the type and its schema allow it.
 */
function dropRefusedTags(root: JsonObject): void {
  walkDocument(root, (value) => {
    const { propertyName, mapping } = Object(value.discriminator) as JsonObject;
    if (!Array.isArray(value.oneOf) || typeof propertyName !== "string" || mapping !== undefined)
      return;
    const isRefused = value.oneOf.some((part) => {
      const $ref = String(Object(part).$ref);
      const isLocal = $ref.startsWith("#/");
      const target = isLocal ? atPointer(root, percentDecoded($ref.slice(1))) : undefined;
      const name = $ref.split("/").at(-1);
      const { const: only, enum: values } = Object(Object(Object(target).properties)[propertyName]);
      const allowed = only === undefined ? values : [only];
      return Array.isArray(allowed) && !allowed.includes(name);
    });
    if (isRefused) delete value.discriminator;
  });
}

const TEXTS: readonly string[] = ["title", "summary", "description"];
const MAPS: readonly string[] = ["properties", "patternProperties", "$defs"];
const LISTS: readonly string[] = ["allOf", "anyOf", "oneOf", "enum"];

/**
 * openapi-typescript fails over a comment that YAML reads as a number, a date or a list, and over
 * keywords with values of the wrong kind, about which there has been a warning.
 */
function mendKinds(root: JsonObject): void {
  const isSchema = (one: unknown) => isObject(one) || typeof one === "boolean";
  const isSound = (name: string, member: unknown) => {
    if (MAPS.includes(name)) return isObject(member) && Object.values(member).every(isSchema);
    if (TEXTS.includes(name)) return typeof member === "string";
    if (name === "required") return Array.isArray(member) || typeof member === "boolean";
    if (name === "type") return [member].flat().every((one) => typeof one === "string");
    return (
      !LISTS.includes(name) ||
      (Array.isArray(member) && (name === "enum" || member.every(isSchema)))
    );
  };
  walkDocument(root, (value, place) => {
    const wrong = Object.keys(value).filter((name) => !isSound(name, value[name]));
    const holder = wrong.length === 0 ? "" : keysOf(place()).at(-1);
    // The members of a map have names, which may be those of keywords.
    if (holder === undefined || holder === "mapping" || NAMED_BY_AUTHOR.has(holder)) return;
    for (const name of wrong)
      if (TEXTS.includes(name)) value[name] = String(value[name] ?? "");
      else delete value[name];
  });
}

/**
 * What openapi-typescript reads otherwise: parameters with `content`, and objects with members
 * beside those of a map.
 */
function plain(value: unknown): unknown {
  if (!isObject(value)) return value;
  if (isObject(value.content) && typeof value.in === "string") {
    const [media] = Object.values(value.content);
    return { ...value, schema: objectOf(media).schema ?? {} };
  }
  const { type, properties, additionalProperties: others } = value;
  const isMap = isObject(others) && Object.keys(others).length > 0;
  if (![type].flat().includes("object") || !isObject(properties) || !isMap) return value;
  // The type of a map is for every member, so no value would have it if a member beside it is of
  // another type.
  const all = new Map(
    [others, ...Object.values(properties)].map((one) => [JSON.stringify(one), one]),
  );
  return { ...value, additionalProperties: all.size > 1 ? { anyOf: [...all.values()] } : others };
}

/** Imports an optional peer dependency. */
export async function loadPeer<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if (Object(cause).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    const message = `generating needs the package ${name}. Install it: ${INSTALL}`;
    throw new GenerateError("peer_missing", message, { cause });
  }
}

/**
 * openapi-typescript 7 builds syntax trees with the compiler API, which TypeScript 7 does not
 * export.
 */
function checkCompiler(compiler: object): void {
  const { factory, version = "" } = Object("default" in compiler ? compiler.default : compiler);
  if (typeof factory === "object") return;
  const message =
    `openapi-typescript needs the compiler API, which typescript ${version} ` +
    "does not have. Install TypeScript 5.9, and TypeScript 7 under another name beside it: " +
    `${INSTALL} typescript-7@npm:typescript@7. TypeScript 7 then runs as: node node_modules/typescript-7/bin/tsc`;
  throw new GenerateError("peer_unsuitable", message);
}
