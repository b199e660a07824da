// A token in hand against a constant: what it costs to ask the lifecycle whether the token is still good.
import { compare } from "../compare.js";
import type { Row } from "../row.js";

export const warmToken: Row = {
  name: "warm-token",
  title: "a warm getAccessToken() against awaiting a function that returns a constant",
  unit: "times",
  aim: 2,
  async measure({ main }) {
    const { createAuth, serviceAccount } = (await import(main)) as typeof import("../../../src/index.js");
    const credential = serviceAccount({ clientId: "bench", clientSecret: "secret" });
    const auth = createAuth({
      baseUrl: "https://service.example",
      credential,
      fetch: async () => Response.json({ access_token: "token" }),
    });
    const token = await auth.getAccessToken();
    const constant = () => token;
    const asynchronous = async () => token;

    const ours = async (times: number): Promise<void> => {
      for (let i = 0; i < times; i++) await auth.getAccessToken();
    };
    const plain = async (times: number): Promise<void> => {
      for (let i = 0; i < times; i++) await constant();
    };
    const promised = async (times: number): Promise<void> => {
      for (let i = 0; i < times; i++) await asynchronous();
    };
    const compared = await compare(ours, plain);
    const other = await compare(ours, promised);
    const { median, low, high } = compared.ratio;
    return {
      value: median,
      low,
      high,
      detail: `${compared.ours.toFixed(0)} ns to ${compared.theirs.toFixed(0)} ns; ${other.ratio.median.toFixed(2)} times an async function (${other.theirs.toFixed(0)} ns)`,
    };
  },
};
