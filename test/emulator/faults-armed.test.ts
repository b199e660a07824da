// Arming faults: what is accepted, the draws, the list, and a reset.
import { describe, expect, test } from "vitest";
import {
  createEmulator,
  type Emulator,
  type EmulatorSeed,
  type Fault,
  type FaultName,
  faultMoments,
} from "../../src/emulator/index.js";

describe("armed faults", () => {
  describe("a draw", () => {
    const fault = { name: "status", status: 503, count: "always", probability: 0.3 } as const;
    async function pattern(emulator: Emulator, length: number): Promise<string> {
      let text = "";
      for (let i = 0; i < length; i++) {
        const { status } = await emulator.fetch("/v1/auth/token", { method: "POST" });
        text += status === 503 ? "x" : ".";
      }
      return text;
    }
    const armed = (seed?: number, randomSeed?: number) => {
      const emulator = createEmulator({ randomSeed });
      emulator.faults.add({ ...fault, ...(seed !== undefined && { seed }) });
      return emulator;
    };

    test("with one seed strikes the same requests in every run, with another others, and as often as it says", async () => {
      const first = await pattern(armed(7), 200);
      expect(await pattern(armed(7), 200)).toBe(first);
      expect(await pattern(armed(8), 200)).not.toBe(first);
      const struck = first.replaceAll(".", "").length;
      expect(struck).toBeGreaterThan(35);
      expect(struck).toBeLessThan(85);
    });

    test("without a seed shows the one it drew, by which the run can be repeated", async () => {
      const emulator = armed();
      const [report] = emulator.faults.list();
      const first = await pattern(emulator, 60);
      expect(await pattern(armed(report?.fault.seed), 60)).toBe(first);
      expect(await pattern(armed(undefined, 5), 60)).toBe(await pattern(armed(undefined, 5), 60));
    });
  });

  describe("what is armed", () => {
    const fault = (status: number): Fault => ({ name: "status", status, count: 3 });

    test("is listed oldest first, and taken back by its id, by its handle, and all at once", () => {
      const { faults } = createEmulator();
      const [first, second] = [faults.add(fault(500)), faults.add(fault(501))];
      faults.add({ ...fault(502), count: "always" });
      expect(faults.list()).toEqual([
        { id: first.id, fault: fault(500), fired: 0, left: 3 },
        { id: second.id, fault: fault(501), fired: 0, left: 3 },
        { id: "fault-3", fault: { ...fault(502), count: "always" }, fired: 0, left: "always" },
      ]);
      faults.remove(first.id);
      faults.remove(first.id);
      faults.remove("nothing");
      second.remove();
      second.remove();
      expect(faults.list().map(({ id }) => id)).toEqual(["fault-3"]);
      faults.clear();
      expect(faults.list()).toEqual([]);
    });

    test("is a copy: what becomes of the caller's object, or of the list, does not matter", () => {
      const { faults } = createEmulator();
      const mine = { name: "fields" as const, fields: { revo: { tenant: "a" } } };
      faults.add(mine);
      mine.fields.revo.tenant = "b";
      Object.assign(faults.list()[0]?.fault ?? {}, { name: "reset" });
      expect(faults.list()[0]?.fault).toEqual({ name: "fields", fields: { revo: { tenant: "a" } } });
    });

    test("begins with the seed, and a reset keeps only those of the seed", async () => {
      const seeded: Fault = { name: "fields", fields: { $set: ["a"], $bytes: null } };
      const emulator = createEmulator({ seed: { faults: [seeded] } });
      const { faults } = emulator;
      const added = faults.add(fault(503));
      await emulator.fetch("/v1/auth/token", { method: "POST" });
      const before = faults.list();
      expect(before.map(({ fired, left }) => [fired, left])).toEqual([
        [0, 1],
        [1, 2],
      ]);
      emulator.reset();
      expect(faults.list()).toEqual([{ id: "fault-1", fault: seeded, fired: 0, left: 1 }]);
      added.remove();
      expect(faults.list()).toHaveLength(1);
    });

    test("are not shared with another emulator", async () => {
      const [one, other] = [createEmulator(), createEmulator()];
      one.faults.add({ name: "reset", count: "always" });
      expect((await other.fetch("/v1/auth/token", { method: "POST" })).status).toBe(415);
    });
  });
});

describe("refused faults", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;

  const rows: { name: string; fault: unknown; field: string }[] = [
    { name: "nothing", fault: undefined, field: "expected object" },
    { name: "a name alone", fault: "reset", field: "expected object" },
    { name: "no name", fault: {}, field: "name" },
    { name: "an unknown name", fault: { name: "earthquake" }, field: "name" },
    { name: "the name of something all objects have", fault: { name: "constructor" }, field: "name" },
    { name: "an unknown member", fault: { name: "reset", colour: "red" }, field: "colour" },
    { name: "a member of another fault", fault: { name: "reset", status: 500 }, field: "status" },
    { name: "an unknown moment", fault: { name: "reset", at: "midnight" }, field: "at" },
    {
      name: "a moment that no call of a route reaches",
      fault: { name: "reset", at: "before-token", match: { operation: "listDevices" } },
      field: "at: is never reached by listDevices: it must be resource",
    },
    {
      name: "a moment that no token request reaches",
      fault: { name: "fields", fields: {}, at: "resource", match: { operation: "requestToken" } },
      field: "at: is never reached by requestToken: it must be after-commit",
    },
    { name: "a count of none", fault: { name: "reset", count: 0 }, field: "count" },
    { name: "a count of one and a half", fault: { name: "reset", count: 1.5 }, field: "count" },
    { name: "a count by another word", fault: { name: "reset", count: "forever" }, field: "count" },
    { name: "an unknown match", fault: { name: "reset", match: { tenant: "acme" } }, field: "match" },
    {
      name: "a match that is not a string",
      fault: { name: "reset", match: { tenantId: 1 } },
      field: "match.tenantId",
    },
    { name: "an unknown variant", fault: { name: "reset", match: { variant: "C" } }, field: "match.variant" },
    {
      name: "an operation that is served nowhere",
      fault: { name: "reset", match: { operation: "token" } },
      field: "match.operation: must be one of requestToken, authorizeLaunch, listDevices",
    },
    {
      name: "an unknown grant",
      fault: { name: "reset", match: { grant: "password" } },
      field: "match.grant",
    },
    {
      name: "a path without a leading slash",
      fault: { name: "reset", match: { path: "v1" } },
      field: "match.path",
    },
    { name: "a probability of nothing", fault: { name: "reset", probability: 0 }, field: "probability" },
    { name: "a probability above 1", fault: { name: "reset", probability: 1.1 }, field: "probability" },
    { name: "a seed without a probability", fault: { name: "reset", seed: 1 }, field: "seed" },
    {
      name: "a seed that is not a whole number",
      fault: { name: "reset", probability: 1, seed: 0.5 },
      field: "seed",
    },
    { name: "no status", fault: { name: "status" }, field: "status" },
    { name: "a status below 200", fault: { name: "status", status: 101 }, field: "status" },
    { name: "a status above 599", fault: { name: "status", status: 600 }, field: "status" },
    { name: "a 204 with a body", fault: { name: "status", status: 204, body: {} }, field: "body" },
    { name: "a body that is not JSON", fault: { name: "status", status: 500, body: () => 1 }, field: "body" },
    {
      name: "a body that contains itself",
      fault: { name: "status", status: 500, body: cyclic },
      field: "body",
    },
    { name: "a body with a bigint", fault: { name: "status", status: 500, body: { a: 1n } }, field: "body" },
    {
      name: "a header's name that is none",
      fault: { name: "status", status: 500, headers: { "a b": "" } },
      field: "headers",
    },
    {
      name: "a header that splits the answer",
      fault: { name: "status", status: 500, headers: { a: "b\r\nc: d" } },
      field: "headers.a",
    },
    {
      name: "a length that is not the body's",
      fault: { name: "status", status: 500, headers: { "Content-Length": "9" } },
      field: "headers.Content-Length",
    },
    {
      name: "a Date, which has a fault of its own",
      fault: { name: "status", status: 500, headers: { date: "x" } },
      field: "headers.date",
    },
    {
      name: "a Retry-After that splits the answer",
      fault: { name: "rate-limited", retryAfter: "1\n" },
      field: "retryAfter",
    },
    {
      name: "an endless Retry-After",
      fault: { name: "rate-limited", retryAfter: Number.NaN },
      field: "retryAfter",
    },
    { name: "less than no bytes", fault: { name: "truncated", bytes: -1 }, field: "bytes" },
    { name: "no speed", fault: { name: "slow", bytesPerSecond: 0 }, field: "bytesPerSecond" },
    {
      name: "a delay beyond what a timer takes",
      fault: { name: "slow", delayMs: 2 ** 31 },
      field: "delayMs",
    },
    { name: "a delay into the past", fault: { name: "slow", delayMs: -1 }, field: "delayMs" },
    {
      name: "slow before the token without a delay",
      fault: { name: "slow", at: "before-token" },
      field: "delayMs",
    },
    {
      name: "a drip before the token",
      fault: { name: "slow", at: "before-token", delayMs: 1, bytesPerSecond: 1 },
      field: "bytesPerSecond",
    },
    { name: "no content type", fault: { name: "content-type" }, field: "contentType" },
    { name: "no fields", fault: { name: "fields" }, field: "fields" },
    {
      name: "fields that are not JSON",
      fault: { name: "fields", fields: { a: undefined } },
      field: "fields.a",
    },
    { name: "no skew", fault: { name: "skewed-date" }, field: "byMs" },
    { name: "a skew beyond any calendar", fault: { name: "skewed-date", byMs: 1e15 }, field: "byMs" },
  ];

  const code = "option_invalid";

  test.each(rows)("$name is refused", ({ fault, field }) => {
    const { faults } = createEmulator();
    expect(() => faults.add(fault as Fault)).toThrow(
      expect.objectContaining({
        name: "EmulatorError",
        code,
        message: expect.stringContaining(field),
        issues: [expect.stringContaining(field)],
      }),
    );
    expect(faults.list()).toEqual([]);
  });

  describe("a moment that makes no sense for a fault is refused, each that does is taken", () => {
    const needed: Partial<Record<FaultName, object>> = {
      status: { status: 500 },
      slow: { delayMs: 1 },
      "content-type": { contentType: "text/html" },
      fields: { fields: {} },
      "skewed-date": { byMs: 1 },
    };
    const all = ["before-token", "after-commit", "resource"] as const;
    const names = Object.keys(faultMoments) as FaultName[];
    test.each(names.flatMap((name) => all.map((at) => ({ name, at }))))("$name at $at", ({ name, at }) => {
      const { faults } = createEmulator();
      const add = () => faults.add({ name, at, ...needed[name] } as Fault);
      if (faultMoments[name].includes(at)) expect(add().fired).toBe(0);
      else expect(add).toThrow(expect.objectContaining({ code, issues: [expect.stringMatching(/^at: /)] }));
    });
  });

  test("a seed's fault is named by its place", () => {
    const seed = {
      faults: [{ name: "reset" }, { name: "status", status: 1 }, { name: "x" }],
    } as EmulatorSeed;
    expect(() => createEmulator({ seed })).toThrow(
      expect.objectContaining({
        code: "seed_invalid",
        issues: [
          expect.stringMatching(/^faults\.1\.status: /),
          expect.stringMatching(/^faults\.2\.name: .*"reset"/),
        ],
      }),
    );
  });

  test("no value is quoted, whatever it was", () => {
    const { faults } = createEmulator();
    const secret = "canary-value-0123456789";
    for (const fault of [
      { name: secret },
      { name: "reset", at: secret },
      { name: "reset", match: { variant: secret } },
      { name: "status", status: 500, headers: { a: `${secret}\n` } },
    ]) {
      expect(() => faults.add(fault as Fault)).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining(secret) }),
      );
    }
  });
});
