/** Imports a package that only generating needs, and says how to get it where it is missing. */
import { GenerateError } from "./generate-error.js";

/** `install` is what to hand to npm, `name` what is imported. */
export interface Peer {
  readonly name: string;
  readonly install: string;
}

export const OPENAPI_TYPESCRIPT: Peer = { name: "openapi-typescript", install: "openapi-typescript@7.13.0" };
export const TYPESCRIPT: Peer = { name: "typescript", install: "typescript@5.9" };

/** @throws {GenerateError} peer_missing */
export async function loadPeer<T>(peer: Peer, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    throw new GenerateError("peer_missing", `generating needs ${peer.name}: ${installCommand()}`, { cause });
  }
}

/** Both are named at once: one without the other does not work. */
export function installCommand(): string {
  return `npm install --save-dev --save-exact ${OPENAPI_TYPESCRIPT.install} ${TYPESCRIPT.install}`;
}
