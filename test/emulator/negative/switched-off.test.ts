// What holds while rules are off: nothing breaks, what is left of the rules still counts, and switches are live.
import { describe, expect, test } from "vitest";
import { type ApiCall, type RuleId, rules } from "../../../src/emulator/index.js";
import { play } from "./play.js";
import { rows, topics } from "./rows.js";
import { type ChangedA, World } from "./world.js";

const everything = Object.keys(rules) as RuleId[];

async function inWorld(off: readonly RuleId[], use: (world: World) => Promise<void>): Promise<void> {
  const world = await World.open({ rules: Object.fromEntries(off.map((rule) => [rule, false])) });
  try {
    await use(world);
  } finally {
    await world.close();
  }
}

describe.each(Object.entries(topics))("with every rule off, no request breaks the server: %s", (_, table) => {
  test("each is answered below 500", async () => {
    const played = table.map(async (row) => ({ row, ...(await play(row, { off: everything })) }));
    for (const { row, answer } of await Promise.all(played)) {
      expect(answer.status, row.name).toBeLessThan(500);
    }
  });
});

describe("a jti counts as far as the rules that are on let it", () => {
  const twice: { name: string; off: RuleId[]; claims: ChangedA["claims"]; second: number }[] = [
    {
      name: "without jti there is no replay",
      off: ["assertion.id"],
      claims: { jti: undefined },
      second: 200,
    },
    { name: "nor with a jti that is a number", off: ["assertion.id"], claims: { jti: 1 }, second: 200 },
    {
      name: "without iat a replay is refused until exp cannot be accepted",
      off: ["assertion.issued-at"],
      claims: { iat: undefined },
      second: 400,
    },
    {
      name: "with an iat of 1970 too",
      off: ["assertion.issued-at", "assertion.lifetime"],
      claims: { iat: 1 },
      second: 400,
    },
    {
      name: "without iat and exp for a day",
      off: ["assertion.issued-at", "assertion.expiry"],
      claims: { iat: undefined, exp: undefined },
      second: 400,
    },
  ];
  for (const { name, off, claims, second } of twice) {
    test(name, () =>
      inWorld(off, async (world) => {
        const form = world.form({ claims: { jti: "one", ...claims } });
        expect((await world.postForm(form)).status).toBe(200);
        world.wait(1);
        expect((await world.postForm(form)).status).toBe(second);
      }),
    );
  }
});

test("a rule that is switched off and on again counts from the next request on", () =>
  inWorld([], async (world) => {
    const status = async () => (await world.requestToken({ claims: { aud: "x" } })).status;
    expect(await status()).toBe(400);
    world.emulator.rules.enforce("assertion.audience", false);
    expect(await status()).toBe(200);
    world.emulator.rules.enforce("assertion.audience", true);
    expect(await status()).toBe(400);
  }));

test("whoever calls without a token reaches the route as nobody", async () => {
  const seen: unknown[] = [];
  const respond = ({ tenantId, clientId, userId }: ApiCall): void => {
    seen.push({ tenantId, clientId, userId });
  };
  const routes = ["/api/v1/{tenantId}/whoami", "/v1/whoami"].map(
    (path) => ({ operationId: "whoAmI", method: "GET", path, respond }) as const,
  );
  const world = await World.open({ routes, rules: { "bearer.present": false, "bearer.tenant": false } });
  expect((await world.send("/api/v1/acme/whoami")).status).toBe(204);
  expect((await world.send("/v1/whoami")).status).toBe(204);
  expect((await world.call(await world.pluginToken(), "/api/v1/globex/whoami")).status).toBe(204);
  await world.close();
  expect(seen).toEqual([
    { tenantId: "acme", clientId: "", userId: undefined },
    { tenantId: "", clientId: "", userId: undefined },
    { tenantId: "globex", clientId: "reporter", userId: undefined },
  ]);
});

test("the table names every rule", () => {
  const named = new Set(rows.flatMap((row) => [...row.rules, ...(row.shapedBy ?? [])]));
  expect(everything.filter((rule) => !named.has(rule))).toEqual([]);
});
