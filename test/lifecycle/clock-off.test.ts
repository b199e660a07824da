// A machine whose clock is wrong gets its token all the same, with at most two token requests, and is told of it.
import { describe, expect, test } from "vitest";
import { clockDeployment } from "./clock-deployment.js";

const offsets = [1, 29, 31, 300, 86_400].flatMap((seconds) => [seconds, -seconds]);

describe.each(offsets)("a clock that is %i s ahead of the service's", (clientAheadSeconds) => {
  test("costs at most two token requests at first, one at each renewal, and one event if beyond 5 s", async () => {
    const deployed = clockDeployment({ clientAheadSeconds });
    const { auth, requests, clockOff, expire } = deployed;
    expect((await auth.getAccessToken()).value).not.toBe("");
    expect(requests()).toBeLessThanOrEqual(2);
    for (let renewal = 0; renewal < 3; renewal++) {
      await expire();
      await auth.getAccessToken();
      expect(requests()).toBe(1);
    }
    const told = clockOff().map((event) => event.type === "clock_off" && Math.round(event.offsetMs / 1_000));
    expect(told).toHaveLength(Math.abs(clientAheadSeconds) > 5 ? 1 : 0);
    for (const offset of told) expect(Math.abs(Number(offset) + clientAheadSeconds)).toBeLessThanOrEqual(1);
  });

  test("is met again after the machine's clock was right for a while", async () => {
    const { auth, requests, expire, setAhead } = clockDeployment({});
    await auth.getAccessToken();
    requests();
    await expire();
    setAhead(clientAheadSeconds);
    auth.invalidate(await auth.getAccessToken());
    requests();
    await auth.getAccessToken();
    expect(requests()).toBeLessThanOrEqual(2);
  });
});

test("a refusal for the clock's sake is tried again once, not for ever: with a wrong Date and a wrong key two requests", async () => {
  const { auth, requests } = clockDeployment({
    clientAheadSeconds: 300,
    key: { audience: "https://elsewhere.example" },
  });
  await expect(auth.getAccessToken()).rejects.toMatchObject({ name: "TokenRequestError" });
  expect(requests()).toBe(2);
});

test("a clock that drifts by a second an hour is told once it is beyond 5 s, and again 5 s later", async () => {
  const { auth, clockOff, expire, setAhead } = clockDeployment({});
  for (let hour = 0; hour <= 12; hour++) {
    setAhead(hour);
    await auth.getAccessToken();
    await expire();
  }
  expect(clockOff()).toHaveLength(2);
});

test("the event says by how much the server's clock is ahead, give or take what the round trip hides", async () => {
  const { auth, clockOff } = clockDeployment({ clientAheadSeconds: -300 });
  await auth.getAccessToken();
  expect(clockOff()).toMatchObject([{ type: "clock_off", variant: "A", tenantId: "acme", errorMs: 1_000 }]);
  const [event] = clockOff();
  expect(event?.type === "clock_off" && Math.abs(event.offsetMs - 300_000)).toBeLessThanOrEqual(1_000);
});
