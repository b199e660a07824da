// The README's blocks of code, for tests to run and to compile: the package's names lead to the sources, not to a build.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root: string = fileURLToPath(new URL("../..", import.meta.url));
export const readme: string = readFileSync(join(root, "README.md"), "utf8");

export function blocks(language: "js" | "ts"): readonly string[] {
  return [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(
    ([, code]) => code ?? "",
  );
}

/** The source of each entry that the README imports. */
export const sources: Readonly<Record<string, string>> = {
  bivariant: join(root, "src/index.ts"),
  "bivariant/backend": join(root, "src/backend/index.ts"),
  "bivariant/emulator": join(root, "src/emulator/index.ts"),
  "bivariant/page": join(root, "src/page/index.ts"),
  "bivariant/validate": join(root, "src/validate.ts"),
};

export function fromSources(code: string): string {
  return code.replace(/from "(bivariant[^"]*)"/g, (_, name: string) => `from "${sources[name] ?? name}"`);
}
