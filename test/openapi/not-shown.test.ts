// Everything that the description leaves open is marked in the documents with x-not-shown, and
// nothing else is.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { unknowns } from "../../generated/unknowns.js";
import { emulatorOptions } from "../../src/emulator/index.js";

/** The points that the description does not show, or leaves open in another way, by section. */
const LEFT_OPEN: Readonly<Record<string, readonly string[]>> = {
  "1": ["business-functions"],
  "2.1": ["narrowing-delay", "permission-form"],
  "2.2": ["key-id-rules"],
  "2.3": ["revo-spelling", "user-id-type"],
  "2.4": ["launch-parameters"],
  "2.5": ["other-resource-fields", "role-reach", "variant-b-record-fields"],
  "3": ["rate-limit-and-code", "registration-transitions"],
  "4": ["token-success-status"],
  "4.2": [
    ...["authorization-endpoint", "code-exchange-secret", "refresh-request"],
    ...["variant-b-code-rules", "variant-b-token-fields"],
  ],
  "4.3": ["device-body", "envelope", "other-endpoints", "plugin-routes"],
  "5": ["current-variant", "refused-bearer-status"],
  "6": ["message-name-key", "other-events", "pkce-init-fields", "state-origin"],
  "7.1": [
    ...["clock-drift", "error-description-full-stop", "error-opacity", "failure-status"],
    "malformed-request-error",
  ],
  "7.2": ["forbidden-causes", "plugin-token-refusal-status"],
  "7.3": ["variant-b-errors"],
  "8": ["other-limits", "rate-limit-numbers"],
  "9": ["version-policy"],
};

/** Both documents leave these points open and mark them with the same id. */
const IN_BOTH = [
  ...["business-functions", "current-variant", "device-body", "envelope", "other-endpoints"],
  ...["other-events", "other-limits", "other-resource-fields", "refused-bearer-status"],
  ...["token-success-status", "version-policy"],
];

test("every open point of the description is marked once, with its section, and nothing else is", () => {
  const expected = Object.entries(LEFT_OPEN).flatMap(([section, ids]) =>
    ids.map((id) => `${section} ${id}`),
  );
  expect(unknowns.map(({ section, id }) => `${section} ${id}`)).toEqual(
    expect.arrayContaining(expected),
  );
  expect(unknowns).toHaveLength(expected.length);
});

test("an open point of both documents has one id", () => {
  const shared = unknowns.filter(({ variants }) => variants.length === 2).map(({ id }) => id);
  expect(shared.sort()).toEqual(IN_BOTH);
});

test("every open point says what is assumed until it is known, and names only options that the emulator has", () => {
  const assumed = unknowns.map(({ untilTold = "" }) => untilTold);
  expect(assumed.filter((text) => !text.endsWith("."))).toEqual([]);
  const named = assumed.flatMap((text) =>
    [...text.matchAll(/Emulator option `([^`]+)`/g)].map(([, id]) => id),
  );
  expect(named.length).toBeGreaterThan(15);
  expect(Object.keys(emulatorOptions)).toEqual(expect.arrayContaining(named));
});

test("the summary of the description names the open points in the same sections", () => {
  const summary = readFileSync(new URL("../../openapi/README.md", import.meta.url), "utf8");
  const [, ...sections] = summary.split(/^##+ /m);
  const open = sections.filter((section) => /not shown|left open/i.test(section));
  expect(open.map((section) => /^[\d.]*\d/.exec(section)?.[0])).toEqual(
    Object.keys(LEFT_OPEN).sort(),
  );
});
