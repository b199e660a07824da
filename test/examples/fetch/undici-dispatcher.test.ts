// Code that calls undici itself: a dispatcher sends requests for the deployment to the emulator,
// over real HTTP.
import {
  Agent,
  type Dispatcher,
  getGlobalDispatcher,
  request,
  setGlobalDispatcher,
  fetch as undiciFetch,
} from "undici";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createEmulator } from "../../../src/emulator/index.js"; // in a project of yours: "bivariant/emulator"
import { connect, servicePlugin } from "../../../src/index.js"; // "bivariant"

const reporter = { tenantId: "acme", clientId: "reporter" };
const emulator = createEmulator({
  publicUrl: "https://customer.example",
  seed: { plugins: [{ ...reporter, type: "service", scopes: ["devices:read"] }] },
});
const credential = servicePlugin({ clientId: "reporter", privateKey: emulator.testKey(reporter) });
const before = getGlobalDispatcher();
let stop: () => Promise<void>;

beforeAll(async () => {
  const { url, close } = await emulator.listen();
  const toEmulator: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
    if (options.origin?.toString() !== emulator.publicUrl)
      throw new Error(`not in a test: ${options.origin}`);
    return dispatch({ ...options, origin: url }, handler);
  };
  setGlobalDispatcher(new Agent().compose(toEmulator));
  stop = close;
});
afterEach(() => emulator.reset());
afterAll(async () => {
  await getGlobalDispatcher().close();
  setGlobalDispatcher(before);
  await stop();
});

test("undici's fetch requests a token from the emulator, and another an hour later", async () => {
  const { publicUrl: baseUrl, clock } = emulator;
  const options = { baseUrl, tenantId: "acme", credentials: [credential], clock };
  const service = await connect({ ...options, fetch: undiciFetch as unknown as typeof fetch });
  for (const minutes of [0, 60]) {
    clock.advance(minutes * 60_000);
    expect((await service.call("listDevices")).status).toBe(200);
  }
  expect(emulator.journal.tokenRequests({ tenantId: "acme" })).toHaveLength(2);
});

test("undici's request receives the refusals of the emulator", async () => {
  const { statusCode, headers, body } = await request(
    "https://customer.example/api/v1/acme/devices",
  );
  expect([statusCode, headers["www-authenticate"], await body.text()]).toEqual([401, "Bearer", ""]);
  expect(emulator.customerLog.last()).toMatchObject({ rule: "bearer.present" });
  expect(emulator.journal.tokenRequests()).toHaveLength(0);
});
