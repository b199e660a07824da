// The headers that a caller gives to a call: every form of them goes along, and what no header can hold is refused.
import { runInNewContext } from "node:vm";
import { Headers as UndiciHeaders } from "undici";
import { describe, expect, test } from "vitest";
import { createService } from "../../src/index.js";
import { scriptedFetch } from "../support/fetch.js";
import { numberedAuth } from "../support/numbered-auth.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";

function serviceOf(variant: "A" | "B") {
  const fetch = scriptedFetch(() => Response.json({}));
  const service = createService(numberedAuth({ variant, now: Date.now }), { fetch });
  const ways = [
    { way: "call", send: (headers: never) => service.call("listDevices", { headers }) },
    { way: "fetch", send: (headers: never) => service.fetch("v1/devices", { headers }) },
  ];
  return { fetch, ways };
}

const forms: { name: string; headers: unknown }[] = [
  { name: "a record", headers: { "X-Mine": "1" } },
  { name: "Headers", headers: new Headers({ "x-mine": "1" }) },
  { name: "the Headers of undici's package", headers: new UndiciHeaders({ "x-mine": "1" }) },
  { name: "a Map", headers: new Map([["x-mine", "1"]]) },
  { name: "a list of pairs", headers: [["x-mine", "1"]] },
  { name: "a list of another realm", headers: runInNewContext('[["x-mine", "1"]]') },
  { name: "a number as its value", headers: { "x-mine": 1 } },
];

const refused: { name: string; headers: unknown }[] = [
  { name: "a name with a space", headers: { "x planted-in-header": "1" } },
  { name: "an empty name", headers: { "": "planted-in-header" } },
  { name: "a name with a colon", headers: { "x: planted-in-header": "" } },
  { name: "a line break in a value", headers: { "x-mine": "planted-in-header\r\ny: z" } },
  { name: "a control character in a value", headers: { "x-mine": "planted-in-header\u0001" } },
  { name: "a character beyond a byte in a value", headers: { "x-mine": "planted-in-header \u20ac" } },
  { name: "a text", headers: "x-mine: planted-in-header" },
  { name: "a list of names", headers: ["planted-in-header"] },
  { name: "a list of numbers", headers: [5] },
  { name: "a list of names alone", headers: [["planted-in-header"]] },
  { name: "a list of more than pairs", headers: [["x-mine", "1", "planted-in-header"]] },
];

describe.each(["A", "B"] as const)("Variant %s", (variant) => {
  test.each(forms)("headers given as $name go along", async ({ headers }) => {
    const { fetch, ways } = serviceOf(variant);
    for (const { way, send } of ways) {
      await send(headers as never);
      expect({ way, value: fetch.calls.at(-1)?.headers.get("x-mine") }).toEqual({ way, value: "1" });
    }
  });

  test.each(refused)("$name is refused before anything is sent, and not shown", async ({ headers }) => {
    const { fetch, ways } = serviceOf(variant);
    for (const { send } of ways) {
      const error = await rejectionOf(send(headers as never));
      expect(error).toMatchObject({ name: "ConfigurationError", code: "option_invalid", option: "headers" });
      expect(shown(error)).not.toContain("planted-in-header");
    }
    expect(fetch.calls).toHaveLength(0);
  });
});
