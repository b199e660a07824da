// What is in the package: the licences of the packages that are bundled, and a software bill of
// materials (CycloneDX 1.6).
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Metafile } from "esbuild";

interface Package {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

function packageAt(folder: string): Package {
  const {
    name,
    version,
    license = "",
  } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return { name, version, license };
}

/** The names of the packages that an install of the one in `folder` brings, theirs too. */
function dependenciesOf(root: string, folder: string): readonly string[] {
  const { dependencies = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const names = Object.keys(dependencies);
  return [
    ...new Set(
      names.flatMap((name) => [name, ...dependenciesOf(root, join(root, "node_modules", name))]),
    ),
  ];
}

/** The folders of the packages of which a build holds code, such as "node_modules/hono". */
function bundledFolders(builds: readonly Metafile[]): readonly string[] {
  const inputs = builds.flatMap(({ outputs }) =>
    Object.values(outputs).flatMap((output) =>
      Object.entries(output.inputs).flatMap(([path, { bytesInOutput }]) =>
        bytesInOutput > 0 ? [path] : [],
      ),
    ),
  );
  const folders = inputs.map(
    (path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0],
  );
  return [...new Set(folders.filter((one) => one !== undefined))].sort();
}

function licenceText(folder: string): string {
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
  return file === undefined ? "" : readFileSync(join(folder, file), "utf8").trim();
}

const purl = ({ name, version }: Package) => `pkg:npm/${name.replace("@", "%40")}@${version}`;

/**
 * Nothing in it depends on when or where it was built, so two builds of one commit have the same
 * bytes.
 */
function billOfMaterials(root: string, bundled: readonly Package[]): unknown {
  const own = packageAt(root);
  const installed = dependenciesOf(root, root).map((name) =>
    packageAt(join(root, "node_modules", name)),
  );
  const component = (type: string, one: Package, how?: string) => ({
    type,
    "bom-ref": purl(one),
    name: one.name,
    version: one.version,
    purl: purl(one),
    licenses: [{ license: { id: one.license } }],
    ...(how && { properties: [{ name: "bivariant:how", value: how }] }),
  });
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: component("library", own) },
    components: [
      ...installed.map((one) => component("library", one, "installed")),
      ...bundled.map((one) => component("library", one, "bundled")),
    ],
    dependencies: [
      { ref: purl(own), dependsOn: [...installed, ...bundled].map(purl) },
      ...[...installed, ...bundled].map((one) => ({ ref: purl(one) })),
    ],
  };
}

export function writeNotices(root: string, builds: readonly Metafile[]): void {
  const folders = bundledFolders(builds).map((folder) => join(root, folder));
  const bundled = folders.map(packageAt);
  const chapters = folders.map((folder, index) => {
    const { name = "", version = "", license = "" } = bundled[index] ?? {};
    return `${name} ${version} (${license})\n\n${licenceText(folder)}\n`;
  });
  const rule = `\n${"-".repeat(80)}\n\n`;
  writeFileSync(
    join(root, "dist/THIRD-PARTY-LICENSES.txt"),
    ["The files of this package hold code of these packages:\n", ...chapters].join(rule),
  );
  const bill = billOfMaterials(root, bundled);
  writeFileSync(join(root, "dist/sbom.cdx.json"), `${JSON.stringify(bill, undefined, 2)}\n`);
}
