// Each fault by its name, in-process and over HTTP: what the caller sees, and what the journal says of it.
import { describe, expect, test } from "vitest";
import type { Fault, JournalEntry } from "../../src/emulator/index.js";
import { PluginClient, START } from "./plugin-client.js";
import { type Observed, observe, ways } from "./two-ways.js";

const TOKEN = "/api/v1/acme/external-plugin/oauth/token";
const DEVICES = "/api/v1/acme/devices";

interface Row {
  readonly name: string;
  readonly fault: Fault;
  /** What the caller sees, given what it would have seen. */
  readonly seen: (real: Observed) => Observed;
  /** Default: what the caller sees. */
  readonly journal?: Partial<JournalEntry>;
  readonly header?: readonly [name: string, value: string | null];
}

const reset = { fetchFailed: "TypeError ECONNRESET" };
const terminated = { bodyFailed: "TypeError UND_ERR_SOCKET" };
const half = (text = "") => text.slice(0, Math.floor(text.length / 2));
const lengthOf = (text: string) => ({ text, length: expect.toBeOneOf([null, String(text.length)]) });
const empty = (status: number) => ({ status, type: null, length: "0", text: "" });
const rows: Row[] = [
  { name: "a status without a body", fault: { name: "status", status: 503 }, seen: () => empty(503) },
  {
    name: "a status with JSON and a header",
    fault: { name: "status", status: 500, body: { error: "down" }, headers: { "retry-after": "9" } },
    seen: () => ({ status: 500, type: "application/json", ...lengthOf('{"error":"down"}') }),
    header: ["retry-after", "9"],
  },
  {
    name: "a gateway's page",
    fault: { name: "status", status: 502, body: "<h1>Bad</h1>", headers: { "content-type": "text/html" } },
    seen: () => ({ status: 502, type: "text/html", ...lengthOf("<h1>Bad</h1>") }),
  },
  {
    name: "a text as JSON",
    fault: { name: "status", status: 200, body: "<h1>" },
    seen: () => ({ status: 200, type: "application/json", ...lengthOf('"<h1>"') }),
  },
  {
    name: "a redirect",
    fault: { name: "status", status: 307, headers: { location: "https://evil.example/" } },
    seen: () => empty(307),
    header: ["location", "https://evil.example/"],
  },
  {
    name: "429 with Retry-After by default",
    fault: { name: "rate-limited" },
    seen: () => empty(429),
    header: ["retry-after", "1"],
  },
  {
    name: "429 with Retry-After in seconds",
    fault: { name: "rate-limited", retryAfter: 17 },
    seen: () => empty(429),
    header: ["retry-after", "17"],
  },
  {
    name: "429 with Retry-After as a date",
    fault: { name: "rate-limited", retryAfter: "date" },
    seen: () => empty(429),
    header: ["retry-after", new Date(START + 1000).toUTCString()],
  },
  {
    name: "429 without Retry-After",
    fault: { name: "rate-limited", retryAfter: "absent" },
    seen: () => empty(429),
    header: ["retry-after", null],
  },
  {
    name: "429 with garbage in Retry-After",
    fault: { name: "rate-limited", retryAfter: "soon, maybe" },
    seen: () => empty(429),
    header: ["retry-after", "soon, maybe"],
  },
  { name: "a reset", fault: { name: "reset" }, seen: () => reset, journal: { status: 0 } },
  { name: "a lost answer", fault: { name: "lost-answer" }, seen: () => reset, journal: { status: 0 } },
  {
    name: "an answer cut in half",
    fault: { name: "truncated" },
    seen: (real) => ({
      ...real,
      length: String(real.text?.length),
      text: half(real.text),
      ...terminated,
    }),
  },
  {
    name: "an answer cut after bytes",
    fault: { name: "truncated", bytes: 3 },
    seen: (real) => ({
      ...real,
      length: String(real.text?.length),
      text: real.text?.slice(0, 3) ?? "",
      ...terminated,
    }),
  },
  {
    name: "an answer without a byte of its body",
    fault: { name: "truncated", bytes: 0 },
    seen: (real) => ({ ...real, length: String(real.text?.length), text: "", ...terminated }),
  },
  {
    name: "an answer without its last byte, however many were asked for",
    fault: { name: "truncated", bytes: 1e6 },
    seen: (real) => ({
      ...real,
      length: String(real.text?.length),
      text: real.text?.slice(0, -1) ?? "",
      ...terminated,
    }),
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
    name: "a Date that is off",
    fault: { name: "skewed-date", byMs: -3_600_000 },
    seen: (real) => real,
    header: ["date", new Date(START - 3_600_000).toUTCString()],
  },
];

/** The members of a token answer and of each device: other rows for each. */
const fieldRows: {
  name: string;
  at: Fault["at"];
  fields: Record<string, string | null>;
  expected: unknown;
}[] = [
  {
    name: "a token answer without one member, with another and with a new one",
    at: "after-commit",
    fields: { expires_in: null, token_type: "mac", "revo.tenant": "acme" },
    expected: expect.toSatisfy(
      (body: object) =>
        !("expires_in" in body) &&
        Object.keys(body).join() === "access_token,token_type,revo,revo.tenant" &&
        (body as { token_type: string }).token_type === "mac",
    ),
  },
  {
    name: "devices without their names",
    at: "resource",
    fields: { name: null, colour: "red" },
    expected: [1, 2, 3].map((one) => ({ id: `device-${one}`, colour: "red" })),
  },
];

describe.each(ways)("$name", ({ open }) => {
  /** What is asked for with every row, of a deployment whose tokens are those of any other. */
  async function deployed(at: Fault["at"]): Promise<{ plugin: PluginClient; ask: () => Promise<Response> }> {
    const plugin = new PluginClient({ randomSeed: 1 });
    const send = await open(plugin.emulator);
    const askToken = () => send(TOKEN, { method: "POST", body: plugin.form() });
    if (at !== "resource") return { plugin, ask: askToken };
    const { access_token: token } = (await (await askToken()).json()) as { access_token: string };
    return { plugin, ask: () => send(DEVICES, { headers: { authorization: `Bearer ${token}` } }) };
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
      let answer: Response | undefined;
      const hit = await observe(
        ask().then((response) => {
          answer = response;
          return response;
        }),
      );
      expect(hit).toEqual(seen(real));
      if (header !== undefined) expect(answer?.headers.get(header[0])).toBe(header[1]);
      const entry = emulator.journal.last();
      expect(entry).toMatchObject({
        fault: fault.name,
        status: hit.status ?? 0,
        clientId: "reporter",
        ...journal,
      });
      expect(entry?.grant).toBe(at === "resource" ? undefined : "client_credentials");
      expect([handle.fired, emulator.faults.list()]).toEqual([1, []]);
      expect((await observe(ask())).status).toBe(200);
      expect(emulator.journal.count({ fault: fault.name })).toBe(1);
    });
  });

  test.each(fieldRows)("odd fields: $name", async ({ at, fields, expected }) => {
    const { plugin, ask } = await deployed(at);
    plugin.emulator.faults.add({ name: "fields", at, fields });
    const response = await ask();
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual(expected);
    expect(plugin.emulator.journal.last()).toMatchObject({ fault: "fields", status: 200 });
  });
});
