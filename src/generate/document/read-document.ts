/** Reads an OpenAPI document in any supported version, and reports what is wrong with it. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { type BundleOptions, bundleFiles } from "./bundle.js";
import {
  atPointer,
  type ByVariant,
  type Document,
  documentError,
  follow,
  METHODS,
  operationsOf,
  referenceTarget,
  refuseAt,
  reportReference,
  VARIANTS,
  type Variant,
  walkDocument,
  warnAt,
} from "./document.js";
import { Findings } from "./findings.js";
import { Origins } from "./origins.js";
import {
  entriesOf,
  type GenerateError,
  isObject,
  type JsonObject,
  listOf,
  objectOf,
  pointerTo,
  readSourceFile,
} from "./source-file.js";
import { checkStructure } from "./structure.js";
import { upgrade } from "./upgrade.js";

export interface ReadOptions extends BundleOptions {
  readonly findings: Findings;
}

/**
 * Reads the document at `path` as OpenAPI 3.1 in one piece, in which every reference resolves.
 * Without a variant it is the one whose paths the document has, else A.
 *
 * @throws GenerateError
 */
export async function readDocument(
  variant: Variant | undefined,
  path: string,
  options: BundleOptions = {},
): Promise<Document> {
  const findings = new Findings();
  const document = await openDocument(variant, path, { findings, ...options });
  prepareDocument(document);
  findings.refuse();
  return document;
}

/**
 * Reads a document, and what it refers to, as it is written: `prepareDocument` must follow, after
 * the overlays.
 */
export async function openDocument(
  given: Variant | undefined,
  path: string,
  { findings, ...more }: ReadOptions,
): Promise<Document> {
  more.onFile?.(path);
  const source = await readSourceFile(path, more.signal);
  const variant =
    given ?? VARIANTS.find((one) => pathOfVariant(one, source.root) !== undefined) ?? "A";
  const document = {
    ...source,
    variant,
    origins: new Origins(),
    findings,
  };
  checkVersion(document);
  await bundleFiles(document, path, more);
  return document;
}

/**
 * Upgrades a document and reports what is wrong with it.
 * @throws GenerateError if it cannot be read any further
 */
export function prepareDocument(document: Document): void {
  const { findings, root } = document;
  const version = checkVersion(document);
  checkStructure(document);
  checkRequiredParts(document, version);
  if (upgrade(document))
    findings.note("document_upgraded", document.file, `${version} is read as OpenAPI 3.1`);
  checkToken(document);
  checkKeysOfPaths(document);
  findings.attempt(() => checkIgnored(document));
  const checkReferences = referenceChecker(document);
  walkDocument(root, (value, place) => {
    // Most code would read such a property as the prototype.
    if (Object.hasOwn(objectOf(value.properties), "__proto__"))
      refuseAt(
        document,
        "schema_unsupported",
        place(),
        "a property named __proto__ cannot be expressed",
      );
    try {
      const { $ref = "" } = value;
      if (typeof $ref !== "string") {
        const at = pointerTo(place(), "$ref");
        throw documentError(document, "document_invalid", at, "$ref must be text");
      }
      checkReferences(value, place);
      checkNamedReferences(document, value, place);
    } catch (cause) {
      reportReference(document, cause);
    }
  });
}

/** The references in the mapping of a discriminator, and in examples that have a name. */
function checkNamedReferences(document: Document, value: JsonObject, place: () => string): void {
  const { mapping } = Object(value.discriminator);
  for (const [name, target] of entriesOf(mapping)) {
    const schemas = Object(Object(document.root.components).schemas);
    // The name of a schema is a target too (OpenAPI 3.1.1, Discriminator Object).
    const isName = typeof target === "string" && Object.hasOwn(schemas, target);
    const reference = isName ? `#${pointerTo("/components/schemas", target)}` : String(target);
    if (isName) mapping[name] = reference;
    const at = pointerTo(`${place()}/discriminator/mapping`, name);
    if (!isName && !reference.startsWith("#")) {
      const message = `${JSON.stringify(target)} is neither the name of a schema nor a reference`;
      throw documentError(document, "reference_missing", at, message);
    }
    referenceTarget(document, reference, at);
  }
  for (const [name, example] of entriesOf(value.examples)) {
    const { $ref } = Object(example);
    if (typeof $ref === "string")
      referenceTarget(document, $ref, pointerTo(`${place()}/examples`, name));
  }
}

/** The name of the version. */
function checkVersion(document: Document): string {
  const { openapi, swagger } = document.root;
  // Unquoted in YAML it is a number.
  if (swagger === "2.0" || swagger === 2) return "Swagger 2.0";
  // An object may have a `toString` that is not a function.
  if (typeof openapi !== "object" && /^3\.[012](?:\.\d+)?$/.test(String(openapi)))
    return `OpenAPI ${openapi}`;
  const found = openapi ?? swagger;
  const says =
    found === undefined ? "the key `openapi` is missing" : `found ${JSON.stringify(found)}`;
  const message = `the document must be OpenAPI 3.0, 3.1 or 3.2, or Swagger 2.0: ${says}`;
  const key = swagger === undefined ? "/openapi" : "/swagger";
  throw documentError(document, "document_version_unsupported", key, message);
}

/**
 * Without this check a file that has only a version would be generated as an empty variant, in
 * place of a whole one.
 */
function checkRequiredParts(document: Document, version: string): void {
  const { root } = document;
  const refuse = (key: string, message: string) =>
    refuseAt(document, "document_invalid", key, message);
  if (root.info === undefined)
    refuse("/info", "the key `info` is missing. Add the title and the version of the API to it");
  // From 3.1 on a document needs no paths.
  const isOlder = /^(?:Swagger|OpenAPI 3\.0)/.test(version);
  const parts = isOlder ? ["paths"] : ["paths", "components", "webhooks"];
  if (parts.some((part) => root[part] !== undefined)) return;
  const needed = isOlder ? "" : ". A document needs one of `paths`, `components` and `webhooks`";
  refuse("/paths", `the key \`paths\` is missing. Add the operations to it${needed}`);
}

/** The members of a Path Item Object (OpenAPI 3.1). */
const PATH_ITEM_KEYS: readonly string[] = [
  ...METHODS.map((method) => method.toLowerCase()),
  ...["parameters", "summary", "description", "servers", "$ref"],
];

/** What OpenAPI 3.2 adds to a path: operations that fetch can send only by name. */
const PATH_ITEM_KEYS_OF_3_2: readonly string[] = ["query", "additionalOperations"];

/**
 * Of a path without its slash or of a misspelt method no operation would be made, and nothing would
 * say so.
 */
function checkKeysOfPaths(document: Document): void {
  const { paths, components } = document.root;
  const check = (map: unknown, pointer: string, isPath: (key: string) => boolean): void => {
    for (const [path, item] of entriesOf(map)) {
      const place = pointerTo(pointer, path);
      if (!isPath(path)) {
        const message =
          `${JSON.stringify(path)} is not a path; ` +
          `write ${JSON.stringify(`/${path}`)}. A key of \`paths\` must start with "/" or "x-"`;
        refuseAt(document, "document_invalid", place, message, "key");
        continue;
      }
      if (path.startsWith("x-") || !isObject(item)) continue;
      for (const key of Object.keys(item)) {
        if (PATH_ITEM_KEYS.includes(key) || key.startsWith("x-")) continue;
        if (PATH_ITEM_KEYS_OF_3_2.includes(key)) {
          const message = `${key} is ignored: calls have the methods ${METHODS.join(", ")}`;
          warnAt(document, "part_ignored", pointerTo(place, key), message, "key");
          continue;
        }
        const message =
          `${JSON.stringify(key)} is not a method. ` +
          `A key of a path must be one of ${PATH_ITEM_KEYS.join(", ")}, or start with "x-"`;
        refuseAt(document, "document_invalid", pointerTo(place, key), message, "key");
      }
    }
  };
  check(paths, "/paths", (key) => /^(?:\/|x-)/.test(key));
  check(Object(components).pathItems, "/components/pathItems", () => true);
}

/**
 * More references than any document has from one schema to the next, and fewer than the stack can
 * hold.
 */
const MOST_STEPS = 500;

/**
 * Refuses a schema that applies itself to the same value again: it never ends (JSON Schema 2020-12,
 * section 9.4.1). A schema that applies itself to a part of the value, such as a tree, is allowed.
 */
function referenceChecker(document: Document): (value: JsonObject, place: () => string) => void {
  const done = new Set<unknown>();
  const open = new Set<unknown>();
  const visit = (value: unknown, place: () => string): void => {
    if (!isObject(value) || done.has(value)) return;
    if (value.$ref === undefined && !value.allOf && !value.anyOf && !value.oneOf) return;
    if (open.has(value)) {
      const message = "it leads back to itself, by $ref, allOf, anyOf or oneOf";
      throw documentError(document, "reference_circular", place(), message);
    }
    if (open.size > MOST_STEPS) {
      const message =
        `more than ${MOST_STEPS} schemas lead from one to the next by $ref, allOf, ` +
        "anyOf or oneOf";
      throw documentError(document, "document_too_large", place(), message);
    }
    open.add(value);
    try {
      if (typeof value.$ref === "string") {
        const target = referenceTarget(document, value.$ref, place());
        visit(atPointer(document.root, target), () => target);
      }
      for (const key of ["allOf", "anyOf", "oneOf"]) {
        const list = value[key];
        if (!Array.isArray(list)) continue;
        for (const [index, part] of list.entries())
          visit(part, () => pointerTo(place(), key, index));
      }
    } finally {
      open.delete(value);
      done.add(value);
    }
  };
  return visit;
}

/**
 * Only a document of the variant has this path (sections 4.1 and 4.2), or only paths that start so
 * (section 9).
 */
const TOKEN_PATH = {
  A: /^\/api\/v1\/[^/]+\/external-plugin\/oauth\/token$/,
  B: /^\/v1\/auth\/token$/,
};
const START = { A: /^\/api\/v1\//, B: /^\/v1\// };

/** The document of this package, which describes what is known of the variant. */
export function shippedDocument(variant: Variant): string {
  const manifest = createRequire(import.meta.url).resolve("bivariant/package.json");
  return join(dirname(manifest), "openapi", `variant-${variant.toLowerCase()}.yaml`);
}

/** A path that only a document of this variant has, if no path is one of the other variant. */
export function pathOfVariant(variant: Variant, root: JsonObject): string | undefined {
  const paths = Object.keys(objectOf(root.paths)).filter((path) => path.startsWith("/"));
  if (paths.some((path) => START[otherThan(variant)].test(path))) return undefined;
  const isWhole = paths.every((path) => START[variant].test(path));
  return paths.find((path) => isWhole || TOKEN_PATH[variant].test(path));
}

function otherThan(variant: Variant): Variant {
  return variant === "A" ? "B" : "A";
}

/** Any API may have the token path of Variant B, but only the service has that of Variant A. */
function checkToken(document: Document): void {
  const { variant, root, findings } = document;
  const path = Object.keys(objectOf(root.paths)).find((one) =>
    TOKEN_PATH[otherThan(variant)].test(one),
  );
  if (path === undefined || pathOfVariant(otherThan(variant), root) === undefined) return;
  if (variant === "B") findings.error(swapped(document, path));
  else findings.warn(swapped(document, path));
}

/**
 * Two documents of which each has only paths that begin like those of the other. One alone may well
 * have such paths.
 */
export function checkSwapped({ A, B }: ByVariant<Document>): void {
  const [inA, inB] = [pathOfVariant("B", A.root), pathOfVariant("A", B.root)];
  if (inA === undefined || inB === undefined) return;
  A.findings.error(swapped(A, inA));
  B.findings.error(swapped(B, inB));
}

function swapped(document: Document, path: string): GenerateError {
  const { variant } = document;
  const message =
    `${path} is a path of Variant ${otherThan(variant)}, but this document was ` +
    `passed as that of Variant ${variant}. Are the two documents swapped?`;
  return documentError(document, "document_swapped", pointerTo("/paths", path), message);
}

const BEARER_TYPES: readonly unknown[] = ["oauth2", "openIdConnect"];

/** Warns about what a client cannot follow: it has one base URL, and sends a bearer. */
function checkIgnored(document: Document): void {
  const { root } = document;
  const warn = (pointer: string, message: string) =>
    warnAt(document, "part_ignored", pointer, message);
  const checkServers = (servers: unknown, pointer: string) => {
    for (const [index, server] of listOf(servers).entries()) {
      const { url } = objectOf(server);
      if (typeof url !== "string" || /^(?:\{[^{}]*\}|\/?)$/.test(url)) continue;
      const message =
        `the server ${url} is ignored: calls go to the option baseUrl, which must ` +
        "hold what stands before the paths";
      return warn(pointerTo(pointer, "servers", index), message);
    }
  };
  checkServers(root.servers, "");
  for (const [path, item] of entriesOf(root.paths)) {
    if (!isObject(item)) continue;
    checkServers(item.servers, pointerTo("/paths", path));
    if (item.trace !== undefined)
      warn(
        pointerTo("/paths", path, "trace"),
        "fetch sends no TRACE, so its call fails, unless a fetch of yours does",
      );
    for (const { key, operation } of operationsOf(item))
      checkServers(operation.servers, pointerTo("/paths", path, key));
  }
  const { securitySchemes } = Object(root.components);
  for (const [name, scheme] of entriesOf(securitySchemes)) {
    const {
      type,
      scheme: http,
      in: place,
      name: key,
    } = Object(follow(document, scheme, pointerTo("/components/securitySchemes", name)).value);
    if (BEARER_TYPES.includes(type) || (type === "http" && /^bearer$/i.test(String(http))))
      continue;
    const how =
      type === "apiKey" ? `apiKey in ${place} ${key}` : [type, http].filter(Boolean).join(" ");
    const message =
      `the security scheme ${name} (${how}) is ignored: calls send the bearer. ` +
      "What else the service wants goes into the option headers of a call";
    warn(pointerTo("/components/securitySchemes", name), message);
  }
}
