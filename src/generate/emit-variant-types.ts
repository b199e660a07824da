/** Emits variant-a.ts and variant-b.ts: the document as TypeScript types, by openapi-typescript. */
import type { Document } from "./document.js";
import { GenerateError } from "./generate-error.js";
import { installCommand, loadPeer, OPENAPI_TYPESCRIPT, TYPESCRIPT } from "./load-peer.js";
import { fileHeader } from "./source-text.js";

/** @throws {GenerateError} peer_missing, peer_unsuitable, document_invalid. */
export async function emitVariantTypes(document: Document): Promise<string> {
  await checkCompiler();
  const { default: openapiTS, astToString } = await loadPeer(
    OPENAPI_TYPESCRIPT,
    () => import("openapi-typescript"),
  );
  let nodes: Awaited<ReturnType<typeof openapiTS>>;
  try {
    // A copy: the bundler inside writes into what it is given.
    nodes = await openapiTS(JSON.stringify(document.root), { silent: true });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new GenerateError("document_invalid", reason, { document: document.file, cause });
  }
  const header = fileHeader(`Types of Variant ${document.variant}, by openapi-typescript.`, [document]);
  return `${header}\n${astToString(nodes).trimEnd()}\n`;
}

/** openapi-typescript 7 builds syntax trees with the compiler API, which TypeScript 7 does not export. */
async function checkCompiler(): Promise<void> {
  const compiler = await loadPeer(TYPESCRIPT, () => import("typescript"));
  const api = (compiler as { default?: unknown }).default ?? compiler;
  if (typeof (api as { factory?: unknown }).factory === "object") return;
  const version = String((api as { version?: unknown }).version ?? "this one");
  throw new GenerateError(
    "peer_unsuitable",
    `typescript ${version} has no compiler API to generate with: ${installCommand()}`,
  );
}
