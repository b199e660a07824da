// Arming faults: the accepted ones, the draws, the list, and a reset.
import { describe, expect, test } from "vitest";
import {
  createEmulator,
  type Emulator,
  type EmulatorSeed,
  type Fault,
  type FaultName,
  faultMoments,
} from "../../src/emulator/index.js";

const requestToken = ({ fetch }: Emulator) => fetch("/v1/auth/token", { method: "POST" });

describe("a fault with a probability", () => {
  const fault = { name: "status", status: 503, count: "always", probability: 0.3 } as const;
  async function pattern(emulator: Emulator, length = 40): Promise<string> {
    let text = "";
    for (let i = 0; i < length; i++)
      text += (await requestToken(emulator)).status === 503 ? "x" : ".";
    return text;
  }
  const armed = (seed?: number, randomSeed?: number) => {
    const emulator = createEmulator({ randomSeed });
    emulator.faults.add({ ...fault, ...(seed !== undefined && { seed }) });
    return emulator;
  };

  test("applies to the same requests for one seed, to others for another, as often as it says", async () => {
    const first = await pattern(armed(7), 100);
    expect(await pattern(armed(7), 100)).toBe(first);
    expect(await pattern(armed(8), 100)).not.toBe(first);
    const struck = first.replaceAll(".", "").length;
    expect(struck).toBeGreaterThan(15);
    expect(struck).toBeLessThan(45);
  });

  test("lists the seed that was drawn for it, which repeats the run", async () => {
    const emulator = armed();
    const [report] = emulator.faults.list();
    expect(await pattern(armed(report?.fault.seed))).toBe(await pattern(emulator));
    expect(await pattern(armed(undefined, 5))).toBe(await pattern(armed(undefined, 5)));
  });
});

describe("armed faults", () => {
  const fault = (status: number): Fault => ({ name: "status", status, count: 3 });

  test("are listed oldest first, and removed by id, by handle, and all at once", () => {
    const { faults } = createEmulator();
    const [first, second] = [faults.add(fault(500)), faults.add(fault(501))];
    faults.add({ ...fault(502), count: "always" });
    expect(faults.list()).toEqual([
      { id: first.id, fault: fault(500), fired: 0, left: 3 },
      { id: second.id, fault: fault(501), fired: 0, left: 3 },
      { id: "fault-3", fault: { ...fault(502), count: "always" }, fired: 0, left: "always" },
    ]);
    for (const id of [first.id, first.id, "nothing"]) faults.remove(id);
    second.remove();
    second.remove();
    expect(faults.list().map(({ id }) => id)).toEqual(["fault-3"]);
    faults.clear();
    expect(faults.list()).toEqual([]);
  });

  test("are copies: later changes to the caller's object or to the list have no effect", () => {
    const { faults } = createEmulator();
    const mine = { name: "fields" as const, fields: { revo: { tenant: "a" } } };
    faults.add(mine);
    mine.fields.revo.tenant = "b";
    Object.assign(faults.list()[0]?.fault ?? {}, { name: "reset" });
    expect(faults.list()[0]?.fault).toEqual({ name: "fields", fields: { revo: { tenant: "a" } } });
  });

  test("include those of the seed, and only those after a reset", async () => {
    const seeded: Fault = { name: "fields", fields: { $set: ["a"], $bytes: null } };
    const emulator = createEmulator({ seed: { faults: [seeded] } });
    const { faults } = emulator;
    const added = faults.add(fault(503));
    await requestToken(emulator);
    expect(faults.list()).toMatchObject([{ left: 1 }, { fired: 1, left: 2 }]);
    emulator.reset();
    expect(faults.list()).toEqual([{ id: "fault-1", fault: seeded, fired: 0, left: 1 }]);
    added.remove();
    expect(faults.list()).toHaveLength(1);
  });
});

describe("an invalid fault", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  const match = (match: object) => ({ name: "reset", match });
  const status = (more: object) => ({ name: "status", status: 500, ...more });
  const limited = (retryAfter: unknown) => ({ name: "rate-limited", retryAfter });
  const drip = { at: "before-token", delayMs: 1, bytesPerSecond: 1 };
  const slow = (more: object) => ({ name: "slow", ...more });
  const early = { ...match({ operation: "listDevices" }), at: "before-token" };
  const resource = { ...match({ operation: "requestToken" }), at: "resource" };

  const rows: [name: string, fault: unknown, field: string][] = [
    ["undefined", undefined, "expected object"],
    ["a moment that does not fit a route", early, "it must be resource"],
    ["a moment that does not fit a token request", resource, "before-token or after-commit"],
    ["an operation that is not served", match({ operation: "token" }), "requestToken, "],
    ["a path without a slash", match({ path: "v1" }), "match.path"],
    ["a count of 0", { name: "reset", count: 0 }, "count"],
    ["a probability above 1", { name: "reset", probability: 1.1 }, "probability"],
    ["a probability of 0", { name: "reset", probability: 0 }, "probability"],
    ["a seed without a probability", { name: "reset", seed: 1 }, "seed"],
    ["a status below 200", status({ status: 101 }), "status"],
    ["a 204 with a body", status({ status: 204, body: {} }), "body"],
    ["a circular body", status({ body: cyclic }), "body"],
    ["a header name with a space", status({ headers: { "a b": "" } }), "headers"],
    ["a broken header", status({ headers: { a: "b\r\nc: d" } }), "headers.a"],
    ["a wrong length", status({ headers: { "Content-Length": "9" } }), "Content-Length"],
    ["a negative number of bytes", { name: "truncated", bytes: -1 }, "bytes"],
    ["a speed of 0", slow({ bytesPerSecond: 0 }), "bytesPerSecond"],
    ["a Retry-After with a line break", limited("1\n"), "retryAfter"],
    ["a delay too long for a timer", slow({ delayMs: 2 ** 31 }), "delayMs"],
    ["slow before the token without a delay", slow({ at: "before-token" }), "delayMs"],
    ["a drip before the token", slow(drip), "bytesPerSecond"],
    ["a skew beyond Date's range", { name: "skewed-date", byMs: 1e15 }, "byMs"],
  ];
  const code = "option_invalid";
  test.each(rows)("is refused: %s", (_, fault, field) => {
    const { faults } = createEmulator();
    const message = expect.stringContaining(field);
    expect(() => faults.add(fault as Fault)).toThrow(
      expect.objectContaining({ name: "EmulatorError", code, message, issues: [message] }),
    );
    expect(faults.list()).toEqual([]);
  });

  test("has a moment that is not in faultMoments; those in it are valid", () => {
    const needed: Partial<Record<FaultName, object>> = {
      status: { status: 500 },
      slow: { delayMs: 1 },
      "content-type": { contentType: "text/html" },
      fields: { fields: {} },
      "skewed-date": { byMs: 1 },
    };
    const { faults } = createEmulator();
    const refused = expect.objectContaining({ code, issues: [expect.stringMatching(/^at: /)] });
    for (const name of Object.keys(faultMoments) as FaultName[])
      for (const at of ["before-token", "after-commit", "resource"] as const) {
        const add = () => faults.add({ name, at, ...needed[name] } as Fault);
        if (faultMoments[name].includes(at)) expect(add, `${name} ${at}`).not.toThrow();
        else expect(add, `${name} ${at}`).toThrow(refused);
      }
  });

  test("in a seed is reported with its place", () => {
    const faults = [{ name: "reset" }, { name: "status", status: 1 }, { name: "x" }];
    expect(() => createEmulator({ seed: { faults } as EmulatorSeed })).toThrow(
      expect.objectContaining({
        code: "seed_invalid",
        issues: [
          expect.stringMatching(/^faults\.1\.status: /),
          expect.stringMatching(/^faults\.2\.name: .*"reset"/),
        ],
      }),
    );
  });

  test("is refused with a message without any of its values", () => {
    const { faults } = createEmulator();
    const secret = "canary-value-0123456789";
    const named = [{ name: secret }, { name: "reset", at: secret }, match({ variant: secret })];
    for (const fault of [...named, status({ headers: { a: `${secret}\n` } })])
      expect(() => faults.add(fault as Fault)).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining(secret) }),
      );
  });
});
