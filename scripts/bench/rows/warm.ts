// Measures a call with a cached token, and asking for that token: over a stubbed fetch, and over
// HTTP.
import { OAuth2Client, OAuth2Fetch } from "@badgateway/oauth2-client";
import createClient from "openapi-fetch";
import type { paths } from "../../../generated/variant-b.js";
import {
  type Build,
  type Compared,
  type Cost,
  compare,
  type Limit,
  type Loop,
  type Row,
  repeat,
} from "../measure.js";
import { startScript } from "../script.js";

const BASE_URL = "https://service.example";
const HEADERS = { authorization: "Bearer token" };
const DEVICES = JSON.stringify(
  [1, 2, 3].map((id) => ({ id: `device-${id}`, name: `Device ${id}` })),
);

/**
 * Makes a Request of its arguments, as every real fetch does. The token request is sent once, while
 * warming up.
 */
async function stub(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const { url } = new Request(input, init);
  if (url.endsWith("/v1/auth/token")) return Response.json({ access_token: "token" });
  return new Response(DEVICES, { status: 200, headers: { "content-type": "application/json" } });
}

async function openService(main: string, baseUrl: string, fetch?: typeof stub) {
  const { createAuth, createService, serviceAccount } = (await import(
    main
  )) as typeof import("../../../src/index.js");
  const credential = serviceAccount({ clientId: "bench", clientSecret: "secret" });
  const service = createService(createAuth({ baseUrl, credential, fetch }), { fetch });
  await checkDevices((await service.call("listDevices")).data);
  return service;
}

function checkDevices(data: unknown): void {
  if (JSON.stringify(data) !== DEVICES) throw new Error("a call returned other data");
}

export const warmCall: Row = {
  name: "warm-call",
  title:
    "a warm service.call against openapi-fetch with a fixed header, over a stub that " +
    "makes a Request",
  unit: "times",
  aim: 1,
  seconds: 12,
  async measure({ main }, limit) {
    const service = await openService(main, BASE_URL, stub);
    const client = createClient<paths>({ baseUrl: BASE_URL, headers: HEADERS, fetch: stub });
    checkDevices((await client.GET("/v1/devices")).data);
    const ours = repeat(() => service.call("listDevices"));
    const theirs = repeat(() => client.GET("/v1/devices"));
    return compare({ ours, theirs, by: "cpu", ...limit });
  },
};

/**
 * Compares calls over HTTP with those of a peer, which gets the base URL, in processor time of the
 * caller.
 */
async function overHttp(
  build: Build,
  limit: Limit,
  peer: (baseUrl: string) => () => Promise<unknown>,
): Promise<Compared<Cost>> {
  const { answer, stop } = await startScript(build, "device-server", {});
  try {
    const service = await openService(build.main, String(answer));
    const call = peer(String(answer));
    checkDevices(await call());
    const ours = repeat(() => service.call("listDevices"));
    return await compare({ ours, theirs: repeat(call), by: "cpu", ...limit });
  } finally {
    await stop();
  }
}

export const warmCallHttp: Row = {
  name: "warm-call-http",
  title: "a warm service.call against openapi-fetch with a fixed header, over HTTP on loopback",
  unit: "times",
  aim: 1,
  seconds: 22,
  measure: (build, limit) =>
    overHttp(build, limit, (baseUrl) => {
      const client = createClient<paths>({ baseUrl, headers: HEADERS });
      return async () => (await client.GET("/v1/devices")).data;
    }),
};

export const warmCallFetch: Row = {
  name: "warm-call-fetch",
  title:
    "a warm service.call against fetch with a time limit, its JSON parsed by hand, over HTTP " +
    "on loopback",
  unit: "times",
  aim: 1.05,
  seconds: 22,
  measure: (build, limit) =>
    overHttp(build, limit, (baseUrl) => async () => {
      const signal = AbortSignal.timeout(30_000);
      return (await fetch(`${baseUrl}/v1/devices`, { headers: HEADERS, signal })).json();
    }),
};

export const warmCallPeer: Row = {
  name: "warm-call-peer",
  title:
    "a warm service.call against @badgateway/oauth2-client's fetch, its answer parsed, " +
    "over that stub",
  unit: "times",
  aim: 0.8,
  seconds: 8,
  async measure({ main }, limit) {
    const service = await openService(main, BASE_URL, stub);
    const inAnHour = {
      accessToken: "token",
      refreshToken: null,
      expiresAt: Date.now() + 3_600_000,
    };
    const peer = new OAuth2Fetch({
      client: new OAuth2Client({ server: BASE_URL, clientId: "bench" }),
      getNewToken: () => inAnHour,
      scheduleRefresh: false,
    });
    // The peer calls the global fetch and accepts no other. This process measures nothing else.
    globalThis.fetch = stub;
    const ours = repeat(() => service.call("listDevices"));
    const theirs = repeat(async () => (await peer.fetch(`${BASE_URL}/v1/devices`)).json());
    return compare({ ours, theirs, by: "cpu", ...limit });
  },
};

export const warmToken: Row = {
  name: "warm-token",
  title: "a warm getAccessToken() against awaiting a function that returns a constant",
  unit: "times",
  aim: 2,
  seconds: 8,
  async measure({ main }, { aim, seconds }) {
    const { auth } = await openService(main, BASE_URL, stub);
    const token = await auth.getAccessToken();
    // The loop is written out because repeat() would take most of the measured time.
    const ours: Loop = async (times) => {
      for (let i = 0; i < times; i++) await auth.getAccessToken();
    };
    const constant = () => token;
    const plain: Loop = async (times) => {
      for (let i = 0; i < times; i++) await constant();
    };
    const asynchronous = async () => token;
    const promised: Loop = async (times) => {
      for (let i = 0; i < times; i++) await asynchronous();
    };
    const other = await compare({ ours, theirs: promised, by: "cpu", aim, seconds: seconds / 2 });
    const compared = await compare({ ours, theirs: plain, by: "cpu", aim, seconds: seconds / 2 });
    const detail = `${other.value.toFixed(2)} times an async function (${other.theirs})`;
    return { ...compared, detail };
  },
};
