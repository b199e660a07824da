/**
 * The rate limit of Variant A's token endpoint (section 8): whether it is kept, and its numbers.
 */
import {
  accepts,
  breaks,
  type CaseDefinition,
  defineCases,
  holds,
  learnt,
  type Verdict,
  verdict,
} from "../case.js";
import { NotTried } from "../errors.js";
import { type Answer, retryAfterMs } from "../exchange.js";
import { formType, type Kit } from "../kit.js";

/** Takes a slot, needs no credential, and may be answered 429. */
function ask(kit: Kit, tenantId?: string) {
  return kit.send({
    note: "a request that takes a slot of the rate limit",
    url: kit.tokenUrlOfA(tenantId),
    headers: { "content-type": formType },
    body: "grant_type=bivariant-contract",
    fields: ["grant_type"],
    limited: true,
  });
}

interface Burst {
  readonly admitted: number;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** The first 429. */
  readonly refused?: Answer;
}

async function askUntilRefused(kit: Kit, most: number) {
  let startedAt = 0;
  for (let admitted = 0; admitted < most; admitted++) {
    const answer = await ask(kit);
    if (admitted === 0) startedAt = answer.receivedAt;
    if (answer.status === 429) return { admitted, startedAt, refused: answer };
  }
  return { admitted: most, startedAt };
}

/** A larger limit would cost a live tenant too much. */
const mostOfKnownLimit = 100;

/**
 * Judges the known limit. The window is empty before and after, so that no other case meets the
 * limit.
 */
async function judgeLimit(
  kit: Kit,
  judge: (requests: number, windowSeconds: number) => Promise<Verdict>,
) {
  const { requests, windowSeconds } = kit.need("rateLimit");
  if (requests > mostOfKnownLimit)
    throw new NotTried(`It is tried with a limit of at most ${mostOfKnownLimit} requests.`);
  await kit.wait(windowSeconds + 1);
  return judge(requests, windowSeconds).finally(() => kit.wait(windowSeconds + 1));
}

/** @throws NotTried if the limit is met early or not at all, so that the case cannot be judged */
function requireMet({ admitted, refused }: Burst, requests: number): void {
  if (refused === undefined)
    throw new NotTried(`The limit was not met after ${admitted} requests.`);
  if (admitted >= requests) return;
  throw new NotTried(
    `429 came after ${admitted} requests, so the window was not empty or the limit is another.`,
  );
}

interface RateLimit {
  readonly requests: number;
  readonly windowSeconds: number;
  readonly retryAfter: "seconds" | "date" | false;
}

const mostRequests = 300;
const mostRounds = 5;
/** Without Retry-After a request per second shows when a slot frees. */
const mostPolls = 120;

/** Meets the limit once, if it is met. The numbers are right if the window was empty before. */
async function measure(kit: Kit, most: number): Promise<RateLimit | undefined> {
  const { admitted: requests, startedAt, refused } = await askUntilRefused(kit, most);
  if (refused === undefined) return undefined;
  const waitMs = retryAfterMs(refused.headers, refused.receivedAt + kit.clockOffsetMs);
  if (waitMs !== undefined) {
    // Retry-After is rounded up to a second, hence the floor; 50 ms are for the way of the answers.
    const windowSeconds = Math.floor((refused.receivedAt - startedAt + waitMs + 50) / 1000);
    const isDate = Number.isNaN(Number(refused.headers.get("retry-after")));
    return { requests, windowSeconds, retryAfter: isDate ? "date" : "seconds" };
  }
  for (let poll = 0; poll < mostPolls; poll++) {
    await kit.wait(1);
    const { status, receivedAt } = await ask(kit);
    if (status !== 429)
      return {
        requests,
        windowSeconds: Math.round((receivedAt - startedAt) / 1000),
        retryAfter: false,
      };
  }
  throw new NotTried(
    `429 came after ${requests} requests, and no slot was free ${mostPolls} s later.`,
  );
}

/**
 * Earlier requests may occupy slots for an unknown time, so the numbers count once they were the
 * same twice.
 */
async function learnLimit(kit: Kit) {
  const most = Math.min(mostRequests, kit.exchanges.left);
  const sentBefore = kit.exchanges.all.length;
  let latest: RateLimit | undefined;
  let quietSeconds = kit.target.rateLimit?.windowSeconds ?? 60;
  for (let round = 0; round < mostRounds; round++) {
    // Half a second, so that a date that was rounded up by almost a second is so in one of two
    // measurements only.
    await kit.wait(quietSeconds + 1.5);
    const found = await measure(kit, most - (kit.exchanges.all.length - sentBefore));
    if (found === undefined) break;
    const { requests, windowSeconds: seconds } = found;
    const longest = Math.max(seconds, latest?.windowSeconds ?? 0);
    const windowSeconds = Math.min(seconds, latest?.windowSeconds ?? 0);
    if (requests > 0 && requests === latest?.requests && longest - windowSeconds <= 1) {
      await kit.wait(longest + 1);
      const rateLimit = { ...found, windowSeconds };
      return learnt(`429 came after ${requests} requests in ${windowSeconds} s, twice.`, {
        rateLimit,
      });
    }
    quietSeconds = latest === undefined ? seconds : 2 * longest;
    latest = found;
  }
  throw new NotTried(
    latest === undefined
      ? `No 429 came within ${most} requests.`
      : "429 came, but not twice after as many requests and in as many seconds, within " +
          `${most} requests.`,
  );
}

const knownLimits = defineCases(
  "A",
  {
    needs: ["tenantId", "rateLimit"],
    costs: { requests: 2 * mostOfKnownLimit + 3, slots: mostOfKnownLimit + 1, seconds: 183 },
    safe: false,
  },
  {
    "token-request.rate-limit": {
      says: "After as many token requests as the limit allows, the next one is answered 429.",
      expected: "429 after exactly as many requests.",
      run: (kit) =>
        judgeLimit(kit, async (requests) => {
          const burst = await askUntilRefused(kit, requests + 1);
          if (burst.refused === undefined)
            return accepts(`${burst.admitted} requests were admitted.`);
          requireMet(burst, requests);
          return holds(`429 after ${requests} requests.`);
        }),
    },
    "rate-limit.tenant": {
      needs: ["secondTenantId"],
      says: "While one tenant's limit is met, a token request of another tenant is not answered 429.",
      expected: "Another answer than 429.",
      run: (kit) =>
        judgeLimit(kit, async (requests) => {
          requireMet(await askUntilRefused(kit, requests + 1), requests);
          const { status } = await ask(kit, kit.need("secondTenantId"));
          return verdict(status !== 429, `The other tenant gets ${status}.`);
        }),
    },
    "rate-limit.sliding": {
      says:
        "When the window's length has passed since the first of several requests, one slot is " +
        "free, and only one.",
      expected: "One request is admitted, and the next is answered 429.",
      run: (kit) =>
        judgeLimit(kit, async (requests, windowSeconds) => {
          await ask(kit);
          await kit.wait(windowSeconds / 2);
          const burst = await askUntilRefused(kit, 2 * requests);
          requireMet(burst, requests - 1);
          if (burst.admitted >= requests)
            return breaks(`${burst.admitted + 1} requests were admitted within the window.`);
          await kit.wait(windowSeconds / 2 + 1);
          const { admitted } = await askUntilRefused(kit, 2);
          // A server may count refused requests too: the description is silent about these.
          if (admitted === 0) throw new NotTried("No slot was free when the window had passed.");
          return verdict(admitted === 1, `${admitted === 1 ? "One slot was" : "More were"} free.`);
        }),
    },
  },
);

const facts = defineCases(
  "A",
  { needs: ["tenantId"] },
  {
    "rate-limit-numbers": {
      says: "Token requests are sent until 429 comes, and after a pause again.",
      costs: { requests: mostRequests, slots: mostRequests, seconds: 180 },
      safe: false,
      run: learnLimit,
    },
    "failure-status": {
      says: "The rate limit is answered 429, although every failure is said to be 400.",
      expected: "The description leaves the body open, and contradicts itself in the status.",
      async run(kit) {
        const limited = kit.exchanges.all.findLast(
          ({ status, url }) => status === 429 && url.includes("/external-plugin/"),
        );
        if (limited === undefined)
          throw new NotTried("No 429 came. Name rate-limit-numbers to meet one.");
        const retryAfter = limited.headers.includes("retry-after") ? "with" : "without";
        const body = limited.body === "empty" ? "an empty body" : "a body";
        return learnt(`429 with ${body}, ${retryAfter} Retry-After.`);
      },
    },
  },
);

export const rateLimitCases: readonly CaseDefinition[] = [...knownLimits, ...facts];
