// The authorization codes of Variant A and their verifiers (sections 3 and 4.1).
import type { RuleId } from "../../../../src/emulator/index.js";
import { newPkce, s256 } from "../../pkce.js";
import { adasToken, invalidGrant, serviceToken } from "../answer.js";
import type { Row } from "../row.js";
import { type ChangedA, strangersKey, type World } from "../world.js";

/** A fresh code, exchanged as the row has it. */
function row(
  name: string,
  rules: readonly RuleId[],
  request: Row["request"],
  answer = rules.length === 0 ? adasToken : invalidGrant,
): Row {
  return { name, rules, request, answer };
}

function again(
  name: string,
  first: ChangedA | undefined,
  seconds = 0,
  rules: readonly RuleId[] = ["code.unspent"],
): Row {
  return row(name, rules, async (world) => {
    const code = world.launchedCode();
    await world.exchange(code, first);
    world.wait(seconds);
    return world.exchange(code);
  });
}

const spent: readonly Row[] = [
  row("a code, exchanged at once", [], (world) => world.exchange(world.launchedCode())),
  again("OC codereuse: a code again", undefined),
  again("F2 attempt-reuse-authorization-code-after-one-second", undefined, 1),
  again("OC codereuse-30seconds", undefined, 30),
  again("a spent code after its lifetime", undefined, 121, ["code.unspent", "code.lifetime"]),
  again("the right verifier after a wrong one", { form: { code_verifier: newPkce().codeVerifier } }),
  again("the right verifier after none", { form: { code_verifier: undefined } }),
  again("a code after an attempt whose assertion was refused", { key: strangersKey }),
  again("a code after an attempt without an assertion", { form: { client_assertion: undefined } }),
  again("a code after an attempt for another plugin", { clientId: "viewer" }),
  {
    ...again(
      "the option lets a code outlive an attempt whose assertion was refused",
      { key: strangersKey },
      0,
      [],
    ),
    options: { unauthenticatedAttemptSpendsCode: false },
  },
  {
    ...again("with that option too an authenticated attempt spends the code", {
      form: { code_verifier: undefined },
    }),
    options: { unauthenticatedAttemptSpendsCode: false },
  },
  again("a request by another grant is no attempt", { form: { grant_type: "refresh_token" } }, 0, []),
];

function aged(name: string, seconds: number, rules: readonly RuleId[]): Row {
  return row(name, rules, (world) => {
    const code = world.launchedCode();
    world.wait(seconds);
    return world.exchange(code);
  });
}
const lifetimes: readonly Row[] = [
  aged("a code of 1:59", 119, []),
  aged("a code of two minutes, the last instant of its life", 120, []),
  aged("a code of two minutes and a millisecond", 120.001, ["code.lifetime"]),
  aged("F2 ensure-token-endpoint-fails-with-expired-auth-code: 2:01", 121, ["code.lifetime"]),
];

const bindings: readonly Row[] = [
  row("F2 ensure-authorization-code-is-bound-to-client: a code of another plugin", ["code.plugin"], (world) =>
    world.exchange(world.launchedCode({ clientId: "viewer" })),
  ),
  row("a code of another tenant", ["code.tenant"], (world) =>
    world.exchange(world.launchedCode({ tenantId: "globex", userId: "grace" })),
  ),
  row("a code that nobody handed out", ["code.known"], (world) =>
    world.exchange({ code: "SplxlOBeZQQYbYS6WxSbIA", ...newPkce() }),
  ),
  row("code that is absent", ["code.known"], (world) => world.exchange({ code: "", ...newPkce() })),
  row(
    "a code beside client_credentials is ignored, and its plugin is not asked",
    [],
    (world) => world.requestToken({ form: { code: world.launchedCode().code } }),
    serviceToken,
  ),
];

function verifying(name: string, verifierFor: (right: string) => string | undefined, right?: string): Row {
  return row(name, ["code.verifier"], (world: World) => {
    const pkce = newPkce(right);
    const launch = world.emulator.launch({ tenantId: "acme", clientId: "planner", userId: "ada" });
    const { code } = launch.authorize(pkce);
    return world.exchange({ code, ...pkce }, { form: { code_verifier: verifierFor(pkce.codeVerifier) } });
  });
}
const verifiers: readonly Row[] = [
  verifying("F2 incorrect-pkce-code-verifier-rejected", () => newPkce().codeVerifier),
  verifying("F2 ensure-pkce-code-verifier-required", () => undefined),
  verifying("7636 4.1: the challenge itself as verifier", s256),
  verifying("7636 4.1: the right verifier, of 42 characters", (right) => right, "v".repeat(42)),
  verifying("7636 4.1: the right verifier, of 129 characters", (right) => right, "v".repeat(129)),
  verifying(
    "7636 4.1: the right verifier, with a character that is not unreserved",
    (right) => right,
    `${"v".repeat(43)}+`,
  ),
  {
    ...verifying("7636 4.1: a verifier of 43 characters", (right) => right, "v".repeat(43)),
    rules: [],
    answer: adasToken,
  },
  {
    ...verifying("7636 4.1: a verifier of 128 characters", (right) => right, "v".repeat(128)),
    rules: [],
    answer: adasToken,
  },
  {
    name: "9700 4.8.2: a verifier, though no challenge was sent at launch",
    rules: ["code.verifier"],
    options: { rules: { "launch.challenge": false } },
    request(world) {
      const launch = world.emulator.launch({ tenantId: "acme", clientId: "planner", userId: "ada" });
      const { code } = launch.authorize({} as { codeChallenge: string });
      return world.exchange({ code, ...newPkce() });
    },
    answer: invalidGrant,
  },
];

export const codesA: readonly Row[] = [...spent, ...lifetimes, ...bindings, ...verifiers];
