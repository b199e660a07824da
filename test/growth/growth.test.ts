// What a stranger sends costs processor time in proportion to its size, at every entry (CWE-407,
// CWE-1333). Here are those of the backend, which are anonymous: each place with a sixth of the
// shapes, other ones at each place, and all cookies. All shapes, and the other entries, are in the
// long suite.
import { expect, test } from "vitest";
import { cookieEntries, entries } from "./backend-entries.js";
import { superLinear } from "./growth.js";

test("no input of the backend, of a sixth of the shapes, takes more than linear time", async () => {
  const some = entries.filter((_, at) => at % 6 === 0);
  expect(await superLinear([...some, ...cookieEntries()])).toEqual([]);
});
