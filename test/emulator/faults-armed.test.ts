// The armed faults: draws, the list, and a reset.
import { describe, expect, test } from "vitest";
import { createEmulator, type Emulator, type Fault } from "../../src/emulator/index.js";

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

  test("is no other emulator's", async () => {
    const [one, other] = [createEmulator(), createEmulator()];
    one.faults.add({ name: "reset", count: "always" });
    expect((await other.fetch("/v1/auth/token", { method: "POST" })).status).toBe(415);
  });
});
