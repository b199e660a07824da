// The effect of each fault on the caller, in-process and over HTTP, and its journal entry.
import { describe, expect, test } from "vitest";
import type { Fault, JournalEntry } from "../../src/emulator/index.js";
import { accessTokenIn, PluginClient, START } from "./plugin-client.js";
import { type Observed, observe, ways } from "./two-ways.js";

const TOKEN = "/api/v1/acme/external-plugin/oauth/token";
const DEVICES = "/api/v1/acme/devices";

/** What is observed, computed from the answer without the fault; and what else is expected. */
type Row = readonly [
  name: string,
  fault: Fault,
  seen: (real: Observed) => Observed,
  /** `journal` is by default the status that the caller observes. */
  more?: {
    readonly journal?: Partial<JournalEntry>;
    readonly header?: readonly [name: string, value: string | null];
  },
];

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
): Row => [
  `429 with Retry-After ${name}`,
  { name: "rate-limited", ...(retryAfter !== undefined && { retryAfter }) } as Fault,
  () => empty(429),
  { header: ["retry-after", value] },
];
const status = (status: number, more: object = {}): Fault => ({ name: "status", status, ...more });
const location = "https://evil.example/";
const down = { body: { error: "down" }, headers: { "retry-after": "9" } };
const gateway = { body: "<h1>Bad</h1>", headers: { "content-type": "text/html" } };
const unsent = { journal: { status: 0 } };
const html = "text/html; charset=utf-8";
const earlier = new Date(START - 3_600_000).toUTCString();
const rows: Row[] = [
  ["a status without a body", status(503), () => empty(503)],
  [
    "a status with JSON and a header",
    status(500, down),
    () => ({ status: 500, type: "application/json", ...lengthOf('{"error":"down"}') }),
    { header: ["retry-after", "9"] },
  ],
  [
    "the page of a gateway",
    status(502, gateway),
    () => ({ status: 502, type: "text/html", ...lengthOf("<h1>Bad</h1>") }),
  ],
  [
    "a string as JSON",
    status(200, { body: "<h1>" }),
    () => ({ status: 200, type: "application/json", ...lengthOf('"<h1>"') }),
  ],
  [
    "a redirect",
    status(307, { headers: { location } }),
    () => empty(307),
    { header: ["location", location] },
  ],
  limited("by default", undefined, "1"),
  limited("in seconds", 17, "17"),
  limited("as a date", "date", new Date(START + 1000).toUTCString()),
  limited("absent", "absent", null),
  limited("that is garbage", "soon, maybe", "soon, maybe"),
  ["a reset", { name: "reset" }, () => reset, unsent],
  ["a lost answer", { name: "lost-answer" }, () => reset, unsent],
  [
    "an answer cut in half",
    { name: "truncated" },
    cut((text) => text.slice(0, Math.floor(text.length / 2))),
  ],
  ["an answer cut after 3 bytes", { name: "truncated", bytes: 3 }, cut((text) => text.slice(0, 3))],
  ["an answer cut after its head", { name: "truncated", bytes: 0 }, cut(() => "")],
  [
    "an answer cut after more bytes than it has, which lacks the last one",
    { name: "truncated", bytes: 1e6 },
    cut((text) => text.slice(0, -1)),
  ],
  [
    "a slow drip",
    { name: "slow", bytesPerSecond: 2000 },
    (real) => ({ ...real, length: String(real.text?.length) }),
  ],
  ["a late answer", { name: "slow", delayMs: 5 }, (real) => real],
  [
    "malformed JSON",
    { name: "malformed-json" },
    ({ text = "", ...real }) => ({
      ...real,
      ...lengthOf(text.slice(0, Math.ceil(text.length / 2))),
    }),
  ],
  [
    "another content type",
    { name: "content-type", contentType: html },
    (real) => ({ ...real, type: html }),
  ],
  [
    "a wrong Date",
    { name: "skewed-date", byMs: -3_600_000 },
    (real) => real,
    { header: ["date", earlier] },
  ],
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
    for (const [name, fault, seen, { header, journal } = {}] of rows)
      test(name, async () => {
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
