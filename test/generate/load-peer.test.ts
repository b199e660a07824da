/** What only generating needs is imported late, and its absence is told with the cure. */
import { expect, test, vi } from "vitest";
import { generate } from "../../src/generate/index.js";
import { loadPeer, OPENAPI_TYPESCRIPT } from "../../src/generate/load-peer.js";
import { openapi, sample } from "./sample-documents.js";

test("a missing package is named together with the command that installs it", async () => {
  const absent = () => import("openapi-typescript-that-is-not-there" as string);
  const missing = loadPeer(OPENAPI_TYPESCRIPT, async () => {
    await absent().catch((cause: Error) => {
      throw Object.assign(cause, { code: "ERR_MODULE_NOT_FOUND" });
    });
  });
  await expect(missing).rejects.toMatchObject({ name: "GenerateError", code: "peer_missing" });
  await expect(missing).rejects.toThrow(
    /openapi-typescript: npm install .*openapi-typescript@7\.13\.0 typescript@5\.9/,
  );
});

test("a package that is there and fails keeps its own error", async () => {
  const broken = new Error("broken");
  await expect(loadPeer(OPENAPI_TYPESCRIPT, () => Promise.reject(broken))).rejects.toBe(broken);
});

test("a TypeScript without a compiler API is refused before anything is written", async () => {
  vi.doMock("typescript", () => ({ default: { version: "7.0.2" } }));
  const { documents, out } = await sample(openapi({}));
  const unsuitable = generate({ documents, out });
  await expect(unsuitable).rejects.toMatchObject({ code: "peer_unsuitable" });
  await expect(unsuitable).rejects.toThrow(/typescript 7\.0\.2 .*npm install .*typescript@5\.9/);
  vi.doUnmock("typescript");
});
