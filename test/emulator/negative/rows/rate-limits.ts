// The rate limit of Variant A's token endpoint: per tenant, in a sliding window (section 8).
import type { EmulatorOptions, RuleId } from "../../../../src/emulator/index.js";
import { type Answer, adasToken, globexToken, serviceToken } from "../answer.js";
import type { Row } from "../row.js";
import { strangersKey, type World } from "../world.js";

const limited = (retryAfter: boolean | "date" = true): EmulatorOptions => ({
  rateLimit: { requests: 2, windowSeconds: 60, retryAfter },
});
function tooMany(retryAfter?: string): Answer {
  const headers = { "cache-control": "no-store", ...(retryAfter && { "retry-after": retryAfter }) };
  return { status: 429, headers, body: "" };
}

/** Two requests, ten seconds apart, take both slots of a minute; the next is sent at `at`, in seconds from the first. */
function third(
  name: string,
  at: number,
  { retryAfter, ...more }: Partial<Row> & { readonly retryAfter?: string } = {},
): Row {
  const rules: readonly RuleId[] = retryAfter === undefined ? [] : ["token-request.rate-limit"];
  return {
    name,
    rules,
    options: limited(),
    async request(world) {
      await take(world);
      world.wait(10);
      await take(world);
      world.wait(at - 10);
      return world.requestToken();
    },
    answer: retryAfter === undefined ? serviceToken : tooMany(retryAfter),
    ...more,
  };
}
const take = (world: World) => world.requestToken();

const windows: readonly Row[] = [
  third("one request more than the limit", 10, { retryAfter: "50" }),
  third("a second before the oldest leaves the window", 59, { retryAfter: "1" }),
  third("a millisecond before the oldest leaves the window", 59.999, { retryAfter: "1" }),
  third("in the instant in which the oldest leaves the window", 60),
  third("a second after the oldest left the window", 61),
  {
    ...third("at the turn of a minute, where a fixed window would begin anew", 0),
    rules: ["token-request.rate-limit"],
    shapedBy: ["rate-limit.sliding"],
    async request(world) {
      world.wait(50);
      await take(world);
      await take(world);
      world.wait(15);
      return world.requestToken();
    },
    answer: tooMany("45"),
  },
];

const counted: readonly Row[] = [
  {
    ...third("another plugin of the tenant", 10, { retryAfter: "60" }),
    async request(world) {
      await take(world);
      await take(world);
      return world.requestToken({ clientId: "archiver" });
    },
  },
  {
    ...third("another tenant", 10),
    shapedBy: ["rate-limit.tenant"],
    async request(world) {
      await take(world);
      await take(world);
      return world.requestToken({ tenantId: "globex" });
    },
    answer: globexToken,
  },
  {
    ...third("refused requests take slots too", 10, { retryAfter: "60" }),
    async request(world) {
      await world.requestToken({ key: strangersKey });
      await world.postForm("");
      return world.requestToken();
    },
  },
  {
    ...third("a 429 takes no slot", 10),
    async request(world) {
      await take(world);
      await take(world);
      for (let second = 0; second < 60; second += 10) {
        await world.requestToken();
        world.wait(10);
      }
      return world.requestToken();
    },
  },
];

const effects: readonly Row[] = [
  {
    ...third("a 429 spends no jti", 10),
    async request(world) {
      await take(world);
      await take(world);
      const form = world.form({ claims: { exp: world.now + 300 } });
      await world.postForm(form);
      world.wait(60);
      return world.postForm(form);
    },
  },
  {
    ...third("a 429 spends no code", 10),
    async request(world) {
      await take(world);
      await take(world);
      const code = world.launchedCode();
      await world.exchange(code);
      world.wait(60);
      return world.exchange(code);
    },
    answer: adasToken,
  },
  third("Retry-After as a date", 10, {
    retryAfter: "Thu, 01 Jan 2026 12:01:00 GMT",
    options: limited("date"),
  }),
  third("Retry-After that is absent", 10, { retryAfter: "", options: limited(false) }),
];

export const rateLimits: readonly Row[] = [...windows, ...counted, ...effects];
