// A few rounds of every race; races.long.test.ts runs a hundred.
import { expect, test } from "vitest";
import { LaunchedPlugin } from "./plugin-client.js";
import { Portal } from "./portal.js";
import { describeRaces, launchRace, POSTS, races, run } from "./race.js";

describeRaces(2);

test("after a race for a refresh token nothing of that login is refreshed any more, and another login is", async () => {
  const portal = new Portal();
  const [raced, other] = [await portal.tokens(), await portal.tokens()];
  const attempts = Array.from({ length: POSTS }, () => portal.refresh(raced.refresh_token));
  const winner = (await Promise.all(attempts)).find(({ status }) => status === 200);
  const { refresh_token } = await portal.tokens(winner);
  expect((await portal.refresh(refresh_token)).status).toBe(400);
  expect(portal.lastRule()).toBe("refresh.revoked");
  expect((await portal.refresh(other.refresh_token)).status).toBe(200);
});

test("a launch code that a refused assertion does not spend is still exchanged once", async () => {
  const [, race] = races;
  const contest = launchRace(new LaunchedPlugin({ unauthenticatedAttemptSpendsCode: false }));
  for (let round = 0; race !== undefined && round < 3; round++)
    await run(race, contest, contest.emulator.fetch);
});
