// The version in the paths, and the shape of the answers (sections 4.3 and 9).
import { accountToken, devices, invalidToken, notFound, ok, serviceToken } from "../answer.js";
import type { Row } from "../row.js";

const paths: readonly Row[] = [
  {
    name: "Variant A's device list without the version",
    rules: ["path.version"],
    request: async (world) => world.call(await world.pluginToken(), "/api/acme/devices"),
    answer: notFound,
  },
  {
    name: "Variant B's device list without the version",
    rules: ["path.version"],
    request: async (world) => world.call(await world.accountToken(), "/devices"),
    answer: notFound,
  },
  {
    name: "Variant A's token endpoint without the version",
    rules: ["path.version"],
    request(world) {
      const form = world.form({ claims: { aud: world.tokenUrl().replace("/v1", "") } });
      return world.send(world.tokenPath().replace("/v1", ""), { method: "POST", body: form });
    },
    answer: notFound,
  },
  {
    name: "Variant B's token endpoint without the version",
    rules: ["path.version"],
    request: (world) => world.postJson(world.accountFields(), "/auth/token"),
    answer: notFound,
  },
  {
    name: "another version, which nobody serves",
    rules: [],
    request: async (world) => world.call(await world.pluginToken(), "/api/v2/acme/devices"),
    answer: notFound,
  },
  {
    name: "a path prefix of the public URL stands before the version",
    rules: [],
    options: { publicUrl: "https://gateway.example/service" },
    request(world) {
      const aud = `https://gateway.example/service${world.tokenPath()}`;
      const body = world.form({ claims: { aud } });
      return world.send(`/service${world.tokenPath()}`, { method: "POST", body });
    },
    answer: serviceToken,
  },
];

const wrapping = { options: { envelope: { list: "items", full: "result" } } };
const envelopes: readonly Row[] = [
  {
    name: "an answer is raw",
    rules: [],
    shapedBy: ["response.raw"],
    request: async (world) => world.call(await world.pluginToken()),
    answer: devices,
  },
  {
    name: "X-Envelope changes nothing while no value of it has a name",
    rules: [],
    shapedBy: ["response.raw"],
    request: async (world) =>
      world.call(await world.pluginToken(), undefined, { headers: { "x-envelope": "full" } }),
    answer: devices,
  },
  {
    ...wrapping,
    name: "X-Envelope selects the shape that the option names",
    rules: [],
    request: async (world) =>
      world.call(await world.pluginToken(), undefined, { headers: { "x-envelope": "full" } }),
    answer: ok({ result: devices.body }),
  },
  {
    ...wrapping,
    name: "X-Envelope with another value changes nothing",
    rules: [],
    shapedBy: ["response.raw"],
    request: async (world) =>
      world.call(await world.pluginToken(), undefined, { headers: { "x-envelope": "other" } }),
    answer: devices,
  },
  {
    ...wrapping,
    name: "X-Envelope wraps no refusal",
    rules: ["bearer.known"],
    request: (world) => world.call("x", undefined, { headers: { "x-envelope": "full" } }),
    answer: invalidToken,
  },
  {
    ...wrapping,
    name: "X-Envelope wraps no token answer",
    rules: [],
    request: (world) => world.postJson(world.accountFields(), undefined, { "x-envelope": "full" }),
    answer: accountToken,
  },
];

const shapes: readonly Row[] = [
  {
    name: "the option has revo under literal keys",
    rules: [],
    options: { revoShape: "flat" },
    request: (world) => world.requestToken(),
    answer: {
      ...serviceToken,
      body: {
        access_token: "…",
        token_type: "Bearer",
        expires_in: 3600,
        "revo.tenant": "acme",
        "revo.roles": [{ name: "service-plugin", group: "external-plugins" }],
      },
    },
  },
  {
    name: "the option takes a missing kid for a wrong one",
    rules: [],
    options: { requireKid: false },
    request: (world) => world.requestToken({ header: { kid: undefined } }),
    answer: serviceToken,
  },
];

export const pathsAndEnvelopes: readonly Row[] = [...paths, ...envelopes, ...shapes];
