// Bytes from outside cost processor time in proportion to their size, at every entry.
import { expect, test } from "vitest";
import { entries as backend } from "./backend-entries.js";
import { entries as client } from "./client-entries.js";
import { entries as emulator } from "./emulator-entries.js";
import { superLinear } from "./growth.js";
import { entries as parsers } from "./parser-entries.js";
import { entries as tools } from "./tools-entries.js";

test.each([
  { name: "the backend", entries: backend },
  { name: "the client", entries: client },
  { name: "the emulator", entries: emulator },
  { name: "the tools", entries: tools },
  { name: "any parser", entries: parsers },
])("no input of $name takes more than linear time", { timeout: 900_000 }, async ({ entries }) => {
  expect(await superLinear(entries)).toEqual([]);
});
