// Measures a call with a cached token, and asking for that token, over a stubbed fetch.
import { OAuth2Client, OAuth2Fetch } from "@badgateway/oauth2-client";
import createClient from "openapi-fetch";
import type { paths } from "../../../generated/variant-b.js";
import { compare, type Loop, type Row, repeat } from "../measure.js";

const BASE_URL = "https://service.example";
const DEVICES = JSON.stringify([1, 2, 3].map((id) => ({ id: `device-${id}`, name: `Device ${id}` })));

async function devices(): Promise<Response> {
  return new Response(DEVICES, { status: 200, headers: { "content-type": "application/json" } });
}

/** Answers the token request, which is sent once while warming up, and all else with the devices. */
async function serviceFetch(url: string): Promise<Response> {
  return url.endsWith("/v1/auth/token") ? Response.json({ access_token: "token" }) : devices();
}

async function openService(main: string) {
  const { createAuth, createService, serviceAccount } = (await import(
    main
  )) as typeof import("../../../src/index.js");
  const credential = serviceAccount({ clientId: "bench", clientSecret: "secret" });
  return createService(createAuth({ baseUrl: BASE_URL, credential, fetch: serviceFetch }), {
    fetch: serviceFetch,
  });
}

export const warmCall: Row = {
  name: "warm-call",
  title: "a warm service.call against openapi-fetch with a fixed header",
  unit: "times",
  aim: 0.95,
  seconds: 15,
  async measure({ main }, limit) {
    const service = await openService(main);
    const headers = { authorization: "Bearer token" };
    const client = createClient<paths>({ baseUrl: BASE_URL, headers, fetch: devices });
    const check = [await service.call("listDevices"), await client.GET("/v1/devices")];
    if (check.some(({ data }) => JSON.stringify(data) !== DEVICES))
      throw new Error("a call returned other data");

    const ours = repeat(() => service.call("listDevices"));
    const theirs = repeat(() => client.GET("/v1/devices"));
    return compare({ ours, theirs, by: "cpu", ...limit });
  },
};

export const warmCallPeer: Row = {
  name: "warm-call-peer",
  title: "a warm service.call against @badgateway/oauth2-client's fetch, its answer parsed",
  unit: "times",
  aim: 0.8,
  seconds: 10,
  async measure({ main }, limit) {
    const service = await openService(main);
    const inAnHour = { accessToken: "token", refreshToken: null, expiresAt: Date.now() + 3_600_000 };
    const peer = new OAuth2Fetch({
      client: new OAuth2Client({ server: BASE_URL, clientId: "bench" }),
      getNewToken: () => inAnHour,
      scheduleRefresh: false,
    });
    // The peer calls the global fetch and accepts no other.
    const globalFetch = globalThis.fetch;
    globalThis.fetch = devices;
    try {
      const ours = repeat(() => service.call("listDevices"));
      const theirs = repeat(async () => (await peer.fetch(`${BASE_URL}/v1/devices`)).json());
      await ours(1);
      await theirs(1);
      return await compare({ ours, theirs, by: "cpu", ...limit });
    } finally {
      globalThis.fetch = globalFetch;
    }
  },
};

export const warmToken: Row = {
  name: "warm-token",
  title: "a warm getAccessToken() against awaiting a function that returns a constant",
  unit: "times",
  aim: 2,
  seconds: 10,
  async measure({ main }, { aim, seconds }) {
    const { auth } = await openService(main);
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
