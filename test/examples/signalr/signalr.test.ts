// The recipe for SignalR in src/client/signalr-and-mqtt.md, run with the real client against a
// small hub.
import { once } from "node:events";
import type { HubConnection } from "@microsoft/signalr";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Auth } from "../../../src/index.js";
import { importBlock } from "../../readme/pages.js";
import { emulatedTenant, hourMs } from "../bearer-server.js";
import { startHub } from "./hub.js";

const pauseMs = 1;

interface Recipe {
  connectHub(url: string, auth: Auth, pauseMs?: number): HubConnection;
  startHub(
    connection: HubConnection,
    auth: Auth,
    pauseMs?: number,
    signal?: AbortSignal,
  ): Promise<void>;
}

/** A connection by the recipe, whose `reconnected` resolves when it has been cut and made again. */
async function connected() {
  for (const method of ["info", "warn", "error"] as const)
    vi.spyOn(console, method).mockReturnValue();
  const tenant = emulatedTenant();
  const hub = await startHub(tenant.accepts);
  const recipe = await importBlock<Recipe>("@microsoft/signalr");
  const connection = recipe.connectHub(hub.url, tenant.auth, pauseMs);
  const again = new EventTarget();
  connection.onreconnected(() => void again.dispatchEvent(new Event("reconnected")));
  onTestFinished(() => connection.stop());
  await recipe.startHub(connection, tenant.auth, pauseMs);
  expect(await connection.invoke("Echo", "before")).toBe("before");
  return { ...tenant, ...recipe, hub, connection, reconnected: once(again, "reconnected") };
}

test("a SignalR connection that is cut when its token expires is made again with a fresh token", async () => {
  const { emulator, auth, hub, connection, reconnected } = await connected();
  const old = await auth.getAccessToken();
  emulator.clock.advance(hourMs);
  await hub.cut();
  await reconnected;
  expect(await connection.invoke("Echo", "after")).toBe("after");
  const fresh = await auth.getAccessToken();
  expect(fresh.value).not.toBe(old.value);
  // Each connection is a request to negotiate and one for the WebSocket.
  const tokens = [old, old, fresh, fresh].map(({ value }) => value);
  expect(hub.requests.map(({ token }) => token)).toEqual(tokens);
  for (const { path, token, isAccepted } of hub.requests) {
    expect(isAccepted).toBe(true);
    // No token is in an address that the client of Node opens.
    expect(path).not.toContain(token);
  }
  expect(emulator.journal.tokenRequests({ status: 200 })).toHaveLength(2);
});

test("a SignalR hub that refuses a token in its last minutes gets a new one at a later attempt", async () => {
  const { emulator, auth, refused, hub, connection, reconnected } = await connected();
  refused.add((await auth.getAccessToken()).value);
  emulator.clock.advance(hourMs - 20_000);
  await hub.cut();
  await reconnected;
  expect(await connection.invoke("Echo", "after")).toBe("after");
  expect(hub.requests.at(2)?.isAccepted).toBe(false);
  expect(emulator.journal.tokenRequests({ status: 200 })).toHaveLength(2);
});

test("a SignalR connection is made again, and a start repeated, however often the hub refuses", async () => {
  const { auth, refused, hub, connection, startHub: start, reconnected } = await connected();
  const { value } = await auth.getAccessToken();
  const refuseSixTimes = async () => {
    const most = hub.requests.length + 6; // more than the four attempts that are the client's default
    refused.add(value);
    await hub.cut();
    await expect.poll(() => hub.requests.length).toBeGreaterThanOrEqual(most);
    refused.delete(value);
  };
  await refuseSixTimes();
  await reconnected;
  await connection.stop();
  await Promise.all([refuseSixTimes(), start(connection, auth, pauseMs)]);
  expect(await connection.invoke("Echo", "after")).toBe("after");
  await expect(start(connection, auth, pauseMs, AbortSignal.abort("enough"))).rejects.toBe(
    "enough",
  );
});

// The limit is shorter than the pause of 30 s.
test("a signal ends the pause between attempts to start a SignalR connection", {
  timeout: 20_000,
}, async () => {
  const { auth, refused, hub, connection, startHub: start } = await connected();
  await connection.stop();
  refused.add((await auth.getAccessToken()).value);
  const before = hub.requests.length;
  const controller = new AbortController();
  const started = start(connection, auth, 3_600_000, controller.signal);
  await expect.poll(() => hub.requests.length).toBe(before + 1);
  await expect.poll(() => connection.state).toBe("Disconnected");
  controller.abort("enough");
  await expect(started).rejects.toBe("enough");
});

test("a refused credential ends the attempts to start a SignalR connection", async () => {
  const { emulator, auth, connection, startHub: start } = await connected();
  await connection.stop();
  auth.invalidate(await auth.getAccessToken());
  emulator.updateServiceAccount({ clientId: "listener", clientSecret: "another secret" });
  await expect(start(connection, auth, pauseMs)).rejects.toMatchObject({ code: "token_refused" });
});
