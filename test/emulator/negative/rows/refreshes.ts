// The refresh tokens of Variant B (section 5.9; RFC 6749 section 6, RFC 9700 section 4.14.2).
import type { EmulatorOptions, RuleId } from "../../../../src/emulator/index.js";
import { accountToken, devices, invalidToken, personTokens, refusedB } from "../answer.js";
import type { Row } from "../row.js";
import type { World } from "../world.js";

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

function row(
  name: string,
  rules: readonly RuleId[],
  request: (world: World, tokens: Tokens) => Promise<Response>,
  more: Partial<Row> & { scope?: string; options?: EmulatorOptions } = {},
): Row {
  const { scope, ...rest } = more;
  return {
    name,
    rules,
    request: async (world) => request(world, await world.personTokens({ scope })),
    answer: rules[0] === undefined ? personTokens : refusedB(rules[0]),
    ...rest,
  };
}
function aged(
  name: string,
  seconds: number,
  rules: readonly RuleId[],
  refreshTokens: EmulatorOptions["refreshTokens"],
): Row {
  const options = { refreshTokens };
  return row(
    name,
    rules,
    (world, tokens) => {
      world.wait(seconds);
      return world.refresh(tokens.refresh_token);
    },
    { options },
  );
}
/** The newest tokens of a login of which an older refresh token was used again. */
async function stolen(world: World, { refresh_token }: Tokens): Promise<Tokens> {
  const newest = (await (await world.refresh(refresh_token)).json()) as Tokens;
  await world.refresh(refresh_token);
  return newest;
}

const uses: readonly Row[] = [
  row("F2 refresh-token: a refresh", [], (world, tokens) => world.refresh(tokens.refresh_token)),
  row("a refresh with the new refresh token", [], async (world, tokens) => {
    const next = (await (await world.refresh(tokens.refresh_token)).json()) as Tokens;
    return world.refresh(next.refresh_token);
  }),
  row("9700 4.14.2: a rotated refresh token again", ["refresh.reuse"], async (world, tokens) => {
    await world.refresh(tokens.refresh_token);
    return world.refresh(tokens.refresh_token);
  }),
  row(
    "9700 4.14.2: the newest refresh token, after a reuse of an older one",
    ["refresh.revoked"],
    async (world, tokens) => world.refresh((await stolen(world, tokens)).refresh_token),
  ),
  row(
    "9700 4.14.2: the newest access token, after a reuse of an older refresh token",
    ["bearer.revoked"],
    async (world, tokens) => world.call((await stolen(world, tokens)).access_token, "/v1/devices"),
    { answer: invalidToken },
  ),
  row(
    "the option lets a reuse harm nobody else",
    [],
    async (world, tokens) => world.call((await stolen(world, tokens)).access_token, "/v1/devices"),
    { answer: devices, options: { refreshTokens: { reuseDetection: false } } },
  ),
  row(
    "the option keeps the refresh token, and the answer has no new one",
    [],
    async (world, tokens) => {
      await world.refresh(tokens.refresh_token);
      return world.refresh(tokens.refresh_token);
    },
    { answer: accountToken, options: { refreshTokens: { rotation: false } } },
  ),
  row("a refresh token that nobody issued", ["refresh.known"], (world) => world.refresh("x".repeat(43))),
  row("an access token as refresh token", ["refresh.known"], (world, tokens) =>
    world.refresh(tokens.access_token),
  ),
  row("OC refresh-token: a refresh by another client", ["refresh.client"], (world, tokens) =>
    world.refresh(tokens.refresh_token, { client_id: "kiosk" }),
  ),
  row(
    "F2 refresh-token: a refresh by a confidential client without its secret",
    ["api-client.authentication"],
    async (world) => {
      const code = world.loginCode({ client_id: "vault" });
      const vault = { client_id: "vault", client_secret: "vault's secret" };
      const tokens = (await (await world.exchangeLogin(code, vault)).json()) as Tokens;
      return world.refresh(tokens.refresh_token, { client_id: "vault" });
    },
  ),
];

const reach: readonly Row[] = [
  row("6749 6: a scope that was granted", [], (world, tokens) =>
    world.refresh(tokens.refresh_token, { scope: "devices:read" }),
  ),
  row(
    "6749 6: a scope that was not granted",
    ["refresh.scope"],
    (world, tokens) => world.refresh(tokens.refresh_token, { scope: "devices:read devices:write" }),
    { scope: "devices:read" },
  ),
  row("6749 3.3: a scope in another form", ["refresh.scope"], (world, tokens) =>
    world.refresh(tokens.refresh_token, { scope: "total garbage" }),
  ),
];

const lifetimes: readonly Row[] = [
  aged("a login a second before its end", 99, [], { lifetimeSeconds: 100 }),
  aged("a login at its end", 100, ["refresh.lifetime"], { lifetimeSeconds: 100 }),
  aged("9700 4.14.2: a refresh token a second before it has been idle for too long", 49, [], {
    idleSeconds: 50,
  }),
  aged("9700 4.14.2: a refresh token that has been idle for too long", 50, ["refresh.idle"], {
    idleSeconds: 50,
  }),
];

export const refreshes: readonly Row[] = [...uses, ...reach, ...lifetimes];
