// The effect of each fault on the caller, in-process and over HTTP, and its journal entry.
import { describe, expect, test } from "vitest";
import type { Fault } from "../../src/emulator/index.js";
import { accessTokenIn, PluginClient, START, TOKEN_PATH_A as TOKEN } from "./deployment.js";
import { type Observed, observe, ways } from "./two-ways.js";

const DEVICES = "/api/v1/acme/devices";

interface Row {
  readonly name: string;
  readonly fault: Fault;
  /** What is observed, computed from the answer without the fault. */
  readonly seen: (real: Observed) => Observed;
  readonly header?: readonly [name: string, value: string | null];
}

const same = (real: Observed): Observed => real;
const reset = () => ({ fetchFailed: "TypeError ECONNRESET" });
const lengthOf = (text: string) => ({
  text,
  length: expect.toBeOneOf([null, String(text.length)]),
});
const empty = (status: number) => ({ status, type: null, length: "0", text: "" });
const answered = (status: number, type: string, text: string) => () => ({
  status,
  type,
  ...lengthOf(text),
});
/** The connection breaks after this part of the body. */
const cut =
  (part: (text: string) => string) =>
  (real: Observed): Observed => {
    const { text = "" } = real;
    const bodyFailed = "TypeError UND_ERR_SOCKET";
    return { ...real, length: String(text.length), text: part(text), bodyFailed };
  };
const halved = ({ text = "", ...real }: Observed) => ({
  ...real,
  ...lengthOf(text.slice(0, Math.ceil(text.length / 2))),
});
const limited = (
  retryAfter: "date" | "absent" | string | undefined,
  value: string | null,
): Row => ({
  name: `a 429 with the Retry-After "${retryAfter ?? "by default"}"`,
  fault: { name: "rate-limited", ...(retryAfter !== undefined && { retryAfter }) } as Fault,
  seen: () => empty(429),
  header: ["retry-after", value],
});
const status = (status: number, more: object = {}): Fault => ({ name: "status", status, ...more });
const JSON_TYPE = "application/json";
const HTML = "text/html; charset=utf-8";
const down = status(500, { body: { error: "down" }, headers: { "retry-after": "9" } });
const gateway = status(502, { body: "<h1>Bad</h1>", headers: { "content-type": "text/html" } });
const earlier = new Date(START - 3_600_000).toUTCString();
const half = cut((text) => text.slice(0, Math.floor(text.length / 2)));
const withLength = (real: Observed) => ({ ...real, length: String(real.text?.length) });
const rows: Row[] = [
  {
    name: "a redirect without a body",
    fault: status(307, { headers: { location: "/elsewhere" } }),
    seen: () => empty(307),
    header: ["location", "/elsewhere"],
  },
  {
    name: "a status with JSON and a header",
    fault: down,
    seen: answered(500, JSON_TYPE, '{"error":"down"}'),
    header: ["retry-after", "9"],
  },
  { name: "a gateway's page", fault: gateway, seen: answered(502, "text/html", "<h1>Bad</h1>") },
  {
    name: "a string as JSON",
    fault: status(200, { body: "<h1>" }),
    seen: answered(200, JSON_TYPE, '"<h1>"'),
  },
  limited(undefined, "1"),
  limited("date", new Date(START + 1000).toUTCString()),
  limited("absent", null),
  limited("soon, maybe", "soon, maybe"),
  { name: "a reset", fault: { name: "reset" }, seen: reset },
  { name: "a lost answer", fault: { name: "lost-answer" }, seen: reset },
  { name: "an answer cut in half", fault: { name: "truncated" }, seen: half },
  { name: "a cut after its head", fault: { name: "truncated", bytes: 0 }, seen: cut(() => "") },
  {
    name: "a cut after more bytes than there are, which lacks the last one",
    fault: { name: "truncated", bytes: 1e6 },
    seen: cut((text) => text.slice(0, -1)),
  },
  { name: "a drip", fault: { name: "slow", bytesPerSecond: 2000 }, seen: withLength },
  { name: "a late answer", fault: { name: "slow", delayMs: 5 }, seen: same },
  { name: "malformed JSON", fault: { name: "malformed-json" }, seen: halved },
  {
    name: "another content type",
    fault: { name: "content-type", contentType: HTML },
    seen: (real) => ({ ...real, type: HTML }),
  },
  {
    name: "a wrong Date",
    fault: { name: "skewed-date", byMs: -3_600_000 },
    seen: same,
    header: ["date", earlier],
  },
];

describe.each(ways)("$name", ({ open }) => {
  /** The request that every row sends. All deployments issue the same tokens. */
  async function deployed(at: Fault["at"]) {
    const plugin = new PluginClient({ randomSeed: 1 });
    const send = await open(plugin.emulator);
    const askToken = () => send(TOKEN, { method: "POST", body: plugin.form() });
    if (at !== "resource") return { emulator: plugin.emulator, ask: askToken };
    const headers = { authorization: `Bearer ${await accessTokenIn(askToken())}` };
    return { emulator: plugin.emulator, ask: () => send(DEVICES, { headers }) };
  }

  for (const at of [undefined, "resource"] as const)
    test.each(rows)(
      `$name ${at === undefined ? "at the token endpoint" : "at a route"}`,
      async ({ fault, seen, header: [name, value] = ["", null] }) => {
        const { emulator, ask } = await deployed(at);
        const real = await observe((await deployed(at)).ask());
        const handle = emulator.faults.add({ ...fault, ...(at !== undefined && { at }) } as Fault);
        const sent = ask();
        const hit = await observe(sent);
        expect(hit).toEqual(seen(real));
        if (name !== "") expect((await sent).headers.get(name)).toBe(value);
        const entry = emulator.journal.last();
        const expected = { fault: fault.name, status: hit.status ?? 0, clientId: "reporter" };
        expect(entry).toMatchObject(expected);
        expect(entry?.grant).toBe(at === "resource" ? undefined : "client_credentials");
        expect([handle.fired, emulator.faults.list()]).toEqual([1, []]);
        expect((await observe(ask())).status).toBe(200);
        expect(emulator.journal.count({ fault: fault.name })).toBe(1);
      },
    );

  test("odd fields change, remove and add members of a token answer and of each device", async () => {
    const token = await deployed("after-commit");
    const fields = { expires_in: null, token_type: "mac", "revo.tenant": "acme" };
    token.emulator.faults.add({ name: "fields", at: "after-commit", fields });
    const body = (await (await token.ask()).json()) as Record<string, unknown>;
    expect(Object.keys(body)).toEqual(["access_token", "token_type", "revo", "revo.tenant"]);
    expect(body.token_type).toBe("mac");
    expect(token.emulator.journal.last()).toMatchObject({ fault: "fields", status: 200 });
    const devices = await deployed("resource");
    const renamed = { name: null, colour: "red" };
    devices.emulator.faults.add({ name: "fields", at: "resource", fields: renamed });
    const ids = ["device-1", "device-2", "device-3"];
    expect(await (await devices.ask()).json()).toEqual(ids.map((id) => ({ id, colour: "red" })));
  });
});
