// Enumeration of customers (OWASP ASVS 5, 6.3.8): strangers ask for tenants, and compare the
// answers.
import { expect, test, vi } from "vitest";
import type { DeploymentQuery } from "../../src/backend/index.js";
import { apiClient, userInterfacePlugin } from "../../src/index.js";
import {
  HOST,
  launching,
  loginCredential,
  OWN,
  type Rig,
  type RigOptions,
  rig,
  SERVICE,
} from "../backend/rig.js";
import { steppedClock } from "../support/clock.js";

const shownAs = async (answer: Response) => [
  answer.status,
  [...answer.headers],
  await answer.text(),
];

/** Tenants of all kinds. `acme` works. */
const world = (options: RigOptions = {}): Rig =>
  rig({
    deployments: [
      { ...launching(), login: loginCredential() },
      { ...launching(), tenantId: "launch-only" },
      {
        ...launching(),
        tenantId: "without",
        launch: userInterfacePlugin(() => undefined),
        login: apiClient(() => undefined),
      },
      {
        tenantId: "mistaken",
        baseUrl: SERVICE,
        hostOrigin: HOST,
        launch: userInterfacePlugin(() => ({ clientId: "", privateKey: "none" })),
        login: loginCredential({ redirectUri: "https://elsewhere.example/auth/callback" }),
      },
    ],
    ...options,
  });

let posted = 0;
const madeUp = (tenantId: string, hostOrigin = HOST) => {
  return { code: `made-up-${posted++}`, codeVerifier: "v".repeat(43), tenantId, hostOrigin };
};

test("a launch of an unknown tenant or host is answered like one whose code is refused", async () => {
  const { browser, reports } = world();
  const ask = async (tenantId: string, hostOrigin: string) =>
    shownAs(await browser.post("/auth/launch", madeUp(tenantId, hostOrigin)));
  const known = await ask("acme", HOST);
  expect(known[0]).toBe(401);
  const others = [
    ["unknown", HOST],
    ["acme", "https://unknown.example"],
    ["without", HOST],
    ["mistaken", HOST],
  ];
  for (const [tenantId = "", hostOrigin = ""] of others)
    expect(await ask(tenantId, hostOrigin), `${tenantId} ${hostOrigin}`).toEqual(known);
  const { error } = reports.find(({ error }) => String(error).includes("unknown.example")) ?? {};
  expect(error).toMatchObject({
    message: expect.stringContaining("add it to the option deployments"),
  });
});

/** How often a stranger asks for each name. */
const samples = 120;
/**
 * Two samples of this size from one distribution differ by more than this once in a million times.
 */
const mostDifference = Math.sqrt(Math.log(2 / 1e-6) / samples);

/**
 * The statistic of Kolmogorov and Smirnov: the largest difference between the distributions of two
 * samples.
 */
function difference(one: readonly number[], other: readonly number[]): number {
  const share = (of: readonly number[], at: number) =>
    of.filter((value) => value <= at).length / of.length;
  return Math.max(...[...one, ...other].map((at) => Math.abs(share(one, at) - share(other, at))));
}

/**
 * A backend whose deployments take their time on a clock that goes from one end of a wait to the
 * next.
 */
function timed({ isLookedUp = false } = {}) {
  const clock = steppedClock();
  const sleep = (ms: number) => clock.sleep(ms, new AbortController().signal);
  /** The time that each deployment takes to refuse a code. */
  const tookMs: Readonly<Record<string, () => number>> = {
    fast: () => 20 + 30 * clock.random(),
    slow: () => 700 + 1_500 * clock.random(),
    hung: () => 8_000,
  };
  const sign = () => new Uint8Array(256);
  const launch = userInterfacePlugin({ clientId: "planner", privateKey: { keyId: "key-1", sign } });
  const slowly =
    <T>(value: T) =>
    () =>
      sleep(200 * clock.random()).then(() => value);
  const list = [
    ...Object.keys(tookMs).map((tenantId) => ({ ...launching(), tenantId, launch })),
    { ...launching(), tenantId: "without", launch, login: apiClient(slowly(undefined)) },
  ];
  /** A database that finds some tenants sooner than others, and takes longest to find none. */
  const lookUp = async ({ tenantId }: DeploymentQuery) => {
    const at = list.findIndex((deployment) => deployment.tenantId === tenantId);
    await sleep(at < 0 ? 600 : 100 * at);
    return list[at];
  };
  const { browser } = rig({
    deployments: isLookedUp ? lookUp : list,
    clock,
    onError: () => {},
    timeoutMs: 20_000,
    clientKey: (request) => request.headers.get("x-client") ?? undefined,
    fetch: async (url) => {
      await sleep(tookMs[url.split("/")[5] ?? ""]?.() ?? 0);
      return Response.json({ error: "invalid_grant" }, { status: 400 });
    },
  });
  /**
   * Asks for each name many times. Returns the times of the answers, of which all have one status.
   */
  const measure = async (
    names: readonly string[],
    ask: (name: string) => Promise<Response>,
    status: number,
  ) => {
    const times = new Map(names.map((name) => [name, [] as number[]]));
    const asked = async (name: string) => {
      const startedAt = clock.now();
      expect((await ask(name)).status).toBe(status);
      times.get(name)?.push(clock.now() - startedAt);
    };
    const all = Array.from({ length: samples }, () => names.map(asked)).flat();
    await clock.through(Promise.all(all));
    return times;
  };
  return { browser, measure, sleep, through: clock.through };
}

test("the time of a refused launch says nothing of a tenant, fast or slow or unknown, whatever another one takes", async () => {
  const { browser, measure } = timed();
  const ask = (name: string) => browser.post("/auth/launch", madeUp(name));
  const times = await measure(["fast", "slow", "unknown", "hung"], ask, 401);
  const [fast = [], slow = [], unknown = [], hung = []] = times.values();
  for (const known of [fast, slow]) expect(difference(known, unknown)).toBeLessThan(mostDifference);
  expect(Math.min(...unknown)).toBeGreaterThanOrEqual(3_000);
  expect(Math.max(...unknown)).toBeLessThanOrEqual(3_300);
  // SECURITY.md says so: a deployment that takes longer to refuse a code shows itself, and no other
  // one.
  expect(difference(hung, unknown)).toBe(1);
});

test.each(["fast", "unknown"])(
  "what a client may ask after its launches of a tenant that is %s is the same",
  async (name) => {
    const { browser, sleep, through } = timed();
    const ask = async () => {
      const answer = await browser.post("/auth/launch", madeUp(name), { "x-client": "stranger" });
      return [answer.status, answer.headers.get("retry-after")];
    };
    const flood = Array.from({ length: 64 }, ask);
    // The deployment has refused all codes, and no refusal was answered.
    await through(sleep(1_000));
    expect(await through(ask())).toEqual([429, "1"]);
    expect((await through(Promise.all(flood))).map(([status]) => status)).toEqual(
      Array(64).fill(401),
    );
    expect(await through(ask())).toEqual([429, "135"]);
  },
);

test("the time of a refused login says nothing of a tenant, also when a function looks for its settings", async () => {
  const { browser, measure } = timed();
  const ask = (name: string) => browser.get(`/auth/login?tenant=${name}`);
  const times = await measure(["fast", "without", "unknown"], ask, 404);
  const [launchOnly = [], without = [], unknown = []] = times.values();
  for (const known of [launchOnly, without])
    expect(difference(known, unknown)).toBeLessThan(mostDifference);
});

test.each([
  { what: "a launch", route: "POST launch", status: 401, body: (name: string) => madeUp(name) },
  {
    what: "a launch whose code was sent before",
    route: "POST launch",
    status: 401,
    body: (name: string) => ({ ...madeUp(name), code: "spent" }),
  },
  { what: "a session", route: "POST session", status: 204, body: (tenant: string) => ({ tenant }) },
  { what: "a login", route: "GET login?tenant=", status: 404 },
  {
    what: "a login for a foreign page",
    route: "GET login?return_to=//evil.example&tenant=",
    status: 400,
  },
  { what: "a callback", route: "GET callback?code=x&state=", status: 400 },
  { what: "the person", route: "GET me?tenant=", status: 401 },
])(
  "the time in which $what is refused says nothing of a tenant that a database finds",
  async (row) => {
    const { browser, measure } = timed({ isLookedUp: true });
    const [method = "", route] = row.route.split(" ");
    const ask = (name: string) =>
      method === "GET"
        ? browser.get(`/auth/${route}${name}`)
        : browser.post(`/auth/${route}`, "body" in row ? row.body(name) : {});
    const times = await measure(["fast", "slow", "unknown"], ask, row.status);
    const [fast = [], slow = [], unknown = []] = times.values();
    for (const known of [fast, slow])
      expect(difference(known, unknown)).toBeLessThan(mostDifference);
  },
);

test("a body that a stranger sends late does not use up the delay of a refused launch", async () => {
  const { browser, measure, sleep } = timed();
  const ask = (name: string) => {
    const late = async (controller: ReadableStreamDefaultController) => {
      await sleep(2_990);
      controller.enqueue(new TextEncoder().encode(JSON.stringify(madeUp(name))));
      controller.close();
    };
    const headers = { "content-type": "application/json", origin: OWN };
    const init = { headers, body: new ReadableStream({ start: late }), duplex: "half" };
    return browser.send("POST", "/auth/launch", init as RequestInit);
  };
  const [fast = [], unknown = []] = (await measure(["fast", "unknown"], ask, 401)).values();
  expect(difference(fast, unknown)).toBeLessThan(mostDifference);
});

test("a login of an unknown tenant is answered like one of a known tenant that cannot begin, and onError receives the reason", async () => {
  const { browser, reports } = world();
  const ask = async (tenant: string) => shownAs(await browser.get(`/auth/login?tenant=${tenant}`));
  const unknown = await ask("unknown");
  expect(unknown[0]).toBe(404);
  for (const tenant of ["launch-only", "without", "mistaken", "..", "x".repeat(300)])
    expect(await ask(tenant), tenant).toEqual(unknown);
  const missing = "credential_missing";
  const codes = reports.map(({ error }) => (error as { code: string }).code);
  expect(codes).toEqual([missing, missing, missing, "option_invalid", missing, missing]);
  expect(String(reports[0]?.error)).toContain("the tenant unknown");
  expect((await browser.get("/auth/login?tenant=acme")).status).toBe(302);
});

test("without onError a mistake in the configuration is printed, and a flood of unknown tenants prints one line", async () => {
  const printed = vi.spyOn(console, "error").mockImplementation(() => {});
  const { another } = rig();
  const backend = another({ onError: undefined });
  for (let at = 0; at < 20; at++)
    await backend(new Request(`https://planner.example/auth/login?tenant=tenant-${at}`));
  expect(printed.mock.calls).toEqual([
    ["bivariant/backend, login:", expect.objectContaining({ code: "credential_missing" })],
  ]);
  printed.mockRestore();
});
