// A peer that cannot be used. The file has a process of its own, since it replaces a package before
// it is first loaded.
import { expect, test, vi } from "vitest";
import { generate } from "../../src/generate/index.js";
import { openapi, sample } from "./sample-documents.js";

vi.mock("typescript", () => ({ default: { version: "7.0.2" } }));

test("a TypeScript without a compiler API is refused", async () => {
  const { documents, out } = await sample(openapi({}));
  const unsuitable = generate({ documents, out });
  await expect(unsuitable).rejects.toMatchObject({ code: "peer_unsuitable" });
  await expect(unsuitable).rejects.toThrow(
    /typescript 7\.0\.2 .*npm install .*typescript@5\.9 typescript-7@npm:typescript@7\. TypeScript 7 then/,
  );
});
