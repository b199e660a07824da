// Every public function refuses an option that it does not know, and names the right one. The names
// are those of the types, so an option or a function that the table lacks is noticed.
import "../support/load-at-once.js";
import { fileURLToPath } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { createBackend, toNodeHandler } from "../../src/backend/index.js";
import {
  describeContract,
  htmlReport,
  junitReport,
  runContract,
} from "../../src/contract/index.js";
import { deploymentSettings } from "../../src/contract/learning/settings.js";
import { createEmulator, emulatorOptions } from "../../src/emulator/index.js";
import { checkGenerated, diffDocuments, diffVariants, generate } from "../../src/generate/index.js";
import {
  apiClient,
  beginLogin,
  completeLogin,
  connect,
  createAuth,
  createClientAssertion,
  createConnector,
  createService,
  detectVariant,
  memoryStore,
  redeemLaunch,
  resumeAuth,
  serviceAccount,
  servicePlugin,
  userInterfacePlugin,
} from "../../src/index.js";
import { telemetry } from "../../src/opentelemetry/index.js";
import { startSession } from "../../src/page/index.js";
import { openSession } from "../../src/page/session.js";
import { encryptedStore } from "../../src/stores/encrypted.js";
import { fileStore } from "../../src/stores/file.js";
import { redisStore } from "../../src/stores/redis.js";
import { testStore } from "../../src/stores/testing.js";
import { readCustomers, resultsPage, survey } from "../../src/survey/index.js";
import { createVariantAClient } from "../../src/variant-a.js";
import { createVariantBClient } from "../../src/variant-b.js";
import { scriptedService } from "../client/scripted-service.js";
import { read } from "../readme/pages.js";
import { rejectionOf } from "../support/wait.js";
import { findOptionPlaces } from "./option-places.js";

/** Calls a function with these options. What it throws, or rejects with, is looked at. */
type Use = (options: never) => unknown;

interface Row {
  readonly use: Use;
  /** What the function needs before it looks at its names, or so that it does no work. */
  readonly valid?: object;
  /** Default: ConfigurationError. */
  readonly error?: "EmulatorError" | "ContractError" | "GenerateError" | "PageError";
  /** Default: option_invalid. */
  readonly code?: string;
  /** Default: those of the type, which may have more than fit together. */
  readonly names?: string;
}

const baseUrl = "https://service.example";
const plugin = servicePlugin({ clientId: "reports", privateKey: "unused" });
const account = serviceAccount({ clientId: "reports", clientSecret: "unused" });
const [ofA, ofB] = [plugin, account].map((credential) =>
  createAuth({ baseUrl, tenantId: "acme", credential }),
) as [never, never];
const client = { call: async () => null };
const target = { baseUrl: "http://127.0.0.1:1" };
const emulator = createEmulator();
const ofEmulator = (use: Use, code = "option_invalid"): Row => {
  return { use, error: "EmulatorError", code };
};
type Registered = "Plugin" | "ServiceAccount" | "ApiClient" | "Operator";
const registrations = (what: Registered, one: string) => {
  const row = (use: Use) => ofEmulator(use, "registration_invalid");
  return {
    [`Emulator.register${what}(registration)`]: row(emulator[`register${what}`]),
    [`Emulator.update${what}(update)`]: row(emulator[`update${what}`]),
    [`Emulator.unregister${what}(${one})`]: row(emulator[`unregister${what}`]),
  };
};
const filters = <T>(name: string, log: T, methods: readonly (keyof T & string)[]) =>
  Object.fromEntries(
    methods.map((method) => {
      const use: Use = (filter) => (log[method] as Use)(filter);
      return [`${name}.${method}(filter)`, ofEmulator(use)];
    }),
  );
const runner = { describe: () => {}, test: Object.assign(() => {}, { skip: () => {} }) };

const ofContract = (use: Use, valid: object, code = "option_invalid"): Row => {
  return { use, valid, error: "ContractError", code };
};
const noCases = { only: [] };
const wrongTarget = "target_invalid";
const ofGenerate = (use: Use): Row => ({ use, error: "GenerateError" });
const { service, call, get } = scriptedService("A");

vi.stubGlobal("self", globalThis);

const initNames =
  "params body headers envelope maxRetries timeoutMs idempotent signal maxResponseBytes parseAs " +
  "querySerializer bodySerializer";

/** The parameters that take options, under the names that `findOptionPlaces` gives them. */
const rows: Readonly<Record<string, Row>> = {
  "apiClient(settings)": { use: apiClient },
  "serviceAccount(settings)": { use: serviceAccount },
  "servicePlugin(settings)": { use: servicePlugin },
  "userInterfacePlugin(settings)": { use: userInterfacePlugin },
  "createClientAssertion(options)": { use: createClientAssertion },
  "createAuth(options)": { use: createAuth },
  "Auth.getAccessToken(options)": {
    use: (options) => createAuth({ baseUrl, credential: account }).getAccessToken(options),
    valid: { signal: AbortSignal.abort("not needed") },
  },
  "connect(options)": { use: connect },
  "createConnector(options)": { use: createConnector },
  "Connector.connect(target)": {
    use: (wanted) => createConnector({ credentials: [account] }).connect(wanted),
  },
  "ServiceOf.call(init)": { use: (init) => call("listDevices", init), names: initNames },
  "ServiceOf.paths.GET(init)": {
    use: (init) => get("/api/v1/{tenantId}/devices", init),
    names: initNames,
  },
  "ServiceOf.fetch(init)": { use: (init) => service.fetch("v1/any", init) },
  "detectVariant(options)": { use: detectVariant },
  "beginLogin(options)": { use: beginLogin },
  "completeLogin(options)": { use: completeLogin },
  "redeemLaunch(options)": { use: redeemLaunch },
  "resumeAuth(options)": { use: resumeAuth },
  "createService(options)": { use: (options) => createService(ofA, options) },
  "createVariantAClient(options)": { use: (options) => createVariantAClient(ofA, options) },
  "createVariantBClient(options)": { use: (options) => createVariantBClient(ofB, options) },
  "memoryStore(options)": { use: memoryStore },
  "TokenStore.set(options)": { use: (options) => memoryStore().set("key", "value", options) },
  "TokenStore.lock(options)": {
    use: (options) => memoryStore().lock("key", async () => {}, options),
  },
  "fileStore(options)": { use: (options) => fileStore("never-made", options) },
  "redisStore(options)": { use: (options) => redisStore(client, options) },
  "startSession(options)": { use: startSession, error: "PageError" },
  "Session.logout(options)": {
    use: async (options) => {
      const fetch = async () => Response.json({});
      const backend = { url: new URL(baseUrl), timeoutMs: 1_000, fetch };
      const answer = Response.json({ variant: "A", tenantId: "acme", session: "s" });
      return (await openSession(backend, answer, undefined, undefined)).logout(options);
    },
    error: "PageError",
  },
  "createBackend(options)": { use: createBackend },
  "telemetry(options)": { use: telemetry },
  "toNodeHandler(options)": { use: (options) => toNodeHandler(() => Response.json({}), options) },
  "createEmulator(options)": ofEmulator(createEmulator),
  "Emulator.listen(options)": ofEmulator(async (options) =>
    (await createEmulator().listen(options)).close(),
  ),
  "Emulator.reset(changes)": ofEmulator(emulator.reset),
  ...registrations("Plugin", "plugin"),
  ...registrations("ServiceAccount", "account"),
  ...registrations("ApiClient", "client"),
  ...registrations("Operator", "operator"),
  "Emulator.launch(launch)": ofEmulator(emulator.launch),
  "Launch.authorize(init)": ofEmulator((init) => {
    const one = createEmulator();
    one.registerPlugin({ tenantId: "acme", clientId: "page", type: "user_interface" });
    one.registerOperator({ tenantId: "acme", userId: "ada" });
    return one.launch({ tenantId: "acme", clientId: "page", userId: "ada" }).authorize(init);
  }),
  "Emulator.login(login)": ofEmulator(emulator.login),
  "Emulator.testKey(plugin)": ofEmulator(emulator.testKey),
  "EmulatorClock.skipSleep(options)": {
    ...ofEmulator((options) => emulator.clock.skipSleep(options)),
    valid: { timeoutMs: 0 },
  },
  "EmulatorFaults.add(input)": {
    ...ofEmulator((fault) => emulator.faults.add(fault)),
    valid: { name: "status", status: 500 },
    names: "name count match probability seed at status body headers",
  },
  ...filters("CustomerLog", emulator.customerLog, ["entries", "last"]),
  ...filters("Journal", emulator.journal, [
    "entries",
    "tokenRequests",
    "apiCalls",
    "last",
    "count",
  ]),
  "Journal.waitFor(filter)": ofEmulator((filter) =>
    emulator.journal.waitFor(filter, { timeoutMs: 0 }),
  ),
  "Journal.waitFor(options)": {
    ...ofEmulator((options) => emulator.journal.waitFor({}, options)),
    valid: { timeoutMs: 0 },
  },
  "runContract(target)": ofContract((one) => runContract(one, noCases).next(), target, wrongTarget),
  "runContract(options)": ofContract((options) => runContract(target, options).next(), noCases),
  "describeContract(target)": ofContract(
    (one) => describeContract(runner, one, noCases),
    target,
    wrongTarget,
  ),
  "describeContract(options)": ofContract(
    (options) => describeContract(runner, target, options),
    noCases,
  ),
  "htmlReport(about)": ofContract((about) => htmlReport([], about), { startedAt: 0, seconds: 0 }),
  "junitReport(about)": ofContract((about) => junitReport([], about), { startedAt: 0, seconds: 0 }),
  "survey(options)": { use: (options) => survey([], options) },
  "readCustomers(options)": { use: (options) => readCustomers("baseUrl\n", options) },
  "resultsPage(about)": {
    use: (about) => resultsPage([], about),
    valid: { startedAt: 0, seconds: 0, gone: [] },
  },
  "generate(options)": ofGenerate(generate),
  "checkGenerated(options)": ofGenerate(checkGenerated),
  "diffDocuments(options)": ofGenerate((options) => diffDocuments("missing", "missing", options)),
  "diffVariants(documents)": ofGenerate(diffVariants),
  "diffVariants(options)": ofGenerate((options) =>
    diffVariants({ A: "missing" }, undefined, options),
  ),
};

const ofCall = (member: string, names: string): Row => {
  return { use: (one) => call("listDevices", { [member]: one }), names };
};

/** Options within options, and those whose type depends on the documents. */
const others: Readonly<Record<string, Row>> = {
  "params of call": ofCall("params", "path query header"),
  "querySerializer of call": ofCall("querySerializer", "array object allowReserved"),
  ...Object.fromEntries(
    ["array", "object"].map((style) => {
      const use: Use = (one) => call("listDevices", { querySerializer: { [style]: one } });
      return [`${style} of a querySerializer`, { use, names: "style explode" }];
    }),
  ),
  "settings from a function": {
    use: (settings) => {
      const credential = servicePlugin(() => settings);
      return createAuth({ baseUrl, tenantId: "acme", credential }).getAccessToken();
    },
    names: "clientId privateKey keyId audience",
  },
  "a key from a function": {
    use: (key) =>
      createClientAssertion({ clientId: "a", privateKey: () => key, audience: baseUrl }),
    valid: { privateKey: "no key" },
    names: "privateKey keyId",
  },
  "set of an encrypted store": {
    use: (options) => encryptedStore(memoryStore(), "ab".repeat(32)).set("key", "value", options),
    names: "ifVersion expiresAt signal",
  },
  "what makeStore returns": {
    use: async (made) => {
      const tests: (() => Promise<void>)[] = [];
      const runner = {
        describe: (_: string, define: () => void) => define(),
        test: (_: string, run: () => Promise<void>) => void tests.push(run),
      };
      testStore(runner, () => made);
      await tests[0]?.();
    },
    valid: { store: memoryStore() },
    names: "store second clock close",
  },
  "session of createBackend": {
    use: (session) => createBackend({ deployments: () => undefined, session }),
    names: "cookie lifetimeMs idleMs",
  },
  "a deployment of createBackend": {
    use: (deployment) => createBackend({ deployments: [deployment] }),
    names: "tenantId baseUrl hostOrigin launch login",
  },
  "parameters of startSession": {
    use: (parameters) => startSession({ hostOrigins: [], parameters }),
    error: "PageError",
    names: "opaqueCode state",
  },
  ...Object.fromEntries(
    Object.entries({
      rateLimit: "requests windowSeconds retryAfter",
      refreshTokens: "rotation reuseDetection lifetimeSeconds idleSeconds",
    }).map(([member, names]) => {
      const row = ofEmulator((one) => createEmulator({ [member]: one }));
      return [`${member} of createEmulator`, { ...row, names }];
    }),
  ),
  ...Object.fromEntries(
    Object.entries({
      plugin: "clientId privateKey keyId",
      secondKey: "privateKey keyId",
      serviceAccount: "clientId clientSecret",
      apiClient: "clientId clientSecret redirectUri authorizationEndpoint authorizationParameters",
      rateLimit: "requests windowSeconds",
    }).map(([member, names]) => {
      const use: Use = (one) => runContract({ ...target, [member]: one }, noCases).next();
      const row = ofContract(use, {}, wrongTarget);
      return [`${member} of a contract target`, { ...row, names }];
    }),
  ),
};

/** Parameters that are no options, and why their names are not checked. */
const exempt: Readonly<Record<string, string>> = {
  "CallSupport.refused(token)": "a token",
  "Auth.invalidate(token)": "a token",
  "InheritedOptions.onEvent(event)": "called by the package",
  "unwrap(outcome)": "an outcome",
  "createService(auth)": "an Auth, which may be one of the caller's own",
  "createVariantAClient(auth)": "an Auth, which may be one of the caller's own",
  "createVariantBClient(auth)": "an Auth, which may be one of the caller's own",
  "validator(schemas)": "a module",
  "validator()(answer)": "called by the package",
  "Session.fetch(init)":
    "passed on to the browser's fetch, and browsers differ in the members they know",
  "Backend.connect(request)": "a request",
  "Backend.session(request)": "a request",
  "toNodeHandler()(incoming)": "a request",
  "toNodeHandler()(outgoing)": "a response",
  "toWebRequest(request)": "a request",
  "encryptedStore(store)": "a store",
  "encryptedStore(key)": "a key",
  "redisStore(client)": "a client of another package",
  "testStore(__0)": "the module of a test runner",
  "describeContract(runner)": "the module of a test runner",
  "Emulator.fetch(init)": "stands in for the global fetch, which ignores what it does not know",
  "InheritedOptions.fetch(init)": "called by the package",
  "InheritedOptions.intercept(request)": "called by the package",
  "telemetry().intercept(request)": "called by the package",
  "ApiRoute.respond(call)": "called by the package",
  "plannedRequests(customer)": "a customer, whose names survey checks",
  "Comparison.changesOf(result)": "a result",
};

const unknownName = /is not an option of|Unrecognized key|is none of/;

async function outcomeOf(
  { use, valid }: Pick<Row, "use" | "valid">,
  options: object,
): Promise<Record<string, unknown>> {
  const whole = Object.assign(options, valid);
  return Object(await rejectionOf((async () => use(whole as never))()).catch(() => undefined));
}

/** With two letters swapped, as fingers do. A short name loses its last letter. */
function misspelt(name: string): string {
  const at = [...name].findIndex((letter, index) => index > 0 && name[index + 1] !== letter);
  const [one = "", other = ""] = name.slice(at, at + 2);
  return name.length > 3
    ? `${name.slice(0, at)}${other}${one}${name.slice(at + 2)}`
    : name.slice(0, -1);
}

/** The methods of all path clients are one function. */
const isOfPaths = /^(?:ServiceOf\.paths\.(?!GET)|createVariant[AB]Client\(\)\.)[A-Z]+\(init\)$/;
const places = new Map(
  findOptionPlaces(fileURLToPath(new URL("../..", import.meta.url)))
    .filter(({ place }) => !isOfPaths.test(place))
    .map(({ place, names }) => [place, names]),
);

test("the table has every parameter of a public function that takes an object", () => {
  expect([...Object.keys(rows), ...Object.keys(exempt)].sort()).toEqual([...places.keys()].sort());
});

const all = Object.entries({ ...rows, ...others }).map(([place, row]) => ({
  place,
  ...row,
  names: row.names?.split(" ") ?? places.get(place) ?? [],
}));

describe.each(all)("$place", (row) => {
  const { names, error = "ConfigurationError", code = "option_invalid", valid = {} } = row;
  const refused = { name: error, code, message: expect.stringMatching(unknownName) };

  test("takes every name of its type", async () => {
    const given = Object.fromEntries(names.map((name) => [name, undefined]));
    expect((await outcomeOf(row, given)).message ?? "").not.toMatch(unknownName);
  });

  test("refuses a misspelt name, and says which was meant", async () => {
    for (const name of names) {
      const wrong = misspelt(name);
      if (wrong === "" || names.includes(wrong)) continue;
      const outcome = await outcomeOf(row, { [wrong]: undefined });
      expect(outcome, wrong).toMatchObject(refused);
      const meant = error === "PageError" ? name : new RegExp(`[Uu]se ${name}[.)]`);
      expect(outcome.message).toEqual(
        typeof meant === "string" ? expect.stringContaining(meant) : expect.stringMatching(meant),
      );
    }
  });

  test("refuses names of Object.prototype, and shows no name that may be a secret", async () => {
    for (const name of ["__proto__", "constructor", "toString", "valueOf"])
      expect(await outcomeOf(row, JSON.parse(`{"${name}": {}}`)), name).toMatchObject(refused);
    const { message } = await outcomeOf(row, { "clientSecret:hunter2": undefined });
    expect(message).toMatch(unknownName);
    // The names of a page's options are in its own bundle.
    if (error !== "PageError") expect(message).not.toContain("hunter2");
  });

  test("looks at own names only, and ignores symbols", async () => {
    class Options {
      #own = 0;
      bogus(): number {
        return this.#own;
      }
      get other(): number {
        return this.#own;
      }
    }
    const given = Object.assign(new Options(), valid, { [Symbol("bogus")]: 1 });
    expect((await outcomeOf(row, given)).message ?? "").not.toMatch(unknownName);
  });
});

describe("the error", () => {
  const credentials = [account];
  const backend = (options: object) => createBackend({ deployments: () => undefined, ...options });
  const connecting = (options: object) =>
    createConnector({ credentials }).connect({ baseUrl, tenantId: "acme", ...options });
  const signing = { clientId: "a", privateKey: "b" };

  test.each<[says: string, use: () => unknown]>([
    [
      "clientkey is not an option of createBackend. Use clientKey.",
      () => backend({ clientkey: 1 }),
    ],
    ["stores is not an option of createBackend. Use store.", () => backend({ stores: 1 })],
    [
      "kid is not an option of servicePlugin. Use keyId.",
      () => servicePlugin({ ...signing, kid: "c" } as never),
    ],
    [
      "logger is not an option of detectVariant. It takes fetch, ",
      () => detectVariant({ baseUrl, tenantId: "acme", logger: console } as never),
    ],
    [
      "baseUrl is not an option of createConnector. Pass it to the method connect.",
      () => createConnector({ credentials, baseUrl } as never),
    ],
    [
      "credentials is not an option of connector.connect. Pass it to createConnector.",
      () => connecting({ credentials }),
    ],
    [
      "variant is not an option of connector.connect. Pass it to createConnector.",
      () => connecting({ variant: "B" }),
    ],
    [
      "query is not an option of call. Pass it in params.",
      () => call("listDevices", { query: {} }),
    ],
    [
      "method is not an option of call. The operation has its own.",
      () => call("listDevices", { method: "POST" }),
    ],
  ])("says %s", async (says, use) => {
    const error = await rejectionOf((async () => use())());
    expect(String(error)).toContain(says);
  });

  test("names a rule of the emulator that is like the given one", () => {
    expect(() => createEmulator({ rules: { "assertion.reply": false } } as never)).toThrow(
      '"assertion.reply" is not a rule; use assertion.replay',
    );
  });

  test("names an unknown member of an object that has another form too", () => {
    const rateLimit = { requests: 1, windowSeconds: 1, max: 1 } as never;
    expect(() => createEmulator({ rateLimit })).toThrow('rateLimit: Unrecognized key: "max"');
  });
});

test("names that an object inherits are ignored", () => {
  const inherited = Object.create({ bogus: 1 });
  expect(() => memoryStore(Object.assign(inherited, { mostEntries: 1 }))).not.toThrow();
});

const settings = Object.keys((deploymentSettings as unknown as { shape: object }).shape);

test.each<{ name: string; use: Use; valid: object }>([
  { name: "createConnector", use: createConnector, valid: { credentials: [account] } },
  { name: "createService", use: (options) => createService(ofA, options), valid: {} },
  { name: "createVariantBClient", use: (options) => createVariantBClient(ofB, options), valid: {} },
  { name: "apiClient", use: apiClient, valid: { clientId: "a", authorizationEndpoint: "/a" } },
  { name: "createBackend", use: createBackend, valid: { deployments: () => undefined } },
  { name: "createEmulator", use: createEmulator, valid: {} },
])("$name takes every name of a settings file", async ({ use, valid }) => {
  expect(settings).toContain("unauthorizedStatuses");
  const given = Object.fromEntries(settings.map((name) => [name, undefined]));
  await expect((async () => use({ ...given, ...valid } as never))()).resolves.toBeDefined();
});

test("a call and service.fetch pass members on that only a runtime's fetch knows", async () => {
  const members = { cf: { cacheTtl: 5 }, dispatcher: {}, cache: "no-store" };
  const { service, call, fetch } = scriptedService("A");
  await call("listDevices", { ...members, params: {} });
  const post = { ...members, method: "POST", duplex: "half" };
  await service.fetch("v1/any", { ...post, body: "a" } as RequestInit);
  const [called, fetched] = fetch.calls.map(({ init }) => init as Record<string, unknown>);
  expect(called).toMatchObject(members);
  expect(called).not.toHaveProperty("params");
  expect(fetched).toMatchObject(post);
});

/** For each page the words of the column "Where", and the parameters that they stand for. */
const tables: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  "src/client/options.md": {
    target: ["connect(options)", "Connector.connect(target)"],
    connect: ["connect(options)", "createConnector(options)"],
    auth: ["createAuth(options)"],
    service: ["createService(options)"],
    variant: ["createVariantAClient(options)", "createVariantBClient(options)"],
    call: ["ServiceOf.call(init)"],
    detect: ["detectVariant(options)"],
    people: ["redeemLaunch", "beginLogin", "completeLogin", "resumeAuth"].map(
      (name) => `${name}(options)`,
    ),
    plugin: [
      "servicePlugin(settings)",
      "userInterfacePlugin(settings)",
      "createClientAssertion(options)",
    ],
    account: ["serviceAccount(settings)"],
    client: ["apiClient(settings)"],
  },
  "src/stores/README.md": {
    memoryStore: ["memoryStore(options)"],
    fileStore: ["fileStore(options)"],
    redisStore: ["redisStore(options)"],
  },
  "src/emulator/options.md": {
    emulator: ["createEmulator(options)", "Emulator.reset(changes)"],
    listen: ["Emulator.listen(options)"],
    plugin: ["Emulator.registerPlugin(registration)", "Emulator.updatePlugin(update)"],
    account: [
      "Emulator.registerServiceAccount(registration)",
      "Emulator.updateServiceAccount(update)",
    ],
    client: ["Emulator.registerApiClient(registration)", "Emulator.updateApiClient(update)"],
    operator: ["Emulator.registerOperator(registration)", "Emulator.updateOperator(update)"],
    launch: ["Emulator.launch(launch)"],
    authorize: ["Launch.authorize(init)"],
    login: ["Emulator.login(login)"],
    fault: ["EmulatorFaults.add(input)"],
    journal: ["Journal.entries(filter)"],
    log: ["CustomerLog.entries(filter)"],
  },
  "src/contract/README.md": {
    run: ["runContract(options)"],
    describe: ["describeContract(options)"],
    report: ["htmlReport(about)", "junitReport(about)"],
  },
  "src/survey/README.md": {
    survey: ["survey(options)"],
    readCustomers: ["readCustomers(options)"],
    resultsPage: ["resultsPage(about)"],
  },
  "src/generate/README.md": {
    generate: ["generate(options)"],
    checkGenerated: ["checkGenerated(options)"],
    diffDocuments: ["diffDocuments(options)"],
    diffVariants: ["diffVariants(options)"],
    documents: ["diffVariants(documents)"],
  },
};

describe.each(Object.entries(tables))("the table of options in %s", (page, whereOf) => {
  const functionOf = (place: string) => place.replace(/^\w+\.|\(\w+\)$/g, "");
  const all = Object.values(whereOf).flat();
  /** A word, or else the name of a function. */
  const placesOf = (where: string) =>
    whereOf[where] ?? all.filter((place) => functionOf(place) === where);

  test("names every option, and where it may be set", () => {
    const listed = [...read(page).matchAll(/^\| `(\w+)` \|[^|]*\|[^|]*\| ([^|]*) \|$/gm)].flatMap(
      ([, name = "", where = ""]) =>
        where
          .replaceAll("`", "")
          .split(", ")
          .filter((one) => one !== "backend")
          .flatMap((one) => placesOf(one).map((place) => `${place} ${name}`)),
    );
    const typed = all.flatMap((place) => {
      const names = place === "ServiceOf.call(init)" ? initNames.split(" ") : places.get(place);
      if (names === undefined) throw new Error(`there is no ${place}`);
      return names.map((name) => `${place} ${name}`);
    });
    expect([...new Set(listed)].sort()).toEqual([...new Set(typed)].sort());
  });

  test("says which functions are meant", () => {
    const text = read(page);
    expect(all.filter((place) => !new RegExp(`\\b${functionOf(place)}\\b`).test(text))).toEqual([]);
  });
});

test("the table of the emulator has the defaults of emulatorOptions", () => {
  const text = read("src/emulator/options.md");
  const plain = Object.entries(emulatorOptions).filter(([, { default: usual }]) =>
    ["number", "boolean", "string"].includes(typeof usual),
  );
  expect(plain.length).toBeGreaterThan(15);
  const inWords = ["publicUrl", "pluginTokenRefusedStatus", "refreshPath"];
  const wrong = plain.filter(([id, { default: usual }]) => {
    const shown = typeof usual === "number" ? usual : `\`${JSON.stringify(usual)}\``;
    return !id.includes(".") && !inWords.includes(id) && !text.includes(`\n| \`${id}\` | ${shown}`);
  });
  expect(wrong).toEqual([]);
});

test("each option of a backend is in the table of its page, or is one that the table of the client says it takes", () => {
  const [ofBackends, ofClients] = ["src/backend/options.md", "src/client/options.md"].map(read);
  const missing = (places.get("createBackend(options)") ?? []).filter(
    (name) =>
      !ofBackends?.includes(`\n| \`${name}`) &&
      !new RegExp(`^\\| \`${name}\` \\|.*\\bbackend\\b.*\\|$`, "m").test(ofClients ?? ""),
  );
  expect(missing).toEqual([]);
});
