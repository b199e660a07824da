// A route that answers 401 causes hardly any token requests, however often it is called at once.
import { expect, test } from "vitest";
import { createService } from "../../src/index.js";
import { scriptedAuth } from "../support/auth.js";
import { tokenAnswer } from "../support/fetch.js";

function refusingRoute() {
  const isToken = ({ url }: { readonly url: string }) => url.endsWith("/token");
  const scripted = scriptedAuth("B", (call, index) =>
    isToken(call) ? tokenAnswer(`token-${index}`) : new Response("[]", { status: 401 }),
  );
  const service = createService(scripted.auth);
  const tokenRequests = () => scripted.fetch.calls.filter(isToken).length;
  return { ...scripted, tokenRequests, call: () => service.fetch("v1/devices") };
}

test("a route that answers 401, called 200 times at once with an old token, causes one more token request", async () => {
  const { auth, clock, fetch, tokenRequests, call } = refusingRoute();
  await auth.getAccessToken();
  clock.advance(60_000);
  const answers = await Promise.all(Array.from({ length: 200 }, call));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
  expect([tokenRequests(), fetch.calls.length]).toEqual([2, 402]);
});

test("a refused token is replaced although the clock was set back by a day", async () => {
  const { auth, clock, tokenRequests, call } = refusingRoute();
  const old = await auth.getAccessToken();
  clock.correct(-86_400_000);
  expect((await call()).status).toBe(401);
  expect((await auth.getAccessToken()).value).not.toBe(old.value);
  expect(tokenRequests()).toBe(2);
});
