// A warm, authorised call against openapi-fetch with a fixed header, both over the same stubbed fetch.
import createClient from "openapi-fetch";
import type { paths } from "../../../generated/variant-b.js";
import { compare } from "../compare.js";
import type { Row } from "../row.js";

const BASE_URL = "https://service.example";
const DEVICES = JSON.stringify([1, 2, 3].map((id) => ({ id: `device-${id}`, name: `Device ${id}` })));

async function stub(): Promise<Response> {
  return new Response(DEVICES, { status: 200, headers: { "content-type": "application/json" } });
}

/** The token endpoint is asked once, while warming up. */
async function serviceFetch(url: string): Promise<Response> {
  return url.endsWith("/v1/auth/token") ? Response.json({ access_token: "token" }) : stub();
}

export const warmCall: Row = {
  name: "warm-call",
  title: "a warm service.call against openapi-fetch with a fixed header",
  unit: "times",
  aim: 0.95,
  async measure({ main }) {
    const { createAuth, createService, serviceAccount } = (await import(
      main
    )) as typeof import("../../../src/index.js");
    const credential = serviceAccount({ clientId: "bench", clientSecret: "secret" });
    const service = createService(createAuth({ baseUrl: BASE_URL, credential, fetch: serviceFetch }), {
      fetch: serviceFetch,
    });
    const client = createClient<paths>({
      baseUrl: BASE_URL,
      headers: { authorization: "Bearer token" },
      fetch: stub,
    });
    const check = [await service.call("listDevices"), await client.GET("/v1/devices")];
    if (check.some(({ data }) => JSON.stringify(data) !== DEVICES)) throw new Error("a call gave other data");

    const ours = async (times: number): Promise<void> => {
      for (let i = 0; i < times; i++) await service.call("listDevices");
    };
    const theirs = async (times: number): Promise<void> => {
      for (let i = 0; i < times; i++) await client.GET("/v1/devices");
    };
    const bare = async (times: number): Promise<void> => {
      for (let i = 0; i < times; i++) JSON.parse(await (await stub()).text());
    };
    const compared = await compare(ours, theirs);
    const floor = await compare(bare, theirs);
    const { median, low, high } = compared.ratio;
    const us = (nanoseconds: number): string => `${(nanoseconds / 1000).toFixed(1)} µs`;
    return {
      value: median,
      low,
      high,
      detail: `${us(compared.ours)} to ${us(compared.theirs)}, of which the stub and its body take ${us(floor.ours)}`,
    };
  },
};
