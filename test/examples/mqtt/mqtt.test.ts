// The recipe for MQTT in src/client/signalr-and-mqtt.md, run with the real client against a small
// broker.
import type { MqttClient } from "mqtt";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Auth } from "../../../src/index.js";
import { importBlock } from "../../readme/pages.js";
import { emulatedTenant, hourMs } from "../bearer-server.js";
import { startBroker } from "./broker.js";

interface Recipe {
  connectMqtt(url: string, auth: Auth, pauseMs?: number): Promise<MqttClient>;
}

const pauseMs = 5;

/** Resolves with what the next event carries. */
const next = (client: MqttClient, event: "connect" | "message") =>
  new Promise<unknown[]>((resolve) => client.once(event, (...what: unknown[]) => resolve(what)));

/** A connection by the recipe that has subscribed to a topic, and the errors that it reported. */
async function subscribed() {
  const tenant = emulatedTenant();
  const broker = await startBroker(tenant.accepts);
  const { connectMqtt } = await importBlock<Recipe>('from "mqtt"');
  const client = await connectMqtt(broker.url, tenant.auth, pauseMs);
  const errors: unknown[] = [];
  client.on("error", (error) => errors.push(error));
  onTestFinished(() => client.endAsync(true));
  await next(client, "connect");
  await client.subscribeAsync("devices");
  return { ...tenant, broker, client, errors };
}

/** Resolves when the client has connected and subscribed again. */
async function again(client: MqttClient): Promise<void> {
  const resubscribed = new Promise<void>((resolve) => {
    client.on("packetreceive", ({ cmd }) => void (cmd === "suback" && resolve()));
  });
  await next(client, "connect");
  await resubscribed;
}

test("an MQTT connection that is cut when its token expires is made again with a fresh password", async () => {
  const { emulator, auth, broker, client, errors } = await subscribed();
  const old = await auth.getAccessToken();
  const reconnected = again(client);
  emulator.clock.advance(hourMs);
  await broker.cut();
  await reconnected;
  const message = next(client, "message");
  broker.publish("devices", "after");
  expect(String((await message)[1])).toBe("after");
  const fresh = await auth.getAccessToken();
  expect(fresh.value).not.toBe(old.value);
  expect(broker.requests).toEqual(
    [old, fresh].map(({ value }) => ({ password: value, isAccepted: true })),
  );
  expect(emulator.journal.tokenRequests({ status: 200 })).toHaveLength(2);
  expect(errors).toEqual([]);
});

test("an MQTT broker that refuses a token gets a new one at the next attempt, however young that is", async () => {
  const { emulator, auth, refused, broker, client, errors } = await subscribed();
  refused.add((await auth.getAccessToken()).value);
  const reconnected = again(client);
  await broker.cut();
  await reconnected;
  expect(broker.requests.map(({ isAccepted }) => isAccepted)).toEqual([true, false, true]);
  expect(errors).toMatchObject([{ code: 4 }]);
  expect(emulator.journal.tokenRequests({ status: 200 })).toHaveLength(2);
});

test.each([4, 5, 134, 135])("an MQTT error with the code %i drops the token", async (code) => {
  const { auth, client } = await subscribed();
  const { value } = await auth.getAccessToken();
  client.emit("error", Object.assign(new Error("refused"), { code }));
  expect((await auth.getAccessToken()).value).not.toBe(value);
});

test("the pauses of an MQTT connection whose attempts fail double up to 30 s", async () => {
  const { auth, client } = await subscribed();
  vi.spyOn(auth, "getAccessToken").mockRejectedValue(new Error("no token"));
  const timers = vi.spyOn(globalThis, "setTimeout");
  onTestFinished(() => void timers.mockRestore());
  const pauses: unknown[] = [];
  timers.mockImplementation(((run: () => void, ms: number) => {
    if (run.name === "reconnect" && pauses.push(ms) < 15) queueMicrotask(run);
  }) as never);
  client.emit("close");
  await expect.poll(() => pauses.length).toBe(15);
  expect(pauses).toEqual(Array.from(pauses, (_, count) => Math.min(pauseMs * 2 ** count, 30_000)));
});

test("an MQTT connection survives a token endpoint that fails, and reports the error", async () => {
  const { emulator, broker, client, errors } = await subscribed();
  const body = { error: "invalid_client" };
  emulator.faults.add({ name: "status", status: 400, body, at: "before-token" });
  emulator.clock.advance(hourMs);
  await broker.cut();
  await expect.poll(() => errors.length).toBeGreaterThan(0);
  expect(errors[0]).toMatchObject({ name: "TokenRequestError" });
  emulator.clock.advance(2_000); // the pause after a refused token request
  await next(client, "connect");
  expect(broker.requests.at(-1)?.isAccepted).toBe(true);
});

test("an MQTT connection that was ended is not made again", async () => {
  const { broker, client } = await subscribed();
  await client.endAsync();
  // The library has timers of its own, and what does not happen has no event.
  await new Promise((resolve) => setTimeout(resolve, 10 * pauseMs));
  expect(broker.requests).toHaveLength(1);
});
