// The parser of seed files, loaded with the first of them: most emulators read none, and it takes 25 ms to load.
import { createRequire } from "node:module";
import type * as Yaml from "yaml";

/** At once, for seed files are read at once: `import()` could not. Node keeps what it has loaded. */
export function loadYaml(): typeof Yaml {
  return createRequire(import.meta.url)("yaml") as typeof Yaml;
}
