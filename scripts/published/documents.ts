// The OpenAPI documents that others published, in the packages of the devDependencies.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface PublishedDocument {
  /** The package and the file in it. */
  readonly name: string;
  readonly path: string;
  readonly version: string;
}

const PACKAGES = fileURLToPath(new URL("../../node_modules", import.meta.url));

/**
 * Files and folders of documents by package. Of a document that is there as JSON and as YAML one is
 * enough.
 */
const PUBLISHED: Readonly<Record<string, readonly string[]>> = {
  "@blockfrost/openapi": ["openapi.yaml"],
  "@digdir/dialogporten-schema": ["swagger.verified.json"],
  "@directus/specs": ["dist/openapi.json"],
  "@figma/rest-api-spec": ["openapi/openapi.yaml"],
  "@ideal-postcodes/openapi": ["dist/openapi.json"],
  "@netlify/open-api": ["dist/swagger.json"],
  "@readme/oas-examples": ["2.0/json", "3.0/json", "3.1/json"],
  "@scalar/galaxy": ["dist/latest.yaml"],
  "rclone-openapi": ["openapi.yaml"],
};

/** @throws if a file or folder of the table is not in its package */
export function publishedDocuments(): readonly PublishedDocument[] {
  return Object.entries(PUBLISHED).flatMap(([name, places]) => {
    const folder = join(PACKAGES, name);
    const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return places
      .flatMap((place) => (/\.(?:json|yaml)$/.test(place) ? [place] : filesIn(folder, place)))
      .map((file) => ({ name: `${name}/${file}`, path: join(folder, file), version }));
  });
}

function filesIn(folder: string, place: string): string[] {
  const names = readdirSync(join(folder, place), { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => `${place}/${name.replaceAll("\\", "/")}`);
}

const readme = (file: string) => `@readme/oas-examples/${file}.json`;
const fragment = "its path has a fragment, which no request carries";
const allOf = "its allOf is of a text and an integer, so no value is allowed";

/**
 * Why an operation makes no round trip, by document and operation: mistakes of the document, and
 * limits that are known.
 */
export const KNOWN_REASONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  [readme("3.0/json/circular-request-bodies")]: {
    directCircular: "TreeNode requires another TreeNode without end, so no value is allowed",
  },
  [readme("3.0/json/discriminators")]: {
    postPotentiallyUndefinedFormData: "both schemas of its oneOf allow what one of them allows",
  },
  ...Object.fromEntries(
    ["3.0", "3.1"].map((version) => [
      readme(`${version}/json/parameters-style`),
      {
        cookies_form_nonExploded: fragment,
        cookies_form_exploded: fragment,
        form_data_deepObject_exploded:
          "the style deepObject is not defined for the text `primitive`",
      },
    ]),
  ),
  ...Object.fromEntries(
    ["3.0", "3.1"].map((version) => [
      readme(`${version}/json/schema-types`),
      { quirks_entirelyIncompatibleAllOf: allOf, quirks_partiallyUsableIncompatibleAllOf: allOf },
    ]),
  ),
};
