// A warm, authorised call against the fetch wrapper of @badgateway/oauth2-client, both over the same stubbed fetch.
import { OAuth2Client, OAuth2Fetch } from "@badgateway/oauth2-client";
import { compare } from "../compare.js";
import type { Row } from "../row.js";

const BASE_URL = "https://service.example";
const DEVICES = JSON.stringify([1, 2, 3].map((id) => ({ id: `device-${id}`, name: `Device ${id}` })));

async function stub(): Promise<Response> {
  return new Response(DEVICES, { status: 200, headers: { "content-type": "application/json" } });
}

async function serviceFetch(url: string): Promise<Response> {
  return url.endsWith("/v1/auth/token") ? Response.json({ access_token: "token" }) : stub();
}

export const warmCallPeer: Row = {
  name: "warm-call-peer",
  title: "a warm service.call against @badgateway/oauth2-client's fetch, its answer parsed",
  unit: "times",
  aim: 0.8,
  async measure({ main }) {
    const { createAuth, createService, serviceAccount } = (await import(
      main
    )) as typeof import("../../../src/index.js");
    const credential = serviceAccount({ clientId: "bench", clientSecret: "secret" });
    const service = createService(createAuth({ baseUrl: BASE_URL, credential, fetch: serviceFetch }));
    const inAnHour = { accessToken: "token", refreshToken: null, expiresAt: Date.now() + 3_600_000 };
    const peer = new OAuth2Fetch({
      client: new OAuth2Client({ server: BASE_URL, clientId: "bench" }),
      getNewToken: () => inAnHour,
      scheduleRefresh: false,
    });
    // It calls the global fetch and takes no other.
    const globalFetch = globalThis.fetch;
    globalThis.fetch = stub;
    try {
      const ours = async (times: number): Promise<void> => {
        for (let i = 0; i < times; i++) await service.call("listDevices");
      };
      const theirs = async (times: number): Promise<void> => {
        for (let i = 0; i < times; i++) await (await peer.fetch(`${BASE_URL}/v1/devices`)).json();
      };
      await ours(1);
      await theirs(1);
      const compared = await compare(ours, theirs);
      const { median, low, high } = compared.ratio;
      const us = (nanoseconds: number): string => `${(nanoseconds / 1000).toFixed(1)} µs`;
      return { value: median, low, high, detail: `${us(compared.ours)} to ${us(compared.theirs)}` };
    } finally {
      globalThis.fetch = globalFetch;
    }
  },
};
