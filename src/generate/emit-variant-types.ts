/** Emits variant-a.ts and variant-b.ts: the document as TypeScript types, by openapi-typescript. */
import { type Document, GenerateError } from "./document.js";
import { fileHeader } from "./source-text.js";

/** One command installs both packages, because one does not work without the other. */
const INSTALL = "npm install --save-dev --save-exact openapi-typescript@7.13.0 typescript@5.9";

export async function emitVariantTypes(document: Document): Promise<string> {
  checkCompiler(await loadPeer("typescript", () => import("typescript")));
  const peer = await loadPeer("openapi-typescript", () => import("openapi-typescript"));
  const { default: openapiTS, astToString } = peer;
  // It gets a copy because the bundler inside openapi-typescript changes its input.
  const nodes = await openapiTS(JSON.stringify(document.root), { silent: true }).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new GenerateError("document_invalid", reason, { document: document.file, cause });
  });
  const header = fileHeader(`Types of Variant ${document.variant}, by openapi-typescript.`, [document]);
  return `${header}\n${astToString(nodes).trimEnd()}\n`;
}

/** Imports an optional peer dependency. */
export async function loadPeer<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    const message = `generating needs the package ${name}. Install it: ${INSTALL}`;
    throw new GenerateError("peer_missing", message, { cause });
  }
}

/** openapi-typescript 7 builds syntax trees with the compiler API, which TypeScript 7 does not export. */
function checkCompiler(compiler: object): void {
  const api = "default" in compiler ? compiler.default : compiler;
  const { factory, version } = (api ?? {}) as { readonly factory?: unknown; readonly version?: unknown };
  if (typeof factory === "object") return;
  const message = `typescript ${version ?? ""} has no compiler API. Install a version that has: ${INSTALL}`;
  throw new GenerateError("peer_unsuitable", message);
}
