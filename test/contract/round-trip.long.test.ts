// From a deployment that is not described to typed code, a settings file and an emulator that is
// like it.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ContractResult,
  contractCases,
  type Learnt,
  learnFrom,
} from "../../src/contract/index.js";
import {
  createEmulator,
  type EmulatorOptions,
  emulatorRules,
  type RuleId,
} from "../../src/emulator/index.js";
import { generate } from "../../src/generate/index.js";
import { connect, serviceAccount, servicePlugin } from "../../src/index.js";
import { createRig, type Rig, refreshPath, roundTrip, runAll } from "./rig.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const front = { room: { floor: 1 }, tags: ["x"], seen: { "2026-01-02": 3 } };
/** What the description does not show of this deployment. */
const deployment: EmulatorOptions = {
  devices: [
    { id: "front", name: "Front door", battery: 80, ...front },
    { id: "back", name: "Back door", battery: null, room: { floor: 0.5 }, tags: [], seen: {} },
  ],
  successStatus: 201,
  bearerStatus: 403,
  revoShape: "flat",
  refreshPath,
  bearerBody: { problem: { code: "E7", hint: "Sign in." } },
  clientErrorBody: { fault: "refused", trace: 7 },
  tokenResponseExtras: { token_type: "Bearer", expires_in: 3600, session: { region: "eu" } },
};

/**
 * A program of a user, which the generated types must allow, and which must not compile where a
 * type is wrong.
 */
const program = `import type { Service } from "../../../src/index.js";
import type * as api from "./generated/operations.js";
import type { components } from "./generated/variant-b.js";

export async function read(service: Service<api.OperationTypes>) {
  const result = await service.call("listDevices");
  if (!result.ok) throw new Error("refused");
  return result.data.map(({ id, name, battery, room, tags, seen }) => {
    const level: number | null = battery;
    const days: { readonly [day: string]: number } = seen;
    return { text: id.toUpperCase() + name.trim(), level, floor: room.floor.toFixed(1), tags: tags.join(), days };
  });
}

export async function refusal(service: Service<api.OperationTypes>): Promise<string | undefined> {
  const result = await service.call("listDevices");
  if (service.variant !== "B" || result.variant !== "B" || result.status !== 403) return undefined;
  return result.error.body?.problem.code;
}

export const session = (token: components["schemas"]["TokenResponse"]): string | undefined => token.session?.region;
// @ts-expect-error a battery level may be null
export const low = (service: Service<api.OperationTypes>) => read(service).then(([one]) => one!.level < 10);
// @ts-expect-error nothing of that name was observed
export const owner = (token: components["schemas"]["TokenResponse"]) => token.owner;
`;

let folder: string;
let rig: Rig;
let results: readonly ContractResult[];
let learnt: Learnt;

beforeAll(async () => {
  // Below node_modules, so that `zod` resolves and no editor or type check reads it.
  const cache = join(root, "node_modules", ".cache");
  await mkdir(cache, { recursive: true });
  folder = await mkdtemp(join(cache, "round-trip-"));
  rig = createRig(deployment);
  results = await runAll(rig);
  learnt = learnFrom(results);
  await writeFile(join(folder, "learnt.yaml"), learnt.overlay);
  await generate({ overlays: [join(folder, "learnt.yaml")], out: join(folder, "generated") });
});

afterAll(async () => rm(folder, { recursive: true, force: true }));

test("one run learns what the description does not show", () => {
  expect(results.filter(({ result }) => result === "breaks")).toEqual([]);
  expect(learnt.conflicts).toEqual([]);
  expect(learnt.settings).toMatchObject({
    successStatus: 201,
    bearerStatus: 403,
    unauthorizedStatuses: [403],
    revoShape: "flat",
    refreshPath,
    bearerBody: { problem: { code: "string", hint: "string" } },
    clientErrorBody: { fault: "string", trace: 0 },
    tokenResponseExtras: { token_type: "Bearer", expires_in: 3600, session: { region: "string" } },
  });
  expect(learnt.answered).toEqual(
    expect.arrayContaining(["device-body", "variant-b-errors", "refresh-request"]),
  );
});

test("the types of the overlay compile with TypeScript 5.9, and the values of a live call have these types", async () => {
  const app = join(folder, "app.ts");
  await writeFile(app, program);
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(
    { ...config, include: [], files: [app] },
    ts.sys,
    root,
  );
  const found = ts.getPreEmitDiagnostics(
    ts.createProgram([app], { ...options, isolatedDeclarations: false }),
  );
  const messages = found.map(
    ({ file, messageText }) =>
      `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`,
  );
  expect(messages).toEqual([]);

  const api = await import(pathToFileURL(join(folder, "generated", "operations.ts")).href);
  const { read, refusal, session } = await import(pathToFileURL(app).href);
  const { baseUrl, tenantId, plugin, serviceAccount: account } = rig.target;
  const credentials = { A: servicePlugin(plugin as never), B: serviceAccount(account as never) };
  const open = (variant: "A" | "B", fetch: typeof rig.emulator.fetch) =>
    connect({
      ...learnt.settings,
      api,
      variant,
      baseUrl,
      tenantId: tenantId as string,
      credentials: [credentials[variant]],
      fetch,
      clock: rig.emulator.clock,
    } as never);
  for (const variant of ["A", "B"] as const)
    expect(await read(await open(variant, rig.emulator.fetch))).toEqual([
      { text: "FRONTFront door", level: 80, floor: "1.0", tags: "x", days: { "2026-01-02": 3 } },
      { text: "BACKBack door", level: null, floor: "0.5", tags: "", days: {} },
    ]);

  let token: Response | undefined;
  const withoutBearer = async (url: string | URL | Request, init?: RequestInit) => {
    const request = new Request(url, init);
    const isCall = new URL(request.url).pathname === "/v1/devices";
    if (isCall) request.headers.set("authorization", "Bearer none");
    const response = await rig.emulator.fetch(request);
    if (!isCall) token = response.clone();
    return response;
  };
  expect(await refusal(await open("B", withoutBearer))).toBe("E7");
  expect(session(await token?.json())).toBe("eu");
});

test("the schemas of the overlay accept what the deployment answers", async () => {
  const { schemas } = await import(pathToFileURL(join(folder, "generated", "schemas.ts")).href);
  for (const variant of ["A", "B"] as const) {
    const list = schemas[variant].components.DeviceList();
    expect(list.safeParse(deployment.devices).success).toBe(true);
  }
  const refusal = schemas.B.operations.requestToken.responses["401"]();
  expect(refusal.safeParse({ ...deployment.clientErrorBody }).success).toBe(true);
  expect(refusal.safeParse({ fault: 1 }).success).toBe(false);
});

test("an emulator with the learnt settings is that deployment: a run against it learns the same", async () => {
  expect(() => createEmulator(learnt.settings)).not.toThrow();
  const again = learnFrom(await runAll(createRig(learnt.settings)));
  expect(again.settings).toEqual(learnt.settings);
  expect(again.answered).toEqual(learnt.answered);
});

describe("a deployment that breaks rules makes an emulator that breaks the same ones", () => {
  const switched = (Object.keys(emulatorRules) as RuleId[]).filter(
    (rule) => emulatorRules[rule].off !== undefined,
  );
  const off = (broken: readonly RuleId[]) =>
    Object.fromEntries(broken.map((rule) => [rule, false]));
  const hasCase = (rule: RuleId, variant?: "A" | "B") =>
    contractCases.some((one) => one.rule === rule && one.variant === (variant ?? one.variant));

  const variants = ["A", "B"] as const;

  test.each(switched.filter((rule) => hasCase(rule)))(
    "without %s its cases break, no others, and in a second run too",
    async (rule) => {
      const [only, other] = variants.filter((variant) => hasCase(rule, variant));
      const { learnt, first, second } = await roundTrip([rule], other ? undefined : only);
      const broken = first.filter(({ result }) => result === "breaks").map(({ id }) => id);
      const own = contractCases.filter((one) => one.rule === rule).map(({ id }) => id);
      expect(broken.sort()).toEqual(own.sort());
      expect(learnt.settings.rules).toEqual(off([rule]));
      expect(learnt.conflicts).toEqual([]);
      expect(second).toEqual(first);
    },
  );

  test.each(variants)(
    "no case of Variant %s breaks while all rules are off that none of its cases is about",
    async (variant) => {
      const others = switched.filter((rule) => !hasCase(rule, variant));
      const { learnt, first, second } = await roundTrip(others, variant);
      expect(first.filter(({ result }) => result === "breaks")).toEqual([]);
      expect([learnt.settings.rules, learnt.conflicts]).toEqual([undefined, []]);
      expect(second).toEqual(first);
    },
  );

  // All pairs take twenty minutes (`PAIRS=all`). Rules of other groups see other requests, so
  // these pairs are left out, and of the others all but an eighth.
  const groupOf = (rule: RuleId) =>
    /^(?:api-client|client-code|refresh|bearer)\./.test(rule) ? "login" : rule.split(/[.-]/, 1)[0];
  const isOfGroup = ([one, other]: readonly [RuleId, RuleId]) => groupOf(one) === groupOf(other);
  const isAll = process.env.PAIRS === "all";
  // Pairs of which a second run once differed.
  const mended = {
    A: ["route.scope", "route.narrowed"],
    B: ["client-request.media-type", "client.authentication"],
  } as const;
  test.each(variants)(
    "without two of a group of Variant %s a second run has the same result for every case",
    async (variant) => {
      const seen = switched.filter((rule) => hasCase(rule, variant));
      const pairs = seen.flatMap((one, at) =>
        seen.slice(at + 1).map((other) => [one, other] as const),
      );
      const some = [...pairs.filter(isOfGroup).filter((_, at) => at % 8 === 0), mended[variant]];
      const tried = isAll ? pairs : some;
      expect(tried.length).toBeGreaterThan(12);
      for (const pair of tried) {
        const { learnt, first, second } = await roundTrip(pair, variant);
        expect.soft(learnt.conflicts, pair.join(" and ")).toEqual([]);
        expect.soft(second, pair.join(" and ")).toEqual(first);
      }
    },
    3_600_000,
  );
});
