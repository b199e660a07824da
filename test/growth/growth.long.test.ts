// Bytes from outside cost processor time in proportion to their size, at every entry.
import { expect, test } from "vitest";
import { entries as backend } from "./backend-entries.js";
import { entries as client } from "./client-entries.js";
import { entries as emulator } from "./emulator-entries.js";
import { superLinear } from "./growth.js";
import { entries as tools } from "./tools-entries.js";

test.each([
  { name: "the backend", entries: backend },
  { name: "the client, its stores and the page", entries: client },
  { name: "the emulator", entries: emulator },
  { name: "documents, overlays, settings and seeds", entries: tools },
])("no input of $name takes more than linear time", { timeout: 900_000 }, async ({ entries }) => {
  expect(await superLinear(entries)).toEqual([]);
});
