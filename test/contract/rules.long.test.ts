/**
 * An answer that is spoilt breaks the case about it. Rules that are off are those of
 * round-trip.long.test.ts.
 */
import { expect, test } from "vitest";
import { contractCases, type Launched, runContract } from "../../src/contract/index.js";
import { emulatorRules, type RuleId } from "../../src/emulator/index.js";
import { createRig } from "./rig.js";

/** Rules that no request of an integration can see. */
const unseen: readonly RuleId[] = [
  // The pages of the host application and of the login are not described.
  "launch.form",
  "launch.signed-in",
  "login.form",
  "login.pending",
  "login.credentials",
  // The description shows no parameter and no body that could be wrong.
  "request.parameters",
  "request.body",
];

/**
 * How a front spoils the answers of a rule without a switch. For all others it accepts the last
 * request of a case.
 */
const spoiling: Partial<Record<RuleId, (answer: Response, isLast: boolean) => Promise<Response>>> =
  {
    "token-request.opacity": async (answer, isLast) =>
      isLast
        ? Response.json({ ...(await answer.json()), trace: "bad signature" }, { status: 400 })
        : answer,
    "token-request.failure-status": async (answer, isLast) =>
      isLast ? Response.json(await answer.json(), { status: 401 }) : answer,
    "response.raw": async (answer, isLast) => (isLast ? new Response("three devices") : answer),
    async "response.forbidden-empty"(answer) {
      if (answer.status === 403)
        return Response.json({ error: "insufficient_scope" }, { status: 403 });
      return answer.status === 401 ? new Response(null, { status: 403 }) : answer;
    },
  };
/** A limit of another kind breaks these: see the tests of the token endpoint. */
const limits: readonly RuleId[] = ["rate-limit.tenant", "rate-limit.sliding"];

function accept(url: string): Response {
  if (url.endsWith("/token"))
    return Response.json({ access_token: "a made-up token", token_type: "Bearer" });
  if (url.includes("/authorize"))
    return new Response("<p>Log in", { headers: { "content-type": "text/html" } });
  return Response.json([{ id: "device-1" }]);
}

type Message = Parameters<Launched["initialise"]>;

const fixed = contractCases.filter(
  ({ rule }) =>
    rule !== undefined && emulatorRules[rule].off === undefined && !limits.includes(rule),
);

test.each(fixed)("a server that does not keep $rule breaks $id", async ({ id, rule }) => {
  const rig = createRig({ rateLimit: false });
  let count = 0;
  const counted = (url: string, init: RequestInit) => {
    count++;
    return rig.emulator.fetch(url, init);
  };
  // The id may begin others, whose requests come later.
  for await (const result of runContract(rig.target, {
    ...rig.options,
    only: [id],
    fetch: counted,
  }))
    if (result.id === id) break;
  const last = count;
  count = 0;
  const spoilt = createRig({ rateLimit: false });
  // The host hands out a code for every message.
  const lend = spoilt.target.launch as NonNullable<typeof spoilt.target.launch>;
  const launch = async (clientId: string) => {
    const { parameters, initialise } = await lend(clientId);
    const madeUp = { code: "a made-up code" };
    return {
      parameters,
      initialise: (...given: Message) => initialise(...given).catch(() => madeUp),
    };
  };
  const spoil = spoiling[rule as RuleId];
  const results = await spoilt.run(
    {
      only: [id],
      async fetch(url, init) {
        const answer = await spoilt.emulator.fetch(url, init);
        const isLast = ++count === last;
        return spoil?.(answer, isLast) ?? (isLast ? accept(url) : answer);
      },
    },
    rule?.startsWith("launch.") ? { launch } : {},
  );
  expect(results.get(id)?.result, results.get(id)?.observed).toBe("breaks");
});

test("every rule has a case, unless it cannot be seen", () => {
  const covered = new Set(contractCases.map(({ rule }) => rule));
  const without = (Object.keys(emulatorRules) as RuleId[]).filter((rule) => !covered.has(rule));
  expect(without.sort()).toEqual(unseen.toSorted());
});

test("a case costs no more requests than it says, when it is tried alone", {
  timeout: 60_000,
}, async () => {
  const { run } = createRig({ rateLimit: false });
  for (const { id, costs } of contractCases) {
    const result = (await run({ only: [id] })).get(id);
    // The question whether the variant is served comes before, and is not the case's own.
    expect.soft(result?.evidence.length, id).toBeLessThanOrEqual(Math.max(costs.requests, 1));
  }
});
