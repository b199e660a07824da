// The requestId that joins the events of a call and of its token request, and how long both took.
import { expect, test } from "vitest";
import type { ClockOptions } from "../../src/clock.js";
import { createService, type ServiceEvent } from "../../src/index.js";
import { scriptedAuth } from "../support/auth.js";
import { steppedClock } from "../support/clock.js";
import type { FetchScript } from "../support/fetch.js";
import { rejectionOf, settle } from "../support/wait.js";

const right: FetchScript = ({ url }) =>
  Response.json(url.endsWith("/token") ? { access_token: "t" } : []);

/** `idsOf` returns the requestId of each event of one type, in order. */
function heardService(script: FetchScript = right, options: ClockOptions = {}) {
  const heard = scriptedAuth("B", script, options);
  const idsOf = (type: ServiceEvent["type"]) =>
    heard.events.filter((event) => event.type === type).map(({ requestId }) => requestId);
  return { ...heard, idsOf, service: createService(heard.auth) };
}

test("ten calls at once have ten ids, and the token request that they share carries that of the first", async () => {
  const { service, idsOf } = heardService();
  await Promise.all(Array.from({ length: 10 }, () => service.call("listDevices")));
  const started = idsOf("call_started");
  expect(new Set(started).size).toBe(10);
  expect(idsOf("call_finished").toSorted()).toEqual(started.toSorted());
  expect([idsOf("token_requested"), idsOf("token_renewed")]).toEqual([[started[0]], [started[0]]]);
});

test("a renewal in the background carries the id of the call that started it", async () => {
  const { service, clock, idsOf } = heardService();
  await service.call("listDevices");
  clock.advance(3_500_000);
  await service.call("listDevices");
  const [, id] = idsOf("call_started");
  // The credential is hashed on another thread, so the renewal may end later.
  for (const type of ["token_served_while_renewing", "token_requested", "token_renewed"] as const)
    await expect.poll(() => idsOf(type).at(-1)).toBe(id);
});

test("durations are monotonic time, although `now` stands still", async () => {
  const clock = steppedClock();
  const slow: FetchScript = (...sent) =>
    new Promise((resolve) => clock.setTimeout(() => resolve(right(...sent)), 2_500));
  const { service, events } = heardService(slow, { clock: { ...clock, now: () => 0 } });
  expect(await clock.through(service.call("listDevices"))).toMatchObject({ ok: true });
  const took = events.flatMap((event) => ("durationMs" in event ? [event.durationMs] : []));
  expect(took).toEqual([2_500, 5_000]);
});

test("a call that its caller aborts ends with the code aborted, and so does the token request it began", async () => {
  const { service, events } = heardService(() => new Promise(() => {}));
  const leaving = new AbortController();
  const outcome = rejectionOf(service.call("listDevices", { signal: leaving.signal }));
  await settle();
  expect(events.at(-1)?.type).toBe("token_requested");
  leaving.abort("enough");
  expect(await outcome).toBe("enough");
  await settle();
  for (const type of ["call_finished", "token_failed"])
    expect(events.find((event) => event.type === type)).toMatchObject({ code: "aborted" });
});
