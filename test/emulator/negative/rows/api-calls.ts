// Calls of the API with tokens that are missing, misused, too narrow or withdrawn (sections 5 and 7.2).
import type { RuleId } from "../../../../src/emulator/index.js";
import { type Answer, devices, forbidden, invalidToken, noToken, ok, wrongMethod } from "../answer.js";
import type { Row } from "../row.js";
import type { World } from "../world.js";

const DEVICES_A = "/api/v1/acme/devices";
const DEVICES_B = "/v1/devices";
const EXECUTIONS = "/api/v1/acme/schedules/night/executions";
const SETTINGS = "/api/v1/acme/tenant-settings";
const firstDevice = ok({ id: "device-1", name: "North gate" });

function row(name: string, rules: readonly RuleId[], request: Row["request"], answer: Answer): Row {
  return { name, rules, request, answer };
}
/** Of the plugin `reporter`, which was told what has changed before it called. */
function plugin(
  name: string,
  rules: readonly RuleId[],
  path: string,
  answer: Answer,
  more: { clientId?: string; method?: string; meanwhile?: (world: World) => void } = {},
): Row {
  const { clientId = "reporter", method = "GET", meanwhile = () => {} } = more;
  return row(
    name,
    rules,
    async (world) => {
      const token = await world.pluginToken({ clientId });
      meanwhile(world);
      return world.call(token, path, { method });
    },
    answer,
  );
}
const reporter = { tenantId: "acme", clientId: "reporter" };

const bearers: readonly Row[] = [
  row("no bearer, Variant A", ["bearer.present"], (world) => world.send(DEVICES_A), noToken),
  row("no bearer, Variant B", ["bearer.present"], (world) => world.send(DEVICES_B), noToken),
  row(
    "another authorization scheme",
    ["bearer.present"],
    (world) => world.send(DEVICES_A, { headers: { authorization: "Basic cmVwb3J0ZXI6eA==" } }),
    noToken,
  ),
  row(
    "6750 2.3: the token in the query",
    ["bearer.present"],
    async (world) => world.send(`${DEVICES_A}?access_token=${await world.pluginToken()}`),
    noToken,
  ),
  row("a bearer that nobody issued", ["bearer.known"], (world) => world.call("x".repeat(43)), invalidToken),
  row("an assertion as bearer", ["bearer.known"], (world) => world.call(world.assertion()), invalidToken),
  row(
    "a token of Variant B on a route of Variant A",
    ["bearer.known"],
    async (world) => world.call(await world.accountToken()),
    invalidToken,
  ),
  row(
    "a token of Variant A on a route of Variant B",
    ["bearer.known"],
    async (world) => world.call(await world.pluginToken(), DEVICES_B),
    invalidToken,
  ),
  row(
    "a refresh token as bearer",
    ["bearer.known"],
    async (world) => world.call((await world.personTokens()).refresh_token, DEVICES_B),
    invalidToken,
  ),
  plugin("6750 2.1: bearer in lower case", [], DEVICES_A, devices),
  plugin("a token a second before its end", [], DEVICES_A, devices, {
    meanwhile: (world) => world.wait(3599),
  }),
  plugin("a token at its end", ["bearer.lifetime"], DEVICES_A, invalidToken, {
    meanwhile: (world) => world.wait(3600),
  }),
  row(
    "a token of Variant B at its end",
    ["bearer.lifetime"],
    async (world) => {
      const token = await world.accountToken();
      world.wait(3600);
      return world.call(token, DEVICES_B);
    },
    invalidToken,
  ),
  plugin("a token on another tenant's route", ["bearer.tenant"], "/api/v1/globex/devices", invalidToken),
  plugin(
    "a token on the route of a tenant that nobody knows",
    ["bearer.tenant"],
    "/api/v1/initech/devices",
    invalidToken,
  ),
  plugin("a token of a plugin that was disabled", ["bearer.plugin-enabled"], DEVICES_A, invalidToken, {
    meanwhile: ({ emulator }) => emulator.updatePlugin({ ...reporter, enabled: false }),
  }),
  {
    ...row(
      "the option has a refused bearer answered otherwise",
      ["bearer.present"],
      (world) => world.send(DEVICES_A),
      forbidden,
    ),
    options: { bearerStatus: 403 },
  },
];

const routes: readonly Row[] = [
  plugin("the device list", [], DEVICES_A, devices),
  row(
    "the device list of Variant B",
    [],
    async (world) => world.call(await world.accountToken(), DEVICES_B),
    devices,
  ),
  plugin("a route that takes no plugin tokens", ["route.opt-in"], SETTINGS, invalidToken),
  {
    ...plugin("the option has such a route answer otherwise", ["route.opt-in"], SETTINGS, {
      status: 404,
      headers: {},
      body: "",
    }),
    options: { pluginTokenRefusedStatus: 404 },
  },
  plugin("a scope that was never granted", ["route.scope", "route.narrowed"], DEVICES_A, forbidden, {
    clientId: "writer",
  }),
  plugin("a scope that was granted after minting", ["route.scope"], DEVICES_A, forbidden, {
    clientId: "writer",
    meanwhile: ({ emulator }) =>
      emulator.updatePlugin({ tenantId: "acme", clientId: "writer", scopes: ["devices:read"] }),
  }),
  row(
    "a scope that a service account does not have",
    ["route.scope"],
    async (world) =>
      world.call(
        await world.accountToken({ client_id: "narrow", client_secret: "narrow's secret" }),
        DEVICES_B,
      ),
    forbidden,
  ),
  {
    ...plugin(
      "7.2: a grant that was narrowed after minting, with an empty body",
      ["route.narrowed"],
      DEVICES_A,
      forbidden,
      {
        meanwhile: ({ emulator }) => emulator.updatePlugin({ ...reporter, scopes: ["schedules:execute"] }),
      },
    ),
    shapedBy: ["response.forbidden-empty"],
  },
  plugin("a grant that was narrowed and widened again", [], DEVICES_A, devices, {
    meanwhile({ emulator }) {
      emulator.updatePlugin({ ...reporter, scopes: [] });
      emulator.updatePlugin({ ...reporter, scopes: ["devices:read"] });
    },
  }),
  {
    ...plugin("the option lets a narrowing wait", [], DEVICES_A, devices, {
      meanwhile(world) {
        world.emulator.updatePlugin({ ...reporter, scopes: [] });
        world.wait(119);
      },
    }),
    options: { narrowingDelayMs: 120_000 },
  },
  {
    ...plugin(
      "the option lets a narrowing wait no longer than it says",
      ["route.narrowed"],
      DEVICES_A,
      forbidden,
      {
        meanwhile(world) {
          world.emulator.updatePlugin({ ...reporter, scopes: [] });
          world.wait(120);
        },
      },
    ),
    options: { narrowingDelayMs: 120_000 },
  },
  plugin("a device of the list", [], `${DEVICES_A}/device-1`, firstDevice, { clientId: "boxed" }),
  plugin("a device outside the list", ["route.device"], `${DEVICES_A}/device-2`, forbidden, {
    clientId: "boxed",
  }),
  plugin("no device is named: the list is not filtered", [], DEVICES_A, devices, { clientId: "boxed" }),
  row(
    "what the operator cannot do",
    ["route.operator"],
    async (world) => world.call(await world.launchedToken(), EXECUTIONS, { method: "POST" }),
    forbidden,
  ),
  row("what the operator can do", [], async (world) => world.call(await world.launchedToken()), devices),
  row(
    "what the operator could do until a moment ago",
    ["route.operator"],
    async (world) => {
      const token = await world.launchedToken();
      world.emulator.updateOperator({ tenantId: "acme", userId: "ada", capabilities: [] });
      return world.call(token);
    },
    forbidden,
  ),
  row(
    "what the person who logged in cannot do",
    ["route.operator"],
    async (world) => {
      const { access_token: token } = await world.personTokens();
      world.emulator.updateOperator({ tenantId: "acme", userId: "ada", capabilities: [] });
      return world.call(token, DEVICES_B);
    },
    forbidden,
  ),
  {
    ...plugin("a method that the route does not have", [], DEVICES_A, wrongMethod("GET, HEAD"), {
      method: "POST",
    }),
  },
];

export const apiCalls: readonly Row[] = [...bearers, ...routes];
