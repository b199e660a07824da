// From a deployment that nobody described to an emulator that is like it.
import { beforeAll, expect, test } from "vitest";
import { type ContractResult, contractCases, type Learnt, learnFrom } from "../../src/contract/index.js";
import { createEmulator, type EmulatorOptions } from "../../src/emulator/index.js";
import { createRig, type Rig } from "./rig.js";

const refreshPath = "/v1/auth/session/renew";
/** What the description does not show of this deployment. */
const deployment: EmulatorOptions = {
  devices: [
    {
      id: "front",
      name: "Front door",
      battery: 80,
      room: { floor: 1 },
      tags: ["x"],
      seen: { "2026-01-02": 3 },
    },
    { id: "back", name: "Back door", battery: null, room: { floor: 0.5 }, tags: [], seen: {} },
  ],
  ...{ successStatus: 201, bearerStatus: 403, revoShape: "flat", refreshPath },
  bearerBody: { problem: { code: "E7", hint: "Sign in." } },
  clientErrorBody: { fault: "refused", trace: 7 },
  tokenResponseExtras: { token_type: "Bearer", expires_in: 3600, session: { region: "eu" } },
};

let results: readonly ContractResult[];
let learnt: Learnt;

async function runAll(one: Rig): Promise<readonly ContractResult[]> {
  const only = contractCases.map(({ id }) => id);
  return [...(await one.run({ only }, { refreshPath })).values()];
}

/** What a comparison of two runs looks at. */
const verdicts = (all: readonly ContractResult[]) =>
  all.map(({ id, result, observed, settings }) => ({ id, result, observed, settings }));

beforeAll(async () => {
  results = await runAll(createRig(deployment));
  learnt = learnFrom(results);
});

test("one run learns what the description does not show", () => {
  expect(results.filter(({ result }) => result === "breaks")).toEqual([]);
  expect(learnt.conflicts).toEqual([]);
  expect(learnt.settings).toMatchObject({
    ...{ successStatus: 201, bearerStatus: 403, bearerStatuses: [403], revoShape: "flat", refreshPath },
    bearerBody: { problem: { code: "string", hint: "string" } },
    clientErrorBody: { fault: "string", trace: 0 },
    tokenResponseExtras: { token_type: "Bearer", expires_in: 3600, session: { region: "string" } },
  });
  expect(learnt.answered).toEqual(
    expect.arrayContaining(["device-body", "variant-b-errors", "refresh-request"]),
  );
});

test("an emulator with the learnt settings is that deployment: a run against it learns the same", async () => {
  expect(() => createEmulator(learnt.settings)).not.toThrow();
  const again = learnFrom(await runAll(createRig(learnt.settings)));
  expect(again.settings).toEqual(learnt.settings);
  expect(again.answered).toEqual(learnt.answered);
});

test("a second run learns nothing new and moves nothing", async () => {
  const second = await runAll(createRig(deployment));
  expect(verdicts(second)).toEqual(verdicts(results));
  expect(learnFrom(second)).toEqual(learnt);
});
