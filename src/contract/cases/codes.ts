/** Launches and authorization codes of Variant A (sections 2.4, 3, 4.1, 5.3 and 6). */
import {
  breaks,
  type CaseDefinition,
  type ContractCase,
  defineCases,
  holds,
  learnt,
  type Verdict,
} from "../case.js";
import { NotTried } from "../errors.js";
import type { Answer } from "../exchange.js";
import { type Kit, type PluginRequest, shownAnswer } from "../kit.js";
import type { LaunchCode, Launched, Need, PkceInit } from "../target.js";
import { expectedAnswer, refusedByA } from "./judge.js";

/** A request that lacks a field or cannot be read: see the unknown malformed-request-error. */
const malformed = ["invalid_grant", "invalid_request"];

/** 256 random bits in 43 characters: a verifier (RFC 7636 section 4.1), or a code or token that nobody issued. */
export function madeUp(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
}

async function challengeOf(verifier: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  return Buffer.from(digest).toString("base64url");
}

/** @throws NotTried */
async function launch(kit: Kit, clientId = kit.need("pagePlugin").clientId): Promise<Launched> {
  const launched = await launchOrNot(kit, clientId);
  if (launched === undefined) throw new NotTried("The host refused to launch the plugin.");
  return launched;
}

async function launchOrNot(kit: Kit, clientId: string): Promise<Launched | undefined> {
  return kit
    .need("launch")(clientId)
    .then(
      (launched) => kept(kit, launched),
      () => undefined,
    );
}

function kept(kit: Kit, launched: Launched): Launched {
  for (const name of ["opaque_code", "state"]) kit.keepSecret(launched.parameters[name]);
  return launched;
}

/** Posts plugin:pkce-init. Undefined if the host refuses it. */
async function initialise(kit: Kit, launched: Launched, init: PkceInit): Promise<LaunchCode | undefined> {
  const sent = await launched.initialise(init).catch(() => undefined);
  for (const secret of [sent?.code, sent?.state]) kit.keepSecret(secret);
  return sent;
}

interface Code {
  readonly code: string;
  readonly verifier: string | undefined;
}

/** The code of a launch that nothing is wrong with. @throws NotTried */
export async function codeOf(
  kit: Kit,
  launched: Launched,
  verifier: string = madeUp(),
): Promise<Code & { readonly sent: LaunchCode }> {
  kit.keepSecret(verifier);
  const codeChallenge = await challengeOf(verifier);
  const sent = await initialise(kit, kept(kit, launched), { codeChallenge });
  if (sent === undefined) throw new NotTried("The host refused to authorise a launch.");
  return { code: sent.code, verifier, sent };
}

/** Exchanges a code by the user-interface plugin, unless another is given (section 4.1). */
export function exchange(
  kit: Kit,
  note: string,
  { code, verifier }: Code,
  more: Partial<PluginRequest> = {},
): Promise<Answer> {
  const fields = { grant_type: "authorization_code", code, code_verifier: verifier };
  return kit.requestTokenOfA({ note, plugin: kit.need("pagePlugin"), ...more, fields });
}

interface Control {
  readonly launched: Launched;
  readonly code: Code & { readonly sent: LaunchCode };
  readonly answer: Answer;
  /** The device list for the operator who launched. */
  readonly list: Answer;
}

/** A launch as the description shows it, up to a call. It is the control of every case here. @throws NotTried */
export function control(kit: Kit): Promise<Control> {
  return kit.share("control launch", async () => {
    const launched = await launch(kit);
    const code = await codeOf(kit, launched);
    const answer = await exchange(kit, "a right exchange of a code", code, { isRegular: true });
    const token = answer.accessToken;
    if (token === undefined) throw new NotTried(`A right exchange was refused (${shownAnswer(answer)}).`);
    const note = "the device list for the operator who launched";
    const list = await kit.call({ note, variant: "A", token, observe: "listDevices" });
    return { launched, code, answer, list };
  });
}

/** What the control and a case itself cost, in launches and requests. */
const costs = (codes: number, requests: number, seconds = 0): Partial<ContractCase["costs"]> => ({
  codes: codes + 1,
  requests: requests + 2,
  slots: requests + 1,
  seconds,
});
const needs: readonly Need[] = ["tenantId", "pagePlugin", "launch"];
const hostRefuses = "The host does not hand out a code.";

function refusedByHost(sent: LaunchCode | undefined): Verdict {
  return sent === undefined ? holds("The host refused.") : breaks("The host handed out a code.");
}

const launchCases = defineCases("A", {
  "launch-parameters": {
    unknown: "launch-parameters",
    section: "2.4",
    says: "The launch parameters include opaque_code; their names are listed.",
    expected: "opaque_code, and others that the description does not show.",
    needs,
    costs: costs(0, 0),
    async run(kit) {
      const { parameters } = (await control(kit)).launched;
      const names = Object.keys(parameters)
        .sort()
        .map((name) => name.slice(0, 40));
      const observed = `The launch parameters are ${names.join(", ") || "none"}.`;
      return names.includes("opaque_code") ? learnt(observed) : breaks(observed);
    },
  },
  "state-origin": {
    unknown: "state-origin",
    section: "6",
    says: "The state of host:auth-code is compared with the launch parameters.",
    expected: "A launch parameter that has the same value: the description does not show which.",
    needs,
    costs: costs(0, 0),
    async run(kit) {
      const { launched, code } = await control(kit);
      const { parameters } = launched;
      const { state } = code.sent;
      if (state === undefined) return learnt("host:auth-code has no state.");
      const origin = ["state", "opaque_code", ...Object.keys(parameters)].find(
        (name) => parameters[name] === state,
      );
      if (origin === undefined) return learnt("The state equals no launch parameter.");
      const launchState = { state: "launch-parameter", opaque_code: "opaque_code" } as const;
      const known = origin === "state" || origin === "opaque_code";
      const observed = `The state equals the launch parameter ${origin.slice(0, 40)}.`;
      return learnt(observed, known ? { launchState: launchState[origin] } : undefined);
    },
  },
  "launch.plugin": {
    rule: "launch.plugin",
    section: "1, 5.3",
    says: "A service plugin cannot be launched.",
    expected: hostRefuses,
    needs: [...needs, "plugin"],
    costs: costs(1, 0),
    async run(kit) {
      await control(kit);
      const launched = await launchOrNot(kit, kit.need("plugin").clientId);
      const codeChallenge = await challengeOf(madeUp());
      return refusedByHost(launched && (await initialise(kit, launched, { codeChallenge })));
    },
  },
  "launch.known": {
    rule: "launch.known",
    section: "2.4, 5.3",
    says: "An opaque_code that is made up is not authorised.",
    expected: hostRefuses,
    needs,
    costs: costs(1, 0),
    async run(kit) {
      await control(kit);
      const init = { codeChallenge: await challengeOf(madeUp()), opaqueCode: madeUp() };
      return refusedByHost(await initialise(kit, await launch(kit), init));
    },
  },
  "launch.unused": {
    rule: "launch.unused",
    section: "not shown (2.4: opaque_code identifies this launch)",
    says: "A launch that was authorised is not authorised again.",
    expected: hostRefuses,
    needs,
    costs: costs(0, 0),
    async run(kit) {
      const { launched } = await control(kit);
      return refusedByHost(await initialise(kit, launched, { codeChallenge: await challengeOf(madeUp()) }));
    },
  },
  "launch.challenge": {
    rule: "launch.challenge",
    section: "5.3 (RFC 7636 section 4.2)",
    says: "A launch is not authorised for a challenge of 42 characters, which no S256 challenge has.",
    expected: hostRefuses,
    needs,
    costs: costs(1, 0),
    async run(kit) {
      await control(kit);
      const codeChallenge = (await challengeOf(madeUp())).slice(1);
      return refusedByHost(await initialise(kit, await launch(kit), { codeChallenge }));
    },
  },
  "launch.lifetime": {
    rule: "launch.lifetime",
    section: "not shown (RFC 6749 section 4.1.2 recommends ten minutes for a code)",
    says: "A launch is not authorised 11 minutes after its start. The limit of ten minutes is an assumption.",
    expected: hostRefuses,
    needs,
    costs: costs(1, 0, 660),
    async run(kit) {
      await control(kit);
      const launched = await launch(kit);
      await kit.wait(660);
      return refusedByHost(await initialise(kit, launched, { codeChallenge: await challengeOf(madeUp()) }));
    },
  },
});

/** Seconds after host:auth-code at which codes are exchanged: ten before and after the two minutes (section 3). */
const youngAge = 110;
const oldAge = 130;

/** Two codes of one age, one exchanged before the two minutes have passed and one after. */
function agedCodes(kit: Kit): Promise<{ readonly young: Answer; readonly old: Answer }> {
  return kit.share("aged codes", async () => {
    const launches = [await launch(kit), await launch(kit)] as const;
    const codes = [await codeOf(kit, launches[0]), await codeOf(kit, launches[1])] as const;
    const since = kit.now();
    await kit.wait(youngAge);
    const young = await exchange(kit, `a code ${youngAge} s old`, codes[0]);
    if (kit.now() - since > youngAge + 5) throw new NotTried("The exchange of a young code came too late.");
    await kit.wait(oldAge - youngAge);
    return { young, old: await exchange(kit, `a code ${oldAge} s old`, codes[1]) };
  });
}

/** An exchange with another verifier, and then one with the right verifier of the same code. */
function wrongVerifier(kit: Kit): Promise<readonly [wrong: Answer, right: Answer]> {
  return kit.share("wrong verifier", async () => {
    await control(kit);
    const code = await codeOf(kit, await launch(kit));
    const other = { ...code, verifier: madeUp() };
    const answer = await exchange(kit, "a code with the verifier of another launch", other);
    return [answer, await exchange(kit, "the same code with the right verifier", code)];
  });
}

const exchangeCases = defineCases("A", {
  "code.known": {
    rule: "code.known",
    section: "4.1, 7.1",
    says: "A code that is made up is refused.",
    expected: expectedAnswer("code.known"),
    needs,
    costs: costs(0, 1),
    async run(kit) {
      await control(kit);
      const answer = await exchange(kit, "a code that is made up", { code: madeUp(), verifier: madeUp() });
      return refusedByA(answer, "code.known");
    },
  },
  "code.tenant": {
    rule: "code.tenant",
    section: "4.1, 7.1",
    says: "A code is refused at the token endpoint of another tenant.",
    expected: expectedAnswer("code.tenant"),
    needs: [...needs, "secondTenantId", "secondTenantPlugin"],
    costs: costs(1, 1),
    async run(kit) {
      await control(kit);
      const elsewhere = { plugin: kit.need("secondTenantPlugin"), tenantId: kit.need("secondTenantId") };
      const code = await codeOf(kit, await launch(kit));
      const answer = await exchange(kit, "a code at another tenant's endpoint", code, elsewhere);
      if (answer.fields?.error === "invalid_client")
        throw new NotTried("The credential of the other tenant's plugin was refused (400 invalid_client).");
      return refusedByA(answer, "code.tenant");
    },
  },
  "code.plugin": {
    rule: "code.plugin",
    section: "4.1, 7.1 (RFC 6749 section 5.2)",
    says: "A code that was handed out to another plugin is refused.",
    expected: expectedAnswer("code.plugin"),
    needs: [...needs, "otherPagePlugin"],
    costs: costs(1, 1),
    async run(kit) {
      await control(kit);
      const code = await codeOf(kit, await launch(kit, kit.need("otherPagePlugin").clientId));
      return refusedByA(await exchange(kit, "a code of another plugin", code), "code.plugin");
    },
  },
  "code.unspent": {
    rule: "code.unspent",
    section: "3, 7.1",
    says: "A code that was exchanged is refused the second time.",
    expected: expectedAnswer("code.unspent"),
    needs,
    costs: costs(0, 1),
    async run(kit) {
      const { code } = await control(kit);
      return refusedByA(await exchange(kit, "a code once more", code), "code.unspent");
    },
  },
  "code.unspent.failed": {
    rule: "code.unspent",
    section: "3",
    says: "A code is refused after an exchange that failed, even with the right verifier.",
    expected: expectedAnswer("code.unspent"),
    needs,
    costs: costs(1, 2),
    run: async (kit) => refusedByA((await wrongVerifier(kit))[1], "code.unspent"),
  },
  "code.lifetime": {
    rule: "code.lifetime",
    section: "3, 8",
    says: "A code 130 s old is refused.",
    expected: expectedAnswer("code.lifetime"),
    needs,
    costs: costs(2, 2, oldAge),
    async run(kit) {
      await control(kit);
      return refusedByA((await agedCodes(kit)).old, "code.lifetime");
    },
  },
  "code.lifetime.within": {
    section: "3, 8",
    says: "A code 110 s old is exchanged.",
    expected: "A success with an access token.",
    needs,
    costs: costs(2, 2, oldAge),
    async run(kit) {
      await control(kit);
      const { young } = await agedCodes(kit);
      return young.accessToken === undefined
        ? breaks(`${shownAnswer(young)}.`)
        : holds(`${young.status} with an access token.`);
    },
  },
  "code.verifier": {
    rule: "code.verifier",
    section: "4.1 (RFC 7636 section 4.6)",
    says: "A code is refused with the verifier of another launch.",
    expected: expectedAnswer("code.verifier"),
    needs,
    costs: costs(1, 2),
    run: async (kit) => refusedByA((await wrongVerifier(kit))[0], "code.verifier"),
  },
  "code.verifier.missing": {
    rule: "code.verifier",
    section: "4.1",
    says: "A code is refused without a verifier.",
    expected: expectedAnswer("code.verifier", malformed),
    needs,
    costs: costs(1, 1),
    async run(kit) {
      await control(kit);
      const code = await codeOf(kit, await launch(kit));
      const answer = await exchange(kit, "a code without a verifier", { ...code, verifier: undefined });
      return refusedByA(answer, "code.verifier", malformed);
    },
  },
  "code.verifier.short": {
    rule: "code.verifier",
    section: "4.1 (RFC 7636 section 4.1)",
    says: "A code is refused with a verifier of 42 characters, although its challenge was sent.",
    expected: expectedAnswer("code.verifier", malformed),
    needs,
    costs: costs(1, 1),
    async run(kit) {
      await control(kit);
      const code = await codeOf(kit, await launch(kit), madeUp().slice(1));
      const answer = await exchange(kit, "a code with a verifier of 42 characters", code);
      return refusedByA(answer, "code.verifier", malformed);
    },
  },
});

/** The operator in a token response, in either spelling (section 2.3). */
function userOf({ fields = {} }: Answer): Readonly<Record<string, unknown>> | undefined {
  const user = (fields.revo as { user?: unknown } | undefined)?.user ?? fields["revo.user"];
  return typeof user === "object" && user !== null ? (user as Record<string, unknown>) : undefined;
}

const userMembers = ["userId", "firstname", "lastname"];
const answerCases = defineCases("A", {
  "token-response.a.operator": {
    section: "2.3",
    says: "The token response of a launched plugin names the operator in revo.user.",
    expected: "revo.user with userId, firstname and lastname.",
    needs,
    costs: costs(0, 0),
    async run(kit) {
      const user = userOf((await control(kit)).answer);
      if (user === undefined) return breaks("revo.user is not there.");
      const missing = userMembers.filter((name) => user[name] === undefined || user[name] === null);
      return missing.length > 0
        ? breaks(`revo.user lacks ${missing.join(", ")}.`)
        : holds("revo.user has userId, firstname and lastname.");
    },
  },
  "user-id-type": {
    unknown: "user-id-type",
    section: "2.3",
    says: "The JSON types of the operator's members and of tenantId in host:auth-code are learnt.",
    expected: "Types that the description does not show.",
    needs,
    costs: costs(0, 0),
    async run(kit) {
      const { answer, code } = await control(kit);
      const user = userOf(answer) ?? {};
      const types = userMembers.map((name) => `${name}: ${typeOf(user[name])}`);
      const observed = `In revo.user ${types.join(", ")}; in host:auth-code tenantId: ${typeOf(code.sent.tenantId)}.`;
      const userIdType = typeOf(user.userId);
      return learnt(
        observed,
        userIdType === "string" || userIdType === "number" ? { userIdType } : undefined,
      );
    },
  },
  "code.unauthenticated-attempt": {
    section: "3",
    says: "A code is exchanged after an attempt whose assertion had a wrong signature.",
    expected: "A refusal or a success: section 3 can be read either way.",
    needs,
    costs: costs(1, 2),
    async run(kit) {
      await control(kit);
      const code = await codeOf(kit, await launch(kit));
      const note = "a code with an assertion whose signature is wrong";
      const first = await exchange(kit, note, code, { assertion: { signature: madeUp() } });
      if (first.accessToken !== undefined) throw new NotTried("A wrong signature was accepted.");
      const second = await exchange(kit, "the same code with a right assertion", code);
      const isSpent = second.accessToken === undefined;
      const observed = `The code was ${isSpent ? "spent" : "not spent"} (${first.status}, then ${second.status}).`;
      return learnt(observed, { unauthenticatedAttemptSpendsCode: isSpent });
    },
  },
  "rate-limit-and-code": {
    unknown: "rate-limit-and-code",
    section: "3, 8",
    says: "A code is exchanged again after an attempt that was answered 429.",
    expected: "A refusal or a success: the description does not show whether a 429 spends the code.",
    needs: [...needs, "plugin", "rateLimit"],
    costs: costs(1, 52, 90),
    safe: false,
    async run(kit) {
      const { requests, windowSeconds } = kit.need("rateLimit");
      if (requests > 50 || windowSeconds > 90)
        throw new NotTried("It would take more than 50 requests, or longer than a code lives.");
      await control(kit);
      const code = await codeOf(kit, await launch(kit));
      for (let left = requests; left > 0; left--) {
        const note = "a token request to use up the rate limit";
        if ((await kit.requestTokenOfA({ note, limited: true })).status === 429) break;
      }
      const first = await exchange(kit, "a code over the rate limit", code, { limited: true });
      if (first.status !== 429) throw new NotTried(`The rate limit was not met (${shownAnswer(first)}).`);
      await kit.wait(windowSeconds + 1);
      const second = await exchange(kit, "the same code after the window", code);
      const isSpent = second.accessToken === undefined;
      const observed = `The code was ${isSpent ? "spent" : "not spent"} by a 429 (then ${shownAnswer(second)}).`;
      return learnt(observed, { rateLimitedAttemptSpendsCode: isSpent });
    },
  },
});

function typeOf(value: unknown): string {
  return value === undefined ? "absent" : value === null ? "null" : typeof value;
}

export const codeCases: readonly CaseDefinition[] = [...launchCases, ...exchangeCases, ...answerCases];
