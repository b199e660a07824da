// Measures a call with a cached token, and asking for that token, over a stubbed fetch.
import { OAuth2Client, OAuth2Fetch } from "@badgateway/oauth2-client";
import createClient from "openapi-fetch";
import type { paths } from "../../../generated/variant-b.js";
import { type Comparison, compare, type Figures, type Loop, type Row } from "../measure.js";

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

function repeat(task: () => unknown): Loop {
  return async (times) => {
    for (let i = 0; i < times; i++) await task();
  };
}

const us = (nanoseconds: number): string => `${(nanoseconds / 1000).toFixed(1)} µs`;

function figures({ ratio }: Comparison, detail: string): Figures {
  return { value: ratio.median, low: ratio.low, high: ratio.high, detail };
}

export const warmCall: Row = {
  name: "warm-call",
  title: "a warm service.call against openapi-fetch with a fixed header",
  unit: "times",
  aim: 0.95,
  async measure({ main }) {
    const service = await openService(main);
    const headers = { authorization: "Bearer token" };
    const client = createClient<paths>({ baseUrl: BASE_URL, headers, fetch: devices });
    const check = [await service.call("listDevices"), await client.GET("/v1/devices")];
    if (check.some(({ data }) => JSON.stringify(data) !== DEVICES))
      throw new Error("a call returned other data");

    const compared = await compare(
      repeat(() => service.call("listDevices")),
      repeat(() => client.GET("/v1/devices")),
    );
    return figures(compared, `${us(compared.ours)} to ${us(compared.theirs)}`);
  },
};

export const warmCallPeer: Row = {
  name: "warm-call-peer",
  title: "a warm service.call against @badgateway/oauth2-client's fetch, its answer parsed",
  unit: "times",
  aim: 0.8,
  async measure({ main }) {
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
      const compared = await compare(ours, theirs);
      return figures(compared, `${us(compared.ours)} to ${us(compared.theirs)}`);
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
  async measure({ main }) {
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
    const compared = await compare(ours, plain);
    const other = await compare(ours, promised);
    return figures(
      compared,
      `${compared.ours.toFixed(0)} ns to ${compared.theirs.toFixed(0)} ns; ` +
        `${other.ratio.median.toFixed(2)} times an async function (${other.theirs.toFixed(0)} ns)`,
    );
  },
};
