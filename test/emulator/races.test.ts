// Runs a few rounds of every race; races.long.test.ts runs a hundred.
import { test } from "vitest";
import { LaunchedPlugin } from "./plugin-client.js";
import { describeRaces, launchContest, launchRace, run } from "./race.js";

describeRaces(2);

test("a launch code that a refused assertion does not spend is still exchanged once", async () => {
  const contest = launchContest(new LaunchedPlugin({ unauthenticatedAttemptSpendsCode: false }));
  for (let round = 0; round < 3; round++) await run(launchRace, contest, contest.emulator.fetch);
});
