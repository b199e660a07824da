/** The cases as data, and as a run against an emulator that keeps every promise. */
import { describe, expect, test } from "vitest";
import { unknowns } from "../../generated/unknowns.js";
import {
  type ContractOptions,
  type ContractResult,
  type ContractTarget,
  contractCases,
  type DescribeOptions,
  describeContract,
  runContract,
} from "../../src/contract/index.js";
import { emulatorRules } from "../../src/emulator/index.js";
import { createRig } from "./rig.js";

const everything = contractCases.map(({ id }) => id);

describe("the table of cases", () => {
  test("ids are unique, and each names a rule or an unknown that exists", () => {
    expect(new Set(everything).size).toBe(everything.length);
    const ids = unknowns.map(({ id }) => id);
    for (const { rule, unknown, id } of contractCases) {
      if (rule !== undefined) expect(emulatorRules, id).toHaveProperty([rule]);
      if (unknown !== undefined) expect(ids, id).toContain(unknown);
    }
  });

  test("it is plain data", () => {
    expect(JSON.parse(JSON.stringify(contractCases))).toEqual(contractCases);
  });
});

describe("against an emulator that keeps every promise", () => {
  test("every case holds or learns, also if only waits move the emulator's clock", async () => {
    const { run } = createRig();
    const results = await run({ only: everything, now: undefined });
    const odd = [...results.values()].filter(({ result }) => !/^(holds|learnt)$/.test(result));
    expect(odd.map(({ id, result, observed }) => `${id}: ${result}: ${observed}`)).toEqual([]);
    expect(results.size).toBe(everything.length);
    expect(results.get("token-request.opacity")?.observed).toBe(
      "Every refusal has the fixed text. A missing plugin can be told from a wrong key by error: " +
        "400 invalid_grant, 400 invalid_client.",
    );
    expect(results.get("refused-bearer-status.b")?.observed).toBe(
      "Unknown bearer: 401, empty; missing bearer: 401, empty.",
    );
  });

  test("every case of Variant B is tried without a tenant id, which its paths do not have", async () => {
    const only = contractCases.flatMap(({ id, variant }) => (variant === "B" ? [id] : []));
    const results = [...(await createRig().run({ only }, { tenantId: undefined })).values()];
    const left = results.filter(({ result }) => result === "not tried");
    expect(left.map(({ id, observed }) => `${id}: ${observed}`)).toEqual([]);
  });

  test("a safe run takes at most 60 requests and changes nothing", async () => {
    const { run, emulator } = createRig({ rateLimit: false });
    const results = await run({ safe: true, maxRequests: 60 });
    expect(emulator.journal.entries().length).toBeLessThanOrEqual(60);
    const spent = [...results.values()].filter(({ observed }) => /budget/.test(observed));
    expect(spent.map(({ id }) => id)).toEqual([]);
  });

  test.each([
    { publicUrl: "https://customer.example", least: 60, most: 60, ends: true },
    { publicUrl: "http://service.localhost", least: 61, most: 1_000, ends: false },
  ])("without maxRequests $publicUrl receives $least to $most requests", async (row) => {
    const { run, emulator } = createRig({ publicUrl: row.publicUrl, rateLimit: false });
    const results = [...(await run({ maxRequests: undefined })).values()];
    const { length } = emulator.journal.entries();
    expect(length).toBeGreaterThanOrEqual(row.least);
    expect(length).toBeLessThanOrEqual(row.most);
    expect(results.some(({ reason }) => reason === "budget")).toBe(row.ends);
  });
});

/** Runs the tests that describeContract defines, and returns what became of each. */
async function runTests(
  target: ContractTarget,
  options: DescribeOptions,
): Promise<Map<string, string>> {
  const outcomes = new Map<string, string>();
  const bodies: (readonly [title: string, body: (() => Promise<void>) | undefined])[] = [];
  const test = Object.assign(
    (title: string, body: () => Promise<void>) => bodies.push([title, body]),
    { skip: (title: string) => bodies.push([title, undefined]) },
  );
  await describeContract({ describe: (_, define) => define(), test }, target, options);
  for (const [title, body] of bodies) {
    outcomes.set(title, body === undefined ? "skipped" : "passed");
    await body?.().catch((error: Error) => outcomes.set(title, `failed: ${error.message}`));
  }
  return outcomes;
}

const first = "the deployment answers, and accepts the credentials that were lent";
const only = ["token-response", "assertion.key-id"];

describe("the tests of a test runner", () => {
  const rig = createRig();
  const wrong = { clientId: "unknown", clientSecret: "a wrong secret" };
  const down = async () =>
    Promise.reject(Object.assign(new Error("refused"), { code: "ECONNREFUSED" }));
  const notFound = async () => new Response("not found", { status: 404 });
  const isB = (url: string) => url.includes("/v1/auth/");

  const { fetch: answering } = rig.emulator;
  const onlyA = {
    fetch: async (url: string, init: RequestInit) => (isB(url) ? notFound() : answering(url, init)),
  };
  const { disabledPlugin: plugin } = rig.target;

  test.each<[string, Partial<ContractTarget>, ContractOptions, RegExp]>([
    ["passes where everything is accepted", {}, {}, /^passed$/],
    ["passes where one variant is not served", {}, onlyA, /^passed$/],
    [
      "fails where nothing answers",
      {},
      { fetch: down },
      /^failed: http:\/\/service.localhost does not answer \(ECONNREFUSED\)\. Check the address/,
    ],
    [
      "fails where no variant is served",
      {},
      { fetch: notFound },
      /^failed: Variant A is not served, .* Variant B is not served, .* \(404, not a JSON object\)/,
    ],
    [
      "fails where the service account is refused",
      { serviceAccount: wrong },
      {},
      /^failed: The credential of the service account was refused \(401 invalid_client\)\.$/,
    ],
    [
      "fails where the plugin is refused",
      { plugin },
      {},
      /^failed: The credential of the service plugin was refused \(400 invalid_grant\)\.$/,
    ],
  ])("the first one %s", async (_, lent, changed, outcome) => {
    const options = { ...rig.options, only, ...changed };
    const outcomes = await runTests({ ...rig.target, ...lent }, options);
    expect([...outcomes.entries()][0]).toEqual([first, expect.stringMatching(outcome)]);
  });

  test("one whose case breaks says what was done, by which section, and what came back", async () => {
    const { options, target } = createRig({ rules: { "assertion.key-id": false } });
    const outcomes = await runTests(target, { ...options, only });
    expect([...outcomes.values()].filter((outcome) => outcome.startsWith("failed"))).toEqual([
      "failed: assertion.key-id breaks (Variant A, section 2.2). " +
        "With two keys in the JWKS, an assertion whose kid " +
        "names the key that did not sign is refused. Expected: " +
        "The request is refused with 400 invalid_client. " +
        "Observed: 200 with an access token.",
    ]);
  });

  test("a case that was not tried is skipped with the reason, also if only the run shows it", async () => {
    const { secondKey: _, ...lent } = rig.target;
    const outcomes = await runTests(lent, { ...rig.options, ...onlyA, only });
    const skipped = [...outcomes].filter(([, outcome]) => outcome === "skipped");
    expect(skipped.map(([title]) => title)).toEqual([
      expect.stringMatching(/^token-response\.b: .* \(Variant B is not served/),
      expect.stringMatching(/^assertion\.key-id: .* \(It needs a second key/),
      expect.stringMatching(/^token-response\.code: .* \(Variant B is not served/),
    ]);
  });

  test("a case fails that moved since the baseline, or that has gone", async () => {
    const before = [...(await createRig().run({ only })).values()];
    const gone = { ...(before[0] as ContractResult), id: "token-response.old" };
    const { target, options } = createRig({ successStatus: 201 });
    const outcomes = await runTests(target, { ...options, only, baseline: [...before, gone] });
    const failed = [...outcomes.values()].filter((outcome) => outcome.startsWith("failed"));
    const moved = " moved since the baseline [^]*before  holds: 200 [^]*now     holds: 201 ";
    expect(failed).toEqual([
      expect.stringMatching(`^failed: token-response.a${moved}`),
      expect.stringMatching(`^failed: token-response.b${moved}`),
      expect.stringMatching(`^failed: token-response.code${moved}`),
      "failed: token-response.old is gone: no case has this id. Make a new baseline.",
    ]);
  });

  test("are not defined if the target or an option cannot be used, and neither is a run begun", async () => {
    const apiClient = { ...rig.target.apiClient, authorizationEndpoint: "authorize" };
    const secondKey = { privateKey: "no key" };
    const rows: [target: object, options: object, says: RegExp][] = [
      [{ baseUrl: "customer.example" }, {}, /^The target is not valid\. baseUrl/],
      [
        { apiClient },
        {},
        /apiClient.authorizationEndpoint: must be a URL, or a path under baseUrl/,
      ],
      [{ secondKey }, {}, /`secondKey.privateKey` of the target cannot be used/],
      [{}, { pace: 1 }, /^pace is not an option of a contract run\. Use paceMs\./],
    ];
    for (const [changed, options, says] of rows) {
      const target = { ...rig.target, ...changed } as ContractTarget;
      await expect(describeContract({ describe, test }, target, options)).rejects.toThrow(says);
    }
    const run = runContract(rig.target, { ...rig.options, pace: 1 } as ContractOptions);
    await expect(run.next()).rejects.toMatchObject({ code: "option_invalid", issues: ["pace"] });
  });
});
