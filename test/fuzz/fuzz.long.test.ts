import { expect, test } from "vitest";
import { temporaryFolder } from "../stores/temporary-folder.js";
import { brokenBy } from "./fuzz.js";
import { parsersIn } from "./parsers.js";

test("2,000 inputs of all parsers are answered by a value or an error of the package", async () => {
  expect(await brokenBy(parsersIn(temporaryFolder()), 2_000)).toEqual([]);
});
