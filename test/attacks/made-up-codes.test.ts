// Made-up launch codes (OWASP ASVS 5, 2.4.1, anti-automation): each costs a signature and a
// request.
import { sign } from "node:crypto";
import { expect, test, vi } from "vitest";
import { apiClient, userInterfacePlugin } from "../../src/index.js";
import {
  CALLBACK,
  interrupted,
  launching,
  OWN,
  type Rig,
  type RigOptions,
  rig,
} from "../backend/rig.js";
import { TestBrowser } from "../backend/test-browser.js";
import { latch } from "../people/person.js";
import { steppedClock } from "../support/clock.js";
import { pkcs8, rsaKey } from "../support/keys.js";

const clientKey = (request: Request) => request.headers.get("x-client") ?? undefined;

/** Posts a launch as the named client: of a person, or with a code that is made up. */
const poster = ({ browser, launchBody }: Rig) => {
  let posted = 0;
  return (client: string, isHonest = false, more = {}) => {
    const made = isHonest ? {} : { code: `made-up-${posted++}` };
    return browser.post(
      "/auth/launch",
      { ...launchBody(), ...made, ...more },
      { "x-client": client },
    );
  };
};

test("a client with 20 refused codes is answered 429 until one is forgiven, and no other client of that deployment is", async () => {
  // Its waits end at once, and no time passes between the requests.
  const clock = steppedClock();
  const parts = rig({ clientKey, clock: { ...clock, sleep: async () => {} } });
  const post = poster(parts);
  for (let refused = 0; refused < 20; refused++) expect((await post("stranger")).status).toBe(401);
  const sent = parts.tokenRequests();
  const closed = await post("stranger");
  expect([closed.status, await closed.json()]).toEqual([
    429,
    expect.objectContaining({ error: "rate_limited" }),
  ]);
  expect(parts.tokenRequests()).toBe(sent);
  expect((await post("ada", true)).status).toBe(200);
  clock.advance(Number(closed.headers.get("retry-after")) * 1_000);
  expect((await post("stranger", true)).status).toBe(200);
});

test.each([7, Promise.resolve("a")])(
  "a clientKey that returns %o is reported to onError",
  async (returned) => {
    const parts = rig({ clientKey: () => returned as never });
    expect((await poster(parts)("ada", true)).status).toBe(500);
    expect(parts.reports.at(-1)?.error).toMatchObject({
      code: "option_invalid",
      option: "clientKey",
    });
  },
);

test("launches that succeed, and those that fail because the service is down, never count", async () => {
  let isDown = false;
  const parts: Rig = rig({
    clientKey,
    fetch: (url, init) =>
      isDown ? Promise.reject(new TypeError("down")) : parts.emulator.fetch(url, init),
  });
  const post = poster(parts);
  for (let launches = 0; launches < 25; launches++)
    expect((await post("office", true)).status).toBe(200);
  isDown = true;
  for (let launches = 0; launches < 25; launches++)
    expect((await post("office")).status).not.toBe(429);
  isDown = false;
  expect((await post("office", true)).status).toBe(200);
});

test.each<{ most: number; of: string; options: RigOptions }>([
  { most: 256, of: "a deployment", options: {} },
  { most: 64, of: "one client", options: { clientKey } },
])(
  "$most exchanges of $of run at a time, and further ones are answered 429",
  async ({ most, options }) => {
    const answer = latch();
    const parts: Rig = rig({
      ...options,
      fetch: async (url, init) => {
        await answer.promise;
        return parts.emulator.fetch(url, init);
      },
    });
    const post = poster(parts);
    const flood = Array.from({ length: most + 4 }, () => post("stranger"));
    const turnedAway = await Promise.race(flood);
    expect([turnedAway.status, turnedAway.headers.get("retry-after")]).toEqual([429, "1"]);
    const other = post("ada", true);
    answer.release();
    const statuses = (await Promise.all(flood)).map(({ status }) => status);
    expect([401, 429].map((one) => statuses.filter((status) => status === one).length)).toEqual([
      most,
      4,
    ]);
    expect((await other).status).toBe(options.clientKey ? 200 : 429);
    expect((await post("ada", true)).status).toBe(200);
  },
);

const pem = pkcs8(rsaKey());
/** A deployment whose key signs after `before`. */
const bySigner = (before: () => Promise<unknown>) => {
  const signature = (bytes: Uint8Array) => sign("sha256", bytes, rsaKey().privateKey);
  const signer = {
    keyId: "key-1",
    sign: (bytes: Uint8Array) => before().then(() => signature(bytes)),
  };
  const launch = userInterfacePlugin({ clientId: "planner", privateKey: signer });
  return [{ ...launching(), launch }];
};
/** A deployment whose settings are found after `before`. */
const bySettings = (before: () => Promise<unknown>) => {
  const settings = () => before().then(() => ({ clientId: "planner", privateKey: pem }));
  return [{ ...launching(), launch: userInterfacePlugin(settings) }];
};

/** A backend with a function that hangs between `hang` and `release`. */
function hanging(options: (before: () => Promise<void>) => RigOptions) {
  let hangs = false;
  let calls = 0;
  const never = new Promise<void>(() => {});
  const before = () => (hangs && ++calls ? never : Promise.resolve());
  // No time limit comes while the others begin.
  const parts = rig({ ...options(before), clock: steppedClock() });
  /** Begins exchanges, as many at once as may be, and waits until all of them hang. */
  const hang = async (count: number, begin: () => unknown) => {
    hangs = true;
    while (calls < count) {
      const reached = Math.min(calls + 250, count);
      for (let begun = calls; begun < reached; begun++) begin();
      await vi.waitFor(() => expect(calls).toBe(reached), 60_000);
    }
  };
  const release = () => {
    hangs = false;
  };
  return { parts, post: poster(parts), hang, release };
}

test.each<{
  name: string;
  options: (before: () => Promise<void>) => RigOptions;
  isHonest?: boolean;
}>([
  {
    name: "a function that returns a deployment",
    options: (before) => ({ deployments: () => before().then(launching) }),
  },
  {
    name: "a function that returns a signature",
    options: (before) => ({ deployments: bySigner(before) }),
  },
  {
    name: "a store that is asked for a mark",
    options: (before) => ({
      wrapStore: interrupted((_, key) => key.startsWith('["code"') && before()),
    }),
  },
  {
    name: "a store that is written a session",
    isHonest: true,
    options: (before) => ({
      wrapStore: interrupted((_, key) => key.startsWith("bivariant:backend:session:") && before()),
    }),
  },
])("launches that hang in $name keep no others from launching", async ({ options, isHonest }) => {
  const { hang, post, release } = hanging(options);
  await hang(257, () => post("stranger", isHonest));
  release();
  expect((await post("ada", true)).status).toBe(200);
});

test("logins that hang in a store keep no others from logging in", async () => {
  const login = apiClient({
    clientId: "portal",
    redirectUri: CALLBACK,
    authorizationEndpoint: "/v1/auth/authorize",
  });
  const { parts, hang, release } = hanging((before) => ({
    deployments: [{ ...launching(), login }],
    wrapStore: interrupted((_, key) => key.startsWith('["code"') && before()),
  }));
  const begin = async () => {
    const browser = new TestBrowser(parts.backend, OWN);
    const url = (await browser.get("/auth/login")).headers.get("location") ?? "";
    const { callbackUrl } = parts.emulator.login({ url, userId: "ada" });
    return () => browser.get(callbackUrl);
  };
  const comeBacks: (() => Promise<Response>)[] = [];
  while (comeBacks.length < 258) comeBacks.push(await begin());
  await hang(257, () => comeBacks.pop()?.());
  release();
  expect((await comeBacks.pop()?.())?.headers.get("location")).not.toContain("login_error");
});

test("1024 launches of a deployment wait for a function of yours, and further ones are answered 429", async () => {
  const { hang, post } = hanging((before) => ({ deployments: bySettings(before) }));
  await hang(1_024, () => post("stranger"));
  expect((await post("ada", true)).status).toBe(429);
});

test("marks of codes that were sent are gone after eleven minutes, and codes that were not sent leave none", async () => {
  const written = new Map<string, number | undefined>();
  let isDown = true;
  const parts: Rig = rig({
    fetch: (url, init) => {
      const cause = { code: "ECONNREFUSED" };
      return isDown
        ? Promise.reject(Object.assign(new TypeError("down"), { cause }))
        : parts.emulator.fetch(url, init);
    },
    wrapStore: (inner) => ({
      ...inner,
      set: (key, value, given) =>
        inner.set(key, value, given).finally(() => written.set(key, given?.expiresAt)),
      delete: (key) => inner.delete(key).finally(() => written.delete(key)),
    }),
  });
  const post = poster(parts);
  expect((await post("stranger")).status).toBe(503);
  expect([...written]).toEqual([]);
  isDown = false;
  expect((await post("stranger")).status).toBe(401);
  expect([...written.values()]).toEqual([parts.clock.now() + 660_000]);
});
