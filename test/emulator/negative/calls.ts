// Calls of the API (sections 4.3, 5 and 7.2): bearer tokens, scopes, devices, paths and envelopes.
import { TOKEN_PATH_B } from "../deployment.js";
import {
  type Answer,
  accountToken,
  devices,
  forbidden,
  invalidToken,
  noToken,
  notFound,
  ok,
  serviceToken,
  wrongMethod,
} from "./answer.js";
import { accepting, group, type Request, type Row, refusing } from "./row.js";
import type { World } from "./world.js";

const DEVICES_A = "/api/v1/acme/devices";
const DEVICE_2 = `${DEVICES_A}/device-2`;
const DEVICES_B = "/v1/devices";
const SETTINGS = "/api/v1/acme/tenant-settings";
const accepted = accepting(devices);

type Change = (world: World) => void;
/** A plugin's call. `meanwhile` happens after it gets its token and before the call. */
const call =
  (path = DEVICES_A, clientId = "reporter", meanwhile: Change = () => {}): Request =>
  async (world) => {
    const token = await world.pluginToken({ clientId });
    meanwhile(world);
    return world.call(token, path);
  };
const meanwhile = (...changes: Change[]): Request =>
  call(undefined, undefined, (world) => {
    for (const change of changes) change(world);
  });
const waited =
  (seconds: number): Change =>
  (world) =>
    world.wait(seconds);
const updated =
  (changes: object, clientId = "reporter"): Change =>
  ({ emulator }) =>
    emulator.updatePlugin({ tenantId: "acme", clientId, ...changes });
const granted = (...scopes: string[]) => updated({ scopes });
const restricted = (...only: string[]) => updated({ devices: only });
const restrictedFor = (seconds: number) =>
  call(DEVICE_2, "reporter", (world) => {
    restricted("device-1")(world);
    world.wait(seconds);
  });
const delayed = { options: { narrowingDelayMs: 120_000 } };
/** It is never an empty 403, which "has exactly three causes" (section 7.2). */
const tokenRefusal: Answer = { ...ok({ error: "invalid_token" }), status: 403 };

export const bearers: readonly Row[] = [
  ...group(refusing(noToken, "bearer.present"), {
    "a call without a token": (world) => world.send(DEVICES_B),
    "a token without the word Bearer": async (world) =>
      world.send(DEVICES_A, { headers: { authorization: await world.pluginToken() } }),
    "a token in the query [6750 2.3]": async (world) =>
      world.send(`${DEVICES_A}?access_token=${await world.pluginToken()}`),
  }),
  ...group(refusing(tokenRefusal, "bearer.present", { options: { bearerStatus: 403 } }), {
    "a call without a token, with bearerStatus 403": (world) => world.send(DEVICES_A),
  }),
  ...group(refusing(invalidToken, "bearer.known"), {
    "a token of Variant B on a route of Variant A": async (world) =>
      world.call(await world.accountToken()),
    "a token of Variant A on a route of Variant B": call(DEVICES_B),
  }),
  ...group(refusing(invalidToken, "bearer.lifetime"), {
    "a token of Variant A 3600 s old": meanwhile(waited(3600)),
    "a token of Variant B 3600 s old": async (world) => {
      const token = await world.accountToken();
      world.wait(3600);
      return world.call(token, DEVICES_B);
    },
  }),
  ...group(accepted, {
    "a token 3599 s old": meanwhile(waited(3599)),
    "bearer in lower case [6750 2.1]": async (world) => {
      const headers = { authorization: `bearer ${await world.pluginToken()}` };
      return world.call("", DEVICES_A, { headers });
    },
  }),
  ...group(refusing(invalidToken, "bearer.tenant"), {
    "a token on a route of another tenant": call("/api/v1/globex/devices"),
  }),
  ...group(refusing(invalidToken, "bearer.plugin-enabled", delayed), {
    "a disabled plugin, although narrowings are delayed": meanwhile(updated({ enabled: false })),
  }),
  ...group(accepting(devices, delayed), {
    "a token of a plugin that was disabled and enabled again": meanwhile(
      updated({ enabled: false }),
      updated({ enabled: true }),
    ),
  }),
];

const secondDevice = ok({ id: "device-2", name: "South gate" });
const setCapabilities = ({ emulator }: World, ...capabilities: string[]) =>
  emulator.updateOperator({ tenantId: "acme", userId: "ada", capabilities });
const restartRoute = {
  operationId: "restart",
  method: "POST",
  path: "/api/v1/{tenantId}/restarts",
  scope: "schedules:execute",
  deviceParameter: { in: "body", name: "devices" },
} as const;
const restarts = { options: { routes: [restartRoute] } };
const restarted = ok({ operationId: "restart", parameters: { tenantId: "acme" } });
const restart =
  (body: BodyInit): Request =>
  async (world) => {
    const token = await world.pluginToken({ clientId: "restricted" });
    return world.call(token, "/api/v1/acme/restarts", { method: "POST", body });
  };
const emptyForbidden = { shapedBy: ["response.forbidden-empty"] } as const;

export const routes: readonly Row[] = [
  ...group(accepted, {
    "the device list of Variant A": call(),
    "the device list of Variant B": async (world) =>
      world.call(await world.accountToken(), DEVICES_B),
    "a grant that was narrowed and widened again": meanwhile(granted(), granted("devices:read")),
    "the device list of a restricted plugin, which is not filtered": call(DEVICES_A, "restricted"),
    "a call that the operator of the launch may make": async (world) =>
      world.call(await world.launchedToken()),
    "a call that the operator may make since the launch": async (world) => {
      setCapabilities(world);
      const token = await world.launchedToken();
      setCapabilities(world, "devices:read");
      return world.call(token);
    },
  }),
  ...group(refusing(invalidToken, "route.opt-in"), {
    "a plugin token on a route that takes none": call(SETTINGS),
  }),
  ...group(refusing(forbidden, ["route.scope", "route.narrowed"]), {
    "a scope that was never granted": call(DEVICES_A, "writer"),
  }),
  ...group(refusing(forbidden, "route.scope"), {
    "a scope that was granted after the token was minted": call(
      DEVICES_A,
      "writer",
      updated({ scopes: ["devices:read"] }, "writer"),
    ),
    "a scope that the service account does not have": async (world) => {
      const narrow = { client_id: "narrow", client_secret: "narrow's secret" };
      return world.call(await world.accountToken(narrow), DEVICES_B);
    },
  }),
  ...group(refusing(forbidden, "route.narrowed", emptyForbidden), {
    "a grant that was narrowed after the token was minted": meanwhile(granted("schedules:execute")),
    "a grant that was narrowed after a launch": async (world) => {
      const token = await world.launchedToken();
      updated({ scopes: [] }, "planner")(world);
      return world.call(token);
    },
  }),
  ...group(accepting(devices, delayed), {
    "a grant narrowed for less than narrowingDelayMs": meanwhile(granted(), waited(119.999)),
  }),
  ...group(refusing(forbidden, "route.narrowed", delayed), {
    "a grant narrowed for as long as narrowingDelayMs": meanwhile(granted(), waited(120)),
  }),
  ...group(accepting(ok({ id: "device-1", name: "North gate" })), {
    "a device inside the restriction": call(`${DEVICES_A}/device-1`, "restricted"),
  }),
  ...group(refusing(forbidden, "route.device"), {
    "a device outside the restriction, in escapes": call(`${DEVICES_A}/device%2D2`, "restricted"),
    "a device after a restriction to none": call(DEVICE_2, "reporter", restricted()),
    "a device after a restriction to another": call(DEVICE_2, "reporter", restricted("device-1")),
  }),
  ...group(accepting(restarted, restarts), {
    "a JSON body with a device inside the restriction": restart('{"devices":"device-1"}'),
    "no body, which names no device": restart(""),
  }),
  ...group(refusing(forbidden, "route.device", restarts), {
    "a JSON body with a device by number outside the restriction": restart('{"devices":2}'),
    "a JSON body with one of two devices outside": restart('{"devices":["device-1","device-2"]}'),
    "a form as body, which cannot be read": restart("devices=device-1"),
    "a body of 65537 bytes, which is not read": restart('{"devices":"device-1"}'.padEnd(65_537)),
  }),
  ...group(refusing(forbidden, "route.device", delayed), {
    "a device restricted for as long as narrowingDelayMs": restrictedFor(120),
    "a device restricted just before the token was issued": async (world) => {
      restricted("device-1")(world);
      world.wait(1);
      return world.call(await world.pluginToken(), DEVICE_2);
    },
  }),
  ...group(accepting(secondDevice, delayed), {
    "a device restricted for less than narrowingDelayMs": restrictedFor(119.999),
  }),
  ...group(accepting(secondDevice), {
    "a device after the end of a restriction": call(
      DEVICE_2,
      "restricted",
      updated({ devices: null }, "restricted"),
    ),
  }),
  ...group(accepting(notFound), { "a device that does not exist": call(`${DEVICES_A}/none`) }),
  ...group(refusing(forbidden, "route.scope", delayed), {
    "a token minted after a narrowing, although narrowings are delayed": async (world) => {
      granted()(world);
      return world.call(await world.pluginToken());
    },
  }),
  ...group(refusing(forbidden, "route.operator"), {
    "a call that the operator of the launch may not make": async (world) => {
      const token = await world.launchedToken();
      return world.call(token, "/api/v1/acme/schedules/night/executions", { method: "POST" });
    },
    "a call that the operator may no longer make": async (world) => {
      const token = await world.launchedToken();
      setCapabilities(world);
      return world.call(token);
    },
    "a call that the person of the login may no longer make": async (world) => {
      const { access_token } = await world.personTokens();
      setCapabilities(world);
      return world.call(access_token, DEVICES_B);
    },
  }),
  ...group(accepting(wrongMethod("GET, HEAD")), {
    "a method that the route does not have": async (world) =>
      world.call(await world.pluginToken(), DEVICES_A, { method: "POST" }),
  }),
];

const enveloped =
  (value: string, token?: string): Request =>
  async (world) =>
    world.call(token ?? (await world.pluginToken()), DEVICES_A, {
      headers: { "x-envelope": value },
    });
const wrapping = { options: { envelope: { list: "items", full: "result" } } };
const raw = { shapedBy: ["response.raw"] } as const;
const publicUrl = "https://gateway.example/service";

export const shapes: readonly Row[] = [
  ...group(refusing(notFound, "path.version"), {
    "Variant A's device list without the version": call("/api/acme/devices"),
    "Variant B's token endpoint without the version": (world) =>
      world.postJson(world.accountFields(), TOKEN_PATH_B.replace("/v1", "")),
  }),
  ...group(accepting(notFound), { "a version that is not served": call("/api/v2/acme/devices") }),
  ...group(refusing(notFound, "path.known"), {
    "a path with the version that no route has": call("/v1/alarms"),
  }),
  ...group(accepting(serviceToken, { options: { publicUrl } }), {
    "a public URL with a path, which stands before the version": (world) => world.requestToken(),
  }),
  ...group(accepting(devices, raw), {
    "X-Envelope while the option names no shape": enveloped("full"),
  }),
  ...group(accepting(devices, { ...wrapping, ...raw }), {
    "X-Envelope with a value that the option does not name": enveloped("other"),
  }),
  ...group(accepting(ok({ result: devices.body }), wrapping), {
    "X-Envelope with a value that the option names": enveloped("full"),
  }),
  ...group(refusing(invalidToken, "bearer.known", wrapping), {
    "X-Envelope beside an unknown token, whose refusal is not wrapped": enveloped("full", "x"),
  }),
  ...group(accepting(accountToken, wrapping), {
    "X-Envelope in a token request, whose answer is not wrapped": (world) =>
      world.postJson(world.accountFields(), undefined, { "x-envelope": "full" }),
  }),
];
