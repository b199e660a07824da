// Many mutated requests. FUZZ_SEED=$RANDOM tries others; a failure prints its seed.
import { expect, test } from "vitest";
import { fuzz } from "./mutated-rows.js";

const OPERATIONS = [
  ...["requestToken", "authorize", "showLogin", "logIn", "showConsent", "decideConsent"],
  ...["showHost", "signInAtHost", "signOutOfHost", "launchPlugin", "authorizeLaunch"],
  "listDevices",
];

test("each of 10,000 mutated requests gets a documented answer that contains no secret", {
  timeout: 600_000,
}, async () => {
  const { operations, rules } = await fuzz(10_000);
  expect([...operations]).toEqual(expect.arrayContaining(OPERATIONS));
  // Otherwise one early check would refuse most mutations.
  expect(rules.size).toBeGreaterThan(50);
});
