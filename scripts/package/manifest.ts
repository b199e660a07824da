// The fields of package.json that decide what a user of the package gets.
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Manifest {
  readonly name: string;
  readonly bin?: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
}

export function readManifest(root: string): Manifest {
  return JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
}
