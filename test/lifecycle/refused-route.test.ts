// A route that answers 401 causes hardly any token requests, however often it is called at once.
import { expect, test } from "vitest";
import { createService } from "../../src/index.js";
import { recordedAuth } from "../support/auth.js";
import { steppedClock } from "../support/clock.js";
import { fakeService } from "./fake-service.js";

function refusingRoute() {
  const clock = steppedClock();
  const { now } = clock;
  const fake = fakeService({ variant: "B", now, apiStatus: () => 401 });
  const { credential, fetch } = fake;
  const { auth } = recordedAuth({ credential, fetch, clock: { now } });
  const service = createService(auth);
  return { auth, clock, fake, call: () => service.fetch(fake.route("acme")) };
}

test("a route that answers 401, called 200 times at once with an old token, causes one more token request", async () => {
  const { auth, clock, fake, call } = refusingRoute();
  await auth.getAccessToken();
  clock.advance(60_000);
  const answers = await Promise.all(Array.from({ length: 200 }, call));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
  expect(fake.tokenRequests).toHaveLength(2);
  expect(fake.apiCalls()).toBe(400);
});

test("a refused token is replaced although the clock was set back by a day", async () => {
  const { auth, clock, fake, call } = refusingRoute();
  const old = await auth.getAccessToken();
  clock.correct(-86_400_000);
  expect((await call()).status).toBe(401);
  expect((await auth.getAccessToken()).value).not.toBe(old.value);
  expect(fake.tokenRequests).toHaveLength(2);
});
