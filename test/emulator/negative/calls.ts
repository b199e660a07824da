// Calls of the API (sections 4.3, 5 and 7.2): bearer tokens, scopes, devices, paths and envelopes.
import type { EmulatorOptions, RuleId } from "../../../src/emulator/index.js";
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
  unstored,
  wrongMethod,
} from "./answer.js";
import { accepting, also, type Group, group, type Request, type Row, refusing } from "./row.js";
import { TOKEN_PATH_B, tokensIn, type World } from "./world.js";

const DEVICES_A = "/api/v1/acme/devices";
const DEVICE_2 = `${DEVICES_A}/device-2`;
const DEVICES_B = "/v1/devices";
const reporter = { tenantId: "acme", clientId: "reporter" };
const breaks = (rule: RuleId, answer: Answer): Group => ({ breaks: rule, answer });
const accepted = { answer: devices };

/** A plugin's call. `meanwhile` happens after it gets its token and before the call. */
const call =
  (
    path = DEVICES_A,
    clientId = "reporter",
    meanwhile: (world: World) => void = () => {},
  ): Request =>
  async (world) => {
    const token = await world.pluginToken({ clientId });
    meanwhile(world);
    return world.call(token, path);
  };
const meanwhile = (change: (world: World) => void): Request => call(undefined, undefined, change);
const waited = (seconds: number) => meanwhile((world) => world.wait(seconds));
const granted =
  (scopes: readonly string[], clientId = "reporter"): ((world: World) => void) =>
  ({ emulator }) =>
    emulator.updatePlugin({ tenantId: "acme", clientId, scopes });
const narrowedFor = (seconds: number) =>
  meanwhile((world) => {
    granted([])(world);
    world.wait(seconds);
  });
const enabled =
  (enabled: boolean) =>
  ({ emulator }: World): void =>
    emulator.updatePlugin({ ...reporter, enabled });
const restricted =
  (devices: readonly string[] | null, clientId = "reporter") =>
  ({ emulator }: World): void =>
    emulator.updatePlugin({ tenantId: "acme", clientId, devices });
const restrictedFor = (seconds: number) =>
  call(DEVICE_2, "reporter", (world) => {
    restricted(["device-1"])(world);
    world.wait(seconds);
  });
const delayed: { options: EmulatorOptions } = { options: { narrowingDelayMs: 120_000 } };
const SETTINGS = "/api/v1/acme/tenant-settings";
/** It is never an empty 403, which "has exactly three causes" (section 7.2). */
const tokenRefusal = (status: number): Answer => ({ ...ok({ error: "invalid_token" }), status });
const answered = (bearerStatus: number, rule: RuleId, name: string, request: Request): Row[] =>
  group(also(breaks(rule, tokenRefusal(bearerStatus)), { options: { bearerStatus } }), {
    [`${name}, with bearerStatus ${bearerStatus}`]: request,
  });

export const bearers: readonly Row[] = [
  ...group(breaks("bearer.present", noToken), {
    "L1: a call of Variant A without a token": (world) => world.send(DEVICES_A),
    "L1: a call of Variant B without a token": (world) => world.send(DEVICES_B),
    "L1: a token without the word Bearer": async (world) =>
      world.send(DEVICES_A, { headers: { authorization: await world.pluginToken() } }),
    "L1: a token in the query [6750 2.3]": async (world) =>
      world.send(`${DEVICES_A}?access_token=${await world.pluginToken()}`),
  }),
  ...answered(403, "bearer.present", "L1: a call without a token", (world) =>
    world.send(DEVICES_A),
  ),
  ...answered(
    404,
    "bearer.tenant",
    "L2: a token of another tenant",
    call("/api/v1/globex/devices"),
  ),
  ...answered(
    403,
    "route.opt-in",
    "L3: a token where plugin tokens are not accepted",
    call(SETTINGS),
  ),
  ...group(breaks("bearer.known", invalidToken), {
    "L1: an unknown token": (world) => world.call("x".repeat(43)),
    "L1: a token of Variant B on a route of Variant A": async (world) =>
      world.call(await world.accountToken()),
    "L1: a token of Variant A on a route of Variant B": call(DEVICES_B),
  }),
  ...group(breaks("bearer.lifetime", invalidToken), {
    "L1: a token of Variant A 3600 s old": waited(3600),
    "L1: a token of Variant B 3600 s old": async (world) => {
      const token = await world.accountToken();
      world.wait(3600);
      return world.call(token, DEVICES_B);
    },
  }),
  ...group(accepted, {
    "L1: a token 3599 s old": waited(3599),
    "bearer in lower case [6750 2.1]": async (world) =>
      world.call("", DEVICES_A, {
        headers: { authorization: `bearer ${await world.pluginToken()}` },
      }),
  }),
  ...group(breaks("bearer.tenant", invalidToken), {
    "L2: a token on a route of another tenant": call("/api/v1/globex/devices"),
  }),
  ...group(breaks("bearer.plugin-enabled", invalidToken), {
    "a token of a plugin that was disabled": meanwhile(enabled(false)),
  }),
  ...group(also(breaks("bearer.plugin-enabled", invalidToken), delayed), {
    "a token of a plugin that was disabled, which the option narrowingDelayMs does not delay":
      meanwhile(enabled(false)),
  }),
  ...group(also(accepted, delayed), {
    "a token of a plugin that was disabled and enabled again": meanwhile((world) => {
      enabled(false)(world);
      enabled(true)(world);
    }),
  }),
];

const secondDevice = ok({ id: "device-2", name: "South gate" });
const EXECUTIONS = "/api/v1/acme/schedules/night/executions";
const adas = { tenantId: "acme", userId: "ada" };
const withoutCapabilities = ({ emulator }: World): void => {
  emulator.updateOperator({ ...adas, capabilities: [] });
};
const restarts: { options: EmulatorOptions } = {
  options: {
    routes: [
      {
        operationId: "restart",
        method: "POST",
        path: "/api/v1/{tenantId}/restarts",
        scope: "schedules:execute",
        deviceParameter: { in: "body", name: "devices" },
      },
    ],
  },
};
const restart =
  (body: BodyInit, clientId = "restricted"): Request =>
  async (world) =>
    world.call(await world.pluginToken({ clientId }), "/api/v1/acme/restarts", {
      method: "POST",
      body,
    });

export const routes: readonly Row[] = [
  ...group(accepted, {
    "the device list of Variant A": call(),
    "the device list of Variant B": async (world) =>
      world.call(await world.accountToken(), DEVICES_B),
    "L5: a grant that was narrowed and widened again": meanwhile((world) => {
      granted([])(world);
      granted(["devices:read"])(world);
    }),
    "L6: the device list of a plugin restricted to one device, which is not filtered": call(
      DEVICES_A,
      "restricted",
    ),
    "L7: a call that the operator of the launch may make": async (world) =>
      world.call(await world.launchedToken()),
    "L7: a call that another operator of the plugin may not make": async (world) => {
      withoutCapabilities(world);
      const bobs = world.launchedCode({ userId: "bob" });
      return world.call((await tokensIn(world.exchange(bobs))).access_token);
    },
    "L7: a call that the operator may make since the launch": async (world) => {
      withoutCapabilities(world);
      const token = await world.launchedToken();
      world.emulator.updateOperator({ ...adas, capabilities: ["devices:read"] });
      return world.call(token);
    },
  }),
  ...group(breaks("route.opt-in", invalidToken), {
    "L3: a plugin token on a route that takes none": call(SETTINGS),
  }),
  ...group(
    also(breaks("route.opt-in", tokenRefusal(404)), { options: { pluginTokenRefusedStatus: 404 } }),
    {
      "L3: a plugin token on a route that takes none, with the option for its status":
        call(SETTINGS),
    },
  ),
  ...group(refusing(forbidden, ["route.scope", "route.narrowed"]), {
    "L4: a scope that was never granted": call(DEVICES_A, "writer"),
  }),
  ...group(breaks("route.scope", forbidden), {
    "L4: a scope that was granted after the token was minted": call(
      DEVICES_A,
      "writer",
      granted(["devices:read"], "writer"),
    ),
    "L4: a scope that the service account does not have": async (world) => {
      const narrow = { client_id: "narrow", client_secret: "narrow's secret" };
      return world.call(await world.accountToken(narrow), DEVICES_B);
    },
  }),
  ...group(also(breaks("route.narrowed", forbidden), { shapedBy: ["response.forbidden-empty"] }), {
    "L5: a grant that was narrowed after the token was minted": meanwhile(
      granted(["schedules:execute"]),
    ),
    "L5: a grant that was narrowed after a launch": async (world) => {
      const token = await world.launchedToken();
      granted([], "planner")(world);
      return world.call(token);
    },
  }),
  ...group(also(accepted, delayed), {
    "L5: a grant narrowed for less than the option narrowingDelayMs": narrowedFor(119),
  }),
  ...group(also(breaks("route.narrowed", forbidden), delayed), {
    "L5: a grant narrowed for as long as the option narrowingDelayMs": narrowedFor(120),
  }),
  ...group(accepting(ok({ id: "device-1", name: "North gate" })), {
    "L6: a device inside the restriction": call(`${DEVICES_A}/device-1`, "restricted"),
  }),
  ...group(breaks("route.device", forbidden), {
    "L6: a device outside the restriction": call(DEVICE_2, "restricted"),
    "L6: a device outside the restriction, in escapes": call(
      `${DEVICES_A}/device%2D2`,
      "restricted",
    ),
    "L6: a device after a restriction to none": call(DEVICE_2, "reporter", restricted([])),
    "L6: a device after a restriction to another": call(
      DEVICE_2,
      "reporter",
      restricted(["device-1"]),
    ),
  }),
  ...group(
    also(accepting(ok({ operationId: "restart", parameters: { tenantId: "acme" } })), restarts),
    {
      "L6: a JSON body with a device inside the restriction": restart('{"devices":"device-1"}'),
      "L6: a JSON body without a device": restart('{"devices":null}'),
      "L6: no body, which names no device": restart(""),
    },
  ),
  ...group(also(breaks("route.device", forbidden), restarts), {
    "L6: a JSON body with a device outside the restriction": restart('{"devices":"device-2"}'),
    "L6: a JSON body with a device by number outside the restriction": restart('{"devices":2}'),
    "L6: a JSON body with one of two devices outside the restriction": restart(
      '{"devices":["device-1","device-2"]}',
    ),
    "L6: a form as body, which cannot be read": restart("devices=device-1"),
    "L6: a JSON body of 65537 bytes, which is not read": restart(
      '{"devices":"device-1"}'.padEnd(65_537),
    ),
  }),
  ...group(also(breaks("route.device", forbidden), delayed), {
    "L6: a device restricted for as long as the option narrowingDelayMs": restrictedFor(120),
  }),
  ...group(accepting(secondDevice, delayed), {
    "L6: a device restricted for less than the option narrowingDelayMs": restrictedFor(119.999),
  }),
  ...group(accepting(secondDevice), {
    "L6: a device after the end of a restriction": call(
      DEVICE_2,
      "restricted",
      restricted(null, "restricted"),
    ),
  }),
  ...group(accepting(notFound), { "a device that does not exist": call(`${DEVICES_A}/none`) }),
  ...group(also(breaks("route.scope", forbidden), delayed), {
    "L5: a token minted after a narrowing, which the option narrowingDelayMs does not delay":
      async (world) => {
        granted([])(world);
        return world.call(await world.pluginToken());
      },
  }),
  ...group(breaks("route.operator", forbidden), {
    "L7: a call that the operator of the launch may not make": async (world) =>
      world.call(await world.launchedToken(), EXECUTIONS, { method: "POST" }),
    "L7: a call that the operator may no longer make": async (world) => {
      const token = await world.launchedToken();
      withoutCapabilities(world);
      return world.call(token);
    },
    "L7: a call that the person of the login may no longer make": async (world) => {
      const { access_token } = await world.personTokens();
      withoutCapabilities(world);
      return world.call(access_token, DEVICES_B);
    },
  }),
  ...group(accepting(wrongMethod("GET, HEAD")), {
    "a method that the route does not have": async (world) =>
      world.call(await world.pluginToken(), DEVICES_A, { method: "POST" }),
  }),
];

const malformed: Answer = {
  status: 400,
  headers: { "content-type": "application/json" },
  body: { error: "invalid_request" },
};
const addNote = { method: "POST", path: "/v1/notes", success: [200], failure: [], anonymous: true };
const addNoteRequest = {
  parameters: [{ in: "query", name: "limit", required: true, schema: { type: "integer" } }],
  body: { contents: { "application/json": { schema: { required: ["text"] } } } },
};
const describedApi: { options: EmulatorOptions } = {
  options: {
    api: {
      operations: { A: {}, B: { addNote } },
      emulation: async () => ({
        requests: { B: { operations: { addNote: addNoteRequest }, schemas: {} } },
      }),
    },
  },
};
const describedCall =
  (path: string, body = '{"text":"a"}'): Request =>
  (world) =>
    world.send(path, { method: "POST", headers: { "content-type": "application/json" }, body });
const enveloped =
  (value: string, token?: string): Request =>
  async (world) =>
    world.call(token ?? (await world.pluginToken()), DEVICES_A, {
      headers: { "x-envelope": value },
    });
const wrapping: { options: EmulatorOptions } = {
  options: { envelope: { list: "items", full: "result" } },
};
const flatToken = unstored({
  access_token: "…",
  token_type: "Bearer",
  expires_in: 3600,
  "revo.tenant": "acme",
  "revo.roles": [{ name: "service-plugin", group: "external-plugins" }],
});

export const shapes: readonly Row[] = [
  ...group(breaks("path.version", notFound), {
    "Variant A's device list without the version": call("/api/acme/devices"),
    "Variant B's token endpoint without the version": (world) =>
      world.postJson(world.accountFields(), TOKEN_PATH_B.replace("/v1", "")),
  }),
  ...group(accepting(notFound), { "a version that is not served": call("/api/v2/acme/devices") }),
  ...group(breaks("path.known", notFound), {
    "a path with the version that no route has": call("/v1/alarms"),
  }),
  ...group(also(breaks("request.parameters", malformed), describedApi), {
    "a call without a parameter that the document requires": describedCall("/v1/notes"),
    "a call with a parameter of another type": describedCall("/v1/notes?limit=many"),
  }),
  ...group(also(breaks("request.body", malformed), describedApi), {
    "a call with a body that is not what the document says": describedCall(
      "/v1/notes?limit=1",
      "{}",
    ),
  }),
  ...group(accepting(serviceToken, { options: { publicUrl: "https://gateway.example/service" } }), {
    "a public URL with a path, which stands before the version": (world) => world.requestToken(),
  }),
  ...group(also(accepted, { shapedBy: ["response.raw"] }), {
    "a call without X-Envelope, answered raw": call(),
    "X-Envelope while the option names no shape": enveloped("full"),
  }),
  ...group(also(accepted, { ...wrapping, shapedBy: ["response.raw"] }), {
    "X-Envelope with a value that the option does not name": enveloped("other"),
  }),
  ...group(accepting(ok({ result: devices.body }), wrapping), {
    "X-Envelope with a value that the option names": enveloped("full"),
  }),
  ...group(also(breaks("bearer.known", invalidToken), wrapping), {
    "X-Envelope beside an unknown token, whose refusal is not wrapped": enveloped("full", "x"),
  }),
  ...group(accepting(accountToken, wrapping), {
    "X-Envelope in a token request, whose answer is not wrapped": (world) =>
      world.postJson(world.accountFields(), undefined, { "x-envelope": "full" }),
  }),
  ...group(accepting(flatToken, { options: { revoShape: "flat" } }), {
    "a token request with the option for literal revo keys": (world) => world.requestToken(),
  }),
];
