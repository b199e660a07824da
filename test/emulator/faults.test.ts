// The effect of each fault on the caller, in-process and over HTTP, and its journal entry.
import { describe, expect, test } from "vitest";
import type { Fault, JournalEntry } from "../../src/emulator/index.js";
import { accessTokenIn, PluginClient, START } from "./plugin-client.js";
import { type Observed, observe, ways } from "./two-ways.js";

const TOKEN = "/api/v1/acme/external-plugin/oauth/token";
const DEVICES = "/api/v1/acme/devices";

interface Row {
  readonly name: string;
  readonly fault: Fault;
  /** The observed answer, computed from the answer without the fault. */
  readonly seen: (real: Observed) => Observed;
  /** Default: the status that the caller observes. */
  readonly journal?: Partial<JournalEntry>;
  readonly header?: readonly [name: string, value: string | null];
}

const reset = { fetchFailed: "TypeError ECONNRESET" };
const lengthOf = (text: string) => ({
  text,
  length: expect.toBeOneOf([null, String(text.length)]),
});
const empty = (status: number) => ({ status, type: null, length: "0", text: "" });
/** The connection breaks after this part of the body. */
const cut =
  (part: (text: string) => string) =>
  (real: Observed): Observed => {
    const { text = "" } = real;
    const bodyFailed = "TypeError UND_ERR_SOCKET";
    return { ...real, length: String(text.length), text: part(text), bodyFailed };
  };
const limited = (
  name: string,
  retryAfter: string | number | undefined,
  value: string | null,
): Row => ({
  name: `429 with Retry-After ${name}`,
  fault: { name: "rate-limited", ...(retryAfter !== undefined && { retryAfter }) } as Fault,
  seen: () => empty(429),
  header: ["retry-after", value],
});
const html = { "content-type": "text/html" };
const location = "https://evil.example/";
const rows: Row[] = [
  {
    name: "a status without a body",
    fault: { name: "status", status: 503 },
    seen: () => empty(503),
  },
  {
    name: "a status with JSON and a header",
    fault: {
      name: "status",
      status: 500,
      body: { error: "down" },
      headers: { "retry-after": "9" },
    },
    seen: () => ({ status: 500, type: "application/json", ...lengthOf('{"error":"down"}') }),
    header: ["retry-after", "9"],
  },
  {
    name: "the page of a gateway",
    fault: { name: "status", status: 502, body: "<h1>Bad</h1>", headers: html },
    seen: () => ({ status: 502, type: "text/html", ...lengthOf("<h1>Bad</h1>") }),
  },
  {
    name: "a string as JSON",
    fault: { name: "status", status: 200, body: "<h1>" },
    seen: () => ({ status: 200, type: "application/json", ...lengthOf('"<h1>"') }),
  },
  {
    name: "a redirect",
    fault: { name: "status", status: 307, headers: { location } },
    seen: () => empty(307),
    header: ["location", location],
  },
  limited("by default", undefined, "1"),
  limited("in seconds", 17, "17"),
  limited("as a date", "date", new Date(START + 1000).toUTCString()),
  limited("absent", "absent", null),
  limited("that is garbage", "soon, maybe", "soon, maybe"),
  { name: "a reset", fault: { name: "reset" }, seen: () => reset, journal: { status: 0 } },
  {
    name: "a lost answer",
    fault: { name: "lost-answer" },
    seen: () => reset,
    journal: { status: 0 },
  },
  {
    name: "an answer cut in half",
    fault: { name: "truncated" },
    seen: cut((text) => text.slice(0, Math.floor(text.length / 2))),
  },
  {
    name: "an answer cut after 3 bytes",
    fault: { name: "truncated", bytes: 3 },
    seen: cut((text) => text.slice(0, 3)),
  },
  {
    name: "an answer cut after its head",
    fault: { name: "truncated", bytes: 0 },
    seen: cut(() => ""),
  },
  {
    name: "an answer cut after more bytes than it has, which lacks the last one",
    fault: { name: "truncated", bytes: 1e6 },
    seen: cut((text) => text.slice(0, -1)),
  },
  {
    name: "a slow drip",
    fault: { name: "slow", bytesPerSecond: 2000 },
    seen: (real) => ({ ...real, length: String(real.text?.length) }),
  },
  { name: "a late answer", fault: { name: "slow", delayMs: 5 }, seen: (real) => real },
  {
    name: "malformed JSON",
    fault: { name: "malformed-json" },
    seen: (real) => ({
      ...real,
      ...lengthOf(real.text?.slice(0, Math.ceil(real.text.length / 2)) ?? ""),
    }),
  },
  {
    name: "another content type",
    fault: { name: "content-type", contentType: "text/html; charset=utf-8" },
    seen: (real) => ({ ...real, type: "text/html; charset=utf-8" }),
  },
  {
    name: "a wrong Date",
    fault: { name: "skewed-date", byMs: -3_600_000 },
    seen: (real) => real,
    header: ["date", new Date(START - 3_600_000).toUTCString()],
  },
];

describe.each(ways)("$name", ({ open }) => {
  /** The request that every row sends. All deployments issue the same tokens. */
  async function deployed(
    at: Fault["at"],
  ): Promise<{ plugin: PluginClient; ask: () => Promise<Response> }> {
    const plugin = new PluginClient({ randomSeed: 1 });
    const send = await open(plugin.emulator);
    const askToken = () => send(TOKEN, { method: "POST", body: plugin.form() });
    if (at !== "resource") return { plugin, ask: askToken };
    const headers = { authorization: `Bearer ${await accessTokenIn(askToken())}` };
    return { plugin, ask: () => send(DEVICES, { headers }) };
  }

  const places = [
    { name: "at the token endpoint", at: undefined },
    { name: "at a route", at: "resource" as const },
  ];

  describe.each(places)("$name", ({ at }) => {
    test.each(rows)("$name", async ({ fault, seen, header, journal }) => {
      const real = await observe((await deployed(at)).ask());
      expect(real.status).toBe(200);
      const { plugin, ask } = await deployed(at);
      const { emulator } = plugin;
      const handle = emulator.faults.add({ ...fault, ...(at !== undefined && { at }) } as Fault);
      const sent = ask();
      const hit = await observe(sent);
      expect(hit).toEqual(seen(real));
      if (header !== undefined) expect((await sent).headers.get(header[0])).toBe(header[1]);
      const entry = emulator.journal.last();
      const expected = { fault: fault.name, status: hit.status ?? 0, clientId: "reporter" };
      expect(entry).toMatchObject({ ...expected, ...journal });
      expect(entry?.grant).toBe(at === "resource" ? undefined : "client_credentials");
      expect([handle.fired, emulator.faults.list()]).toEqual([1, []]);
      expect((await observe(ask())).status).toBe(200);
      expect(emulator.journal.count({ fault: fault.name })).toBe(1);
    });
  });

  test("odd fields change, remove and add members of a token answer and of each device", async () => {
    const token = await deployed("after-commit");
    const fields = { expires_in: null, token_type: "mac", "revo.tenant": "acme" };
    token.plugin.emulator.faults.add({ name: "fields", at: "after-commit", fields });
    const body = (await (await token.ask()).json()) as Record<string, unknown>;
    expect(Object.keys(body)).toEqual(["access_token", "token_type", "revo", "revo.tenant"]);
    expect(body.token_type).toBe("mac");
    expect(token.plugin.emulator.journal.last()).toMatchObject({ fault: "fields", status: 200 });
    const devices = await deployed("resource");
    const renamed = { name: null, colour: "red" };
    devices.plugin.emulator.faults.add({ name: "fields", at: "resource", fields: renamed });
    const ids = ["device-1", "device-2", "device-3"];
    expect(await (await devices.ask()).json()).toEqual(ids.map((id) => ({ id, colour: "red" })));
  });
});
