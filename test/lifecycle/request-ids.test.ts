// The requestId that joins the events of a call and of its token request, and how long both took.
import { expect, test, vi } from "vitest";
import { createAuth, createService, type ServiceEvent } from "../../src/index.js";
import { scriptedAuth } from "../support/auth.js";
import { timeTravel } from "../support/clock.js";
import { account } from "../support/deployment.js";
import type { FetchScript } from "../support/fetch.js";
import { rejectionOf, settled } from "../support/wait.js";

const right: FetchScript = ({ url }) => Response.json(url.endsWith("/token") ? { access_token: "t" } : []);

/** `idsOf` returns the requestId of each event of one type, in order. */
function heardService(script: FetchScript = right, options: { now?: () => number } = {}) {
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
  await settled();
  const [, second] = idsOf("call_started");
  for (const type of ["token_served_while_renewing", "token_requested", "token_renewed"] as const)
    expect(idsOf(type).at(-1)).toBe(second);
});

test("the token requests of service.fetch and of getAccessToken each have an id of their own", async () => {
  const { service, auth, clock, idsOf } = heardService();
  for (const ask of [() => service.fetch("v1/x"), () => auth.getAccessToken(), () => auth.getAccessToken()]) {
    await ask();
    clock.advance(3_600_000);
  }
  expect(new Set(idsOf("token_requested")).size).toBe(3);
  expect(idsOf("token_renewed")).toEqual(idsOf("token_requested"));
});

test("the ids of two clients differ, so that the logs of several processes can be joined", async () => {
  const clients = [heardService(), heardService()];
  for (const { service } of clients) await service.call("listDevices");
  expect(new Set(clients.flatMap(({ idsOf }) => idsOf("call_started"))).size).toBe(2);
});

test("without a listener no id is made", async () => {
  const draws = vi.spyOn(crypto, "randomUUID");
  const fetch = async (url: string) => right({ url } as never, 0);
  const auth = createAuth({ baseUrl: "https://service.example", credential: account(), fetch });
  expect(await createService(auth).call("listDevices")).toMatchObject({ ok: true });
  expect(draws).not.toHaveBeenCalled();
});

test("durations are real time, although `now` stands still", async () => {
  const { advance } = timeTravel();
  const slow: FetchScript = async (call, index) => {
    await new Promise((resolve) => setTimeout(resolve, call.url.endsWith("/token") ? 2_000 : 3_000));
    return right(call, index);
  };
  const { service, events } = heardService(slow, { now: () => 0 });
  const outcome = service.call("listDevices");
  await advance(6_000);
  expect(await outcome).toMatchObject({ ok: true });
  const took = events.flatMap((event) => ("durationMs" in event ? [[event.type, event.durationMs]] : []));
  expect(took).toEqual([
    ["token_renewed", 2_000],
    ["call_finished", 5_000],
  ]);
});

test("a call that its caller aborts ends with the code aborted, and so does the token request it began", async () => {
  const { service, events } = heardService(() => new Promise(() => {}));
  const leaving = new AbortController();
  const outcome = rejectionOf(service.call("listDevices", { signal: leaving.signal }));
  await expect.poll(() => events.at(-1)?.type).toBe("token_requested");
  leaving.abort("enough");
  expect(await outcome).toBe("enough");
  await settled();
  const ends = events.filter((event) => "durationMs" in event);
  expect(ends.map(({ type }) => type).toSorted()).toEqual(["call_finished", "token_failed"]);
  for (const end of ends) expect(end).toMatchObject({ code: "aborted" });
});
