/** Launches and authorization codes of Variant A (sections 2.3, 2.4, 3, 4.1, 5.3 and 6). */
import {
  accepts,
  breaks,
  type CaseDefinition,
  defineCases,
  holds,
  learnt,
  verdict,
} from "../case.js";
import { NotTried } from "../errors.js";
import type { Answer } from "../exchange.js";
import { type Kit, type PluginRequest, shownAnswer, tokenIn } from "../kit.js";
import { challengeOf, randomText } from "../person.js";
import type { LaunchCode, Launched, Need, PkceInit } from "../target.js";
import { byA, malformedErrors, observedOf, refusals } from "./judge.js";

/** @throws NotTried if the host refuses */
function launch(kit: Kit, clientId = kit.need("pagePlugin").clientId) {
  return kit.ask("The host refused to launch the plugin", () => kit.need("launch")(clientId));
}

/** Posts plugin:pkce-init. @throws NotTried if the host refuses it */
async function authorise(kit: Kit, launched: Launched, init: Partial<PkceInit> = {}) {
  for (const name of ["opaque_code", "state"]) kit.keepSecret(launched.parameters[name]);
  const sent = await kit.ask("The host refused to authorise a launch", () =>
    launched.initialise({ codeChallenge: randomText(), ...init }),
  );
  for (const secret of [sent.code, sent.state]) kit.keepSecret(secret);
  return sent;
}

/** The same, where the host should refuse. */
function initialise(...given: Parameters<typeof authorise>) {
  return authorise(...given).catch(() => undefined);
}

interface Code {
  readonly code: string;
  readonly verifier: string | undefined;
}

/** The code of a launch that nothing is wrong with. @throws NotTried */
export async function codeOf(
  kit: Kit,
  launched: Launched,
  verifier: string = randomText(),
): Promise<Code & { readonly sent: LaunchCode }> {
  kit.keepSecret(verifier);
  const sent = await authorise(kit, launched, { codeChallenge: await challengeOf(verifier) });
  return { code: sent.code, verifier, sent };
}

async function newCode(kit: Kit, clientId?: string, verifier?: string) {
  return codeOf(kit, await launch(kit, clientId), verifier);
}

/** Exchanges a code by the user-interface plugin, unless another is given (section 4.1). */
export function exchange(
  kit: Kit,
  note: string,
  { code, verifier }: Code,
  more: Partial<PluginRequest> = {},
): Promise<Answer> {
  const fields = { grant_type: "authorization_code", code, code_verifier: verifier };
  return kit.requestTokenOfA(note, { plugin: kit.need("pagePlugin"), ...more, fields });
}

interface Control {
  readonly launched: Launched;
  readonly sent: LaunchCode;
  readonly answer: Answer;
  /** The device list for the operator who launched. */
  readonly list: Answer;
  /** A second exchange of the code. It comes at once, because another case may wait. */
  readonly again: Answer;
}

/**
 * A launch as the description shows it, up to a call. It is the control of every case here.
 * @throws NotTried
 */
export function control(kit: Kit): Promise<Control> {
  return kit.share("control launch", async () => {
    const launched = await launch(kit);
    const code = await codeOf(kit, launched);
    const answer = await exchange(kit, "a right exchange of a code", code, { isRegular: true });
    const token = tokenIn(answer, "A right exchange");
    const note = "the device list for the operator who launched";
    const list = await kit.call(note, "A", token, { observe: "listDevices" });
    const again = await exchange(kit, "a code that was exchanged before", code);
    return { launched, sent: code.sent, answer, list, again };
  });
}

export const controlNeeds: readonly Need[] = ["tenantId", "pagePlugin", "launch"];
/** The costs are at most these, with those of the control. */
const ofLaunch = { needs: controlNeeds, costs: { requests: 5, slots: 4, codes: 2 } };

const launchCases = refusals<Control, LaunchCode | undefined>(
  "A",
  {
    ...ofLaunch,
    control,
    saying: (note) => `The host refuses ${note}.`,
    expected: "The host does not hand out a code.",
    judge: (sent) =>
      sent === undefined ? holds("The host refused.") : accepts("The host handed out a code."),
  },
  {
    "launch.plugin": {
      note: "the launch of a service plugin",
      send: async (kit) => {
        const launched = await launch(kit, kit.need("plugin").clientId).catch(() => undefined);
        return launched && initialise(kit, launched);
      },
      needs: ["plugin"],
    },
    "launch.known": {
      note: "an opaque_code that is made up",
      send: async (kit) => initialise(kit, await launch(kit), { opaqueCode: randomText() }),
    },
    "launch.unused": {
      note: "a launch that was authorised before",
      send: async (kit, _, { launched }) => initialise(kit, launched),
    },
    "launch.challenge": {
      note: "a challenge of 42 characters",
      send: async (kit) =>
        initialise(kit, await launch(kit), { codeChallenge: randomText().slice(1) }),
    },
    // The description shows no limit. RFC 6749 section 4.1.2 recommends ten minutes for a code.
    "launch.lifetime": {
      note: "a launch that began 11 minutes ago",
      send: async (kit) => {
        const launched = await launch(kit);
        await kit.wait(660);
        return initialise(kit, launched);
      },
      costs: { seconds: 660 },
    },
  },
);

/**
 * Seconds. The exchanges are ten seconds before and after the two minutes of a code's life (section
 * 3).
 */
const ages = { young: 110, old: 130 };

function agedCodes(kit: Kit) {
  return kit.share("aged codes", async () => {
    const launches = [await launch(kit), await launch(kit)] as const;
    const codes = [await codeOf(kit, launches[0]), await codeOf(kit, launches[1])] as const;
    const since = kit.now();
    await kit.wait(ages.young);
    const young = await exchange(kit, "a code 110 s old", codes[0]);
    if (kit.now() - since > ages.young + 5)
      throw new NotTried("A rate limit delayed the exchange.");
    await kit.wait(ages.old - ages.young);
    return { young, old: await exchange(kit, "a code 130 s old", codes[1]) };
  });
}

const agedCosts = { codes: 3, seconds: ages.old };

/**
 * An exchange with the verifier of another launch, and then one of the same code with the right
 * verifier.
 */
function wrongVerifier(kit: Kit) {
  return kit.share("wrong verifier", async () => {
    const code = await newCode(kit);
    const other = { ...code, verifier: randomText() };
    const answer = await exchange(kit, "a code with the verifier of another launch", other);
    return { answer, right: await exchange(kit, "the same code with the right verifier", code) };
  });
}

const exchangeCases = refusals<Control, Answer>(
  "A",
  { ...ofLaunch, ...byA, control, saying: (note) => `The token endpoint refuses ${note}.` },
  {
    "code.known": {
      note: "a code that is made up",
      send: (kit, what) => exchange(kit, what, { code: randomText(), verifier: randomText() }),
    },
    "code.tenant": {
      note: "a code at the token endpoint of another tenant",
      send: async (kit, what) => {
        const elsewhere = {
          plugin: kit.need("secondTenantPlugin"),
          tenantId: kit.need("secondTenantId"),
        };
        const answer = await exchange(kit, what, await newCode(kit), elsewhere);
        if (answer.fields?.error !== "invalid_client") return answer;
        throw new NotTried(
          "The credential of the other tenant's plugin was refused (400 invalid_client).",
          "refused",
        );
      },
      needs: ["secondTenantId", "secondTenantPlugin"],
    },
    "code.plugin": {
      note: "a code that was handed out to another plugin",
      send: async (kit, what) =>
        exchange(kit, what, await newCode(kit, kit.need("otherPagePlugin").clientId)),
      needs: ["otherPagePlugin"],
    },
    "code.unspent": {
      note: "a code that was exchanged before",
      send: async (kit) => (await control(kit)).again,
    },
    "code.unspent.failed": {
      note: "a code after an exchange that failed, even with the right verifier",
      send: async (kit) => (await wrongVerifier(kit)).right,
    },
    "code.lifetime": {
      note: "a code 130 s old",
      send: async (kit) => (await agedCodes(kit)).old,
      costs: agedCosts,
    },
    "code.verifier": {
      note: "a code with the verifier of another launch",
      send: async (kit) => (await wrongVerifier(kit)).answer,
    },
    "code.verifier.missing": {
      note: "a code without a verifier",
      send: async (kit, what) =>
        exchange(kit, what, { ...(await newCode(kit)), verifier: undefined }),
      errors: malformedErrors,
    },
    "code.verifier.short": {
      note: "a code with a verifier of 42 characters, whose challenge was sent",
      send: async (kit, what) =>
        exchange(kit, what, await newCode(kit, undefined, randomText().slice(1))),
      errors: malformedErrors,
    },
  },
);

/** The operator in a token response, in either spelling (section 2.3). */
function userOf({ fields = {} }: Answer): Readonly<Record<string, unknown>> {
  return Object(Object(fields.revo).user ?? fields["revo.user"]);
}

function typeOf(value: unknown): string {
  return value === undefined ? "absent" : value === null ? "null" : typeof value;
}

const userMembers = ["userId", "firstname", "lastname"];

/** What a right launch shows. */
const shownCases = defineCases(
  "A",
  { needs: controlNeeds, costs: { requests: 3, slots: 2, codes: 1 } },
  {
    "launch-parameters": {
      says: "The launch parameters include opaque_code, and maybe others.",
      async run(kit) {
        const names = Object.keys((await control(kit)).launched.parameters).sort();
        const observed = `The launch parameters are ${names.map((name) => name.slice(0, 40)).join(", ")}.`;
        return names.includes("opaque_code") ? learnt(observed) : breaks(observed);
      },
    },
    "state-origin": {
      says: "The state of host:auth-code equals a launch parameter, or another value.",
      async run(kit) {
        const { launched, sent } = await control(kit);
        const { parameters } = launched;
        if (sent.state === undefined) return learnt("The message has no state.");
        const names = ["state", "opaque_code", ...Object.keys(parameters)];
        const origin = names.find((name) => parameters[name] === sent.state);
        if (origin === undefined) return learnt("The state differs from every launch parameter.");
        const observed = `The state equals the launch parameter ${origin.slice(0, 40)}.`;
        if (origin === "state") return learnt(observed, { launchState: "launch-parameter" });
        return learnt(observed, origin === "opaque_code" ? { launchState: origin } : undefined);
      },
    },
    "token-response.a.operator": {
      section: "2.3",
      says:
        "The token response of a launched plugin has revo.user with userId, firstname and " +
        "lastname.",
      async run(kit) {
        const user = userOf((await control(kit)).answer);
        const missing = userMembers.filter((name) => (user[name] ?? null) === null);
        if (missing.length === 0) return holds("It has all three.");
        return breaks(`revo.user lacks ${missing.join(", ")}.`);
      },
    },
    "user-id-type": {
      says: "The members of revo.user, and tenantId in host:auth-code, have JSON types.",
      async run(kit) {
        const { answer, sent } = await control(kit);
        const user = userOf(answer);
        const types = userMembers.map((name) => `${name}: ${typeOf(user[name])}`).join(", ");
        const observed = `In revo.user ${types}; in host:auth-code tenantId: ${typeOf(sent.tenantId)}.`;
        const userIdType = (["string", "number"] as const).find(
          (type) => type === typeof user.userId,
        );
        return learnt(observed, userIdType && { userIdType });
      },
    },
  },
);

const notShown = "A refusal or a success: the description can be read either way.";

/** A right exchange after another attempt. */
async function isSpent(kit: Kit, code: Code) {
  const answer = await exchange(kit, "a right exchange after another attempt", code);
  const isSpent = answer.accessToken === undefined;
  return { isSpent, observed: `The code was ${isSpent ? "" : "not "}spent. ${observedOf(answer)}` };
}

const attemptCases = defineCases("A", ofLaunch, {
  "code-lifetime.within": {
    section: "3, 8",
    says: "The token endpoint exchanges a code 110 s old.",
    expected: "A success with an access token.",
    costs: { requests: 2, slots: 2, codes: 2, seconds: ages.old },
    async run(kit) {
      const { young } = await agedCodes(kit);
      return verdict(young.accessToken !== undefined, observedOf(young));
    },
  },
  "code-unauthenticated-attempt": {
    section: "3",
    says: "An attempt whose assertion has a wrong signature spends the code, or leaves it.",
    expected: notShown,
    async run(kit) {
      await control(kit);
      const code = await newCode(kit);
      const wrong = { assertion: { signature: randomText() } };
      const first = await exchange(kit, "a code with a wrong signature", code, wrong);
      if (first.accessToken !== undefined) throw new NotTried("A wrong signature was accepted.");
      const second = await isSpent(kit, code);
      return learnt(second.observed, { unauthenticatedAttemptSpendsCode: second.isSpent });
    },
  },
  "rate-limit-and-code": {
    section: "3, 8",
    says: "An attempt that is answered 429 spends the code, or leaves it.",
    expected: notShown,
    needs: ["plugin", "rateLimit"],
    costs: { requests: 55, slots: 54, seconds: 91 },
    safe: false,
    async run(kit) {
      const { requests, windowSeconds } = kit.need("rateLimit");
      if (requests > 50 || windowSeconds > 90)
        throw new NotTried("It would take more than 50 requests, or longer than a code lives.");
      await control(kit);
      const code = await newCode(kit);
      const note = "a token request to use up the rate limit";
      for (let sent = 0, status = 0; sent < requests && status !== 429; sent++)
        status = (await kit.requestTokenOfA(note, { limited: true })).status;
      const first = await exchange(kit, "a code over the rate limit", code, { limited: true });
      if (first.status !== 429)
        throw new NotTried(`The rate limit was not met (${shownAnswer(first)}).`);
      await kit.wait(windowSeconds + 1);
      const second = await isSpent(kit, code);
      return learnt(second.observed, { rateLimitedAttemptSpendsCode: second.isSpent });
    },
  },
});

export const codeCases: readonly CaseDefinition[] = [
  ...shownCases,
  ...launchCases,
  ...exchangeCases,
  ...attemptCases,
];
