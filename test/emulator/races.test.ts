// A few rounds of every race; races.long.test.ts runs a hundred.
import { expect, test } from "vitest";
import { LaunchedPlugin } from "./plugin-client.js";
import { Portal } from "./portal.js";
import { describeRaces, launchContest, launchRace, POSTS, run } from "./race.js";

describeRaces(2);

test("a race for a refresh token ends its login, and no other login", async () => {
  const portal = new Portal();
  const [raced, other] = [await portal.tokens(), await portal.tokens()];
  const attempts = Array.from({ length: POSTS }, () => portal.refresh(raced.refresh_token));
  const winner = (await Promise.all(attempts)).find(({ status }) => status === 200);
  const { refresh_token } = await portal.tokens(winner);
  await portal.refresh(refresh_token);
  expect(portal.lastRule()).toBe("refresh.revoked");
  expect((await portal.refresh(other.refresh_token)).status).toBe(200);
});

test("a launch code that a refused assertion does not spend is still exchanged once", async () => {
  const contest = launchContest(new LaunchedPlugin({ unauthenticatedAttemptSpendsCode: false }));
  for (let round = 0; round < 3; round++) await run(launchRace, contest, contest.emulator.fetch);
});
