/**
 * Calls of the API in both variants: bearers, routes, paths and bodies (sections 4.3, 5, 7.2 and
 * 9).
 */
import { emulatorRules } from "../../emulator/rules.js";
import {
  accepts,
  breaks,
  type CaseDefinition,
  defineCases,
  holds,
  learnt,
  type Verdict,
} from "../case.js";
import { NotTried } from "../errors.js";
import type { Answer } from "../exchange.js";
import { askServed, type Kit, lifetimeOf, shownAnswer, type Variant } from "../kit.js";
import { exampleOf, inferSchema } from "../learning/schema.js";
import type { DeploymentSettings } from "../learning/settings.js";
import { randomText } from "../person.js";
import type { Need } from "../target.js";
import { codeOf, control, controlNeeds, exchange } from "./codes.js";
import { isAccepted, ruleOf } from "./judge.js";

/** The machine credential of each variant. */
const credential: Readonly<Record<Variant, readonly Need[]>> = {
  A: ["tenantId", "plugin"],
  B: ["serviceAccount"],
};

const isRefusal = ({ status }: Answer) => status >= 400 && status < 500;

/**
 * The device list for a right token, the control of every call here.
 * @throws NotTried if it is refused
 */
async function deviceList(kit: Kit, variant: Variant): Promise<Answer> {
  const answer = await kit.share(`device list ${variant}`, async () => {
    const token = await kit.token(variant);
    return kit.call({
      note: "the device list with a right bearer",
      variant,
      token,
      observe: "listDevices",
    });
  });
  if (isAccepted(answer)) return answer;
  throw new NotTried(`The device list was refused to a right bearer (${shownAnswer(answer)}).`);
}

/** Calls the device list with a bearer that must be refused, once for all cases. */
async function badBearer(
  kit: Kit,
  variant: Variant,
  kind: "missing" | "unknown" | "foreign",
): Promise<Answer> {
  await deviceList(kit, variant);
  return kit.share(`bearer ${variant} ${kind}`, async () => {
    const token = {
      missing: async () => undefined,
      unknown: () => unknownToken(kit, variant),
      foreign: () => kit.token(variant),
    };
    const route =
      kind === "foreign" ? { route: `GET /api/v1/${kit.need("secondTenantId")}/devices` } : {};
    const note = `the device list with a bearer that is ${kind}`;
    return kit.call({ note, variant, token: await token[kind](), ...route, observe: "bearer" });
  });
}

/**
 * A token that the variant did not issue: for Variant A one of Variant B, if both are there, else a
 * made-up one.
 */
async function unknownToken(kit: Kit, variant: Variant): Promise<string> {
  const isBoth = variant === "A" && kit.target.serviceAccount !== undefined;
  if (!isBoth || !(await askServed(kit, "B")).isServed) return randomText();
  return (await kit.control("B")).accessToken ?? randomText();
}

type RouteName = "closedRoute" | "otherScopeRoute" | "deviceRoute";

/**
 * Calls a route of the target. One that is not a GET would be executed by a deployment that checks
 * nothing.
 */
function callRoute(kit: Kit, name: RouteName, token = () => kit.token("A")): Promise<Answer> {
  const route = kit.need(name);
  if (!route.startsWith("GET ") && !kit.isNamed)
    throw new NotTried(
      "The route is not a GET, so it could change something. Name the case to try it.",
    );
  return kit.share(name, async () => {
    await deviceList(kit, "A");
    return kit.call({
      note: `the ${name} of the target`,
      variant: "A",
      route,
      token: await token(),
    });
  });
}

async function restrictedToken(kit: Kit): Promise<string> {
  const plugin = kit.need("restrictedPlugin");
  const answer = await kit.requestTokenOfA({
    note: "a right token request of the restricted plugin",
    plugin,
  });
  if (answer.accessToken !== undefined) return answer.accessToken;
  throw new NotTried(
    `The credential of the restricted plugin was refused (${shownAnswer(answer)}).`,
    "refused",
  );
}

/** The device list at a path that the description does not show. */
function callUnversioned(kit: Kit): Promise<Answer> {
  return kit.share("unversioned path", async () => {
    await deviceList(kit, "A");
    const route = `GET /api/${kit.need("tenantId")}/devices`;
    return kit.call({
      note: "the device list without v1",
      variant: "A",
      route,
      token: await kit.token("A"),
    });
  });
}

/** Calls the device list for an operator without the capability for it. */
function callLimited(kit: Kit): Promise<Answer> {
  return kit.share("limited operator", async () => {
    const { list } = await control(kit);
    if (!isAccepted(list))
      throw new NotTried(`An operator with the capability was refused too (${shownAnswer(list)}).`);
    const launched = await kit.ask(
      "The host refused to launch the plugin",
      kit.need("limitedLaunch"),
    );
    const answer = await exchange(
      kit,
      "a right exchange of a limited operator",
      await codeOf(kit, launched),
    );
    const token = answer.accessToken;
    if (token === undefined)
      throw new NotTried(`A right exchange was refused (${shownAnswer(answer)}).`);
    return kit.call({ note: "the device list for a limited operator", variant: "A", token });
  });
}

async function callExpired(kit: Kit, variant: Variant): Promise<Answer> {
  const token = await kit.token(variant);
  const right = await kit.call({
    note: "the device list before the token expires",
    variant,
    token,
  });
  if (!isAccepted(right)) throw new NotTried(`A right bearer was refused (${shownAnswer(right)}).`);
  await kit.wait(lifetimeOf(await kit.control(variant)) + 35);
  return kit.call({
    note: "the device list with an expired bearer",
    variant,
    token,
    observe: "bearer",
  });
}

/** Seconds after a change at which its effect is looked for: "within minutes" (section 2.1). */
const lookedAt = [
  0, 1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 150, 180, 240, 300, 360, 420, 480, 540, 600,
];

interface Change {
  /** The first call whose answer was looked for, else the last one. */
  readonly answer: Answer;
  /** Undefined if that answer did not come. */
  readonly seconds: number | undefined;
}

/** Calls the device list until its answer is the one that is looked for. */
async function look(
  kit: Kit,
  token: string | undefined,
  isFound: typeof isRefusal,
): Promise<Change> {
  for (let index = 0, before = 0; ; index++) {
    const seconds = lookedAt[index] ?? 0;
    if (index > 0) await kit.wait(seconds - before);
    before = seconds;
    const note = `the device list ${seconds} s after the change`;
    const answer = await kit.call({ note, variant: "A", token });
    if (isFound(answer)) return { answer, seconds };
    if (index === lookedAt.length - 1) return { answer, seconds: undefined };
  }
}

/**
 * Changes the registration, looks for the refusal of a token, and undoes the change. `later` is a
 * call with a token that was issued meanwhile, after the first one works again.
 */
function change(
  kit: Kit,
  name: "narrow" | "disable",
): Promise<Change & { readonly later?: Answer | undefined }> {
  return kit.share(name, async () => {
    const token = (await kit.requestTokenOfA({ note: "a right token request before the change" }))
      .accessToken;
    const before = await kit.call({
      note: "the device list before the change",
      variant: "A",
      token,
    });
    if (!isAccepted(before))
      throw new NotTried(`A right bearer was refused (${shownAnswer(before)}).`);
    const undo = await kit.ask(`\`${name}\` of the target failed`, kit.need(name));
    let found: Change;
    let issued: Answer | undefined;
    try {
      found = await look(kit, token, isRefusal);
      if (name === "narrow")
        issued = await kit.requestTokenOfA({ note: "a token request while narrowed" });
    } finally {
      // It may be plain JavaScript, which throws at once or returns no promise.
      await (async () => undo())().catch((fault) => {
        const failure = `What \`${name}\` changed could not be undone${kit.shownFault(fault)}`;
        throw new NotTried(`${failure}. Correct the registration by hand.`);
      });
    }
    const narrow = issued?.accessToken;
    if (narrow === undefined || (await look(kit, token, isAccepted)).seconds === undefined)
      return found;
    const note = "the device list with a token issued while narrowed";
    return { ...found, later: await kit.call({ note, variant: "A", token: narrow }) };
  });
}

async function callNarrow(kit: Kit): Promise<Answer> {
  const { later } = await change(kit, "narrow");
  if (later !== undefined) return later;
  throw new NotTried(
    "There was no token while the plugin was narrowed, or its scope did not come back.",
  );
}

/**
 * A call that must be refused: what, how, and what it needs (by default the machine credential) and
 * costs.
 */
type RefusedCall = readonly [what: string, call: (kit: Kit) => Promise<Answer>, more?: More];

interface More extends Partial<Pick<CaseDefinition, "rule" | "needs" | "safe">> {
  readonly costs?: Partial<CaseDefinition["costs"]>;
  /** One of the three causes of an empty 403 (section 7.2). */
  readonly isForbidden?: true;
}

const changing = { costs: { requests: 45, slots: 2, seconds: 1200 }, safe: false } as const;
const narrowing: More = { ...changing, needs: [...credential.A, "narrow"] };
const limited = {
  needs: [...controlNeeds, "limitedLaunch"],
  costs: { requests: 5, slots: 3, codes: 2 },
} as const;

const bearerCalls = (variant: Variant): Readonly<Record<string, RefusedCall>> => ({
  [`bearer.present.${variant}`]: [
    "the device list without a bearer",
    (kit) => badBearer(kit, variant, "missing"),
  ],
  [`bearer.known.${variant}`]: [
    "the device list with a bearer that the variant did not issue",
    (kit) => badBearer(kit, variant, "unknown"),
  ],
  [`bearer.lifetime.${variant}`]: [
    "a bearer 35 s after expires_in, or after one hour if the token response has none",
    (kit) => callExpired(kit, variant),
    { costs: { requests: 3, seconds: 3635 } },
  ],
});

const routeCalls: Readonly<Record<string, RefusedCall>> = {
  "bearer.tenant": [
    "the device list of another tenant",
    (kit) => badBearer(kit, "A", "foreign"),
    { needs: [...credential.A, "secondTenantId"] },
  ],
  "route.opt-in": [
    "a route that accepts no plugin token",
    (kit) => callRoute(kit, "closedRoute"),
    { needs: [...credential.A, "closedRoute"] },
  ],
  "route.device": [
    "a route that names a device outside the restriction of the plugin",
    (kit) => callRoute(kit, "deviceRoute", () => restrictedToken(kit)),
    { needs: [...credential.A, "restrictedPlugin", "deviceRoute"], isForbidden: true },
  ],
  // Its rule may be route.scope or route.narrowed: the registration lacks the scope too.
  "route-scope": [
    "a route whose scope the plugin was not granted",
    (kit) => callRoute(kit, "otherScopeRoute"),
    { needs: [...credential.A, "otherScopeRoute"], isForbidden: true },
  ],
  "route.operator": [
    "the device list for an operator without the capability",
    callLimited,
    limited,
  ],
  "bearer.plugin-enabled": [
    "the token of a plugin that the customer disabled after it was issued",
    async (kit) => (await change(kit, "disable")).answer,
    { ...changing, needs: [...credential.A, "disable"] },
  ],
  "route.narrowed": [
    "a token within minutes after the customer took the scope of the route from the plugin",
    async (kit) => (await change(kit, "narrow")).answer,
    { ...narrowing, isForbidden: true },
  ],
  "route.scope": [
    "a token that lacks the scope of the route, although the plugin has it again",
    callNarrow,
    { ...narrowing, isForbidden: true },
  ],
};

function refusals(
  variant: Variant,
  calls: Readonly<Record<string, RefusedCall>>,
): CaseDefinition[] {
  return Object.entries(calls).flatMap(([id, [what, call, { isForbidden, ...about } = {}]]) => {
    const rule = id.includes(".") ? ruleOf(id) : undefined;
    const common = { needs: credential[variant], costs: { requests: 5, slots: 1 }, ...about };
    const isRight = (answer: Answer) => (isForbidden ? answer.status === 403 : isRefusal(answer));
    const refused = {
      ...common,
      rule,
      section: rule === undefined ? "5.6, 7.2" : emulatorRules[rule].section,
      says: `This is refused: ${what}.`,
      expected: isForbidden ? "A 403." : "A 4xx. The description does not show which.",
      async run(kit: Kit) {
        const answer = await call(kit);
        return (isRight(answer) ? holds : isAccepted(answer) ? accepts : breaks)(
          `${shownAnswer(answer)}.`,
        );
      },
    };
    const emptied = {
      ...common,
      rule: "response.forbidden-empty" as const,
      section: "7.2",
      says: `The 403 has no body: ${what}.`,
      expected: "A 403 with an empty body.",
      async run(kit: Kit) {
        const answer = await call(kit);
        if (answer.status !== 403) throw new NotTried(`There was no 403 (${shownAnswer(answer)}).`);
        return (answer.text === "" ? holds : breaks)(`${shownAnswer(answer)}.`);
      },
    };
    const rows = { [id.toLowerCase()]: refused };
    if (isForbidden) rows[`response.forbidden-empty.${id.replace("route.", "")}`] = emptied;
    return defineCases(variant, rows);
  });
}

/** What is learnt, or judged in another way than as a refusal. */
type Other = readonly [
  section: string,
  says: string,
  run: (kit: Kit) => Promise<Verdict>,
  more?: More,
];

const otherCalls: Readonly<Record<Variant, Readonly<Record<string, Other>>>> = {
  A: {
    ...bodyCalls("A"),
    "plugin-token-refusal-status": [
      "7.2",
      "A plugin token gets some status on a route that accepts none.",
      async (kit) => {
        const answer = await callRoute(kit, "closedRoute");
        if (!isRefusal(answer))
          throw new NotTried(`The token was not refused (${shownAnswer(answer)}).`);
        return learnt(`${shownAnswer(answer)}.`, { pluginTokenRefusedStatus: answer.status });
      },
      { needs: [...credential.A, "closedRoute"] },
    ],
    "response.forbidden-empty.bearer": [
      "7.2",
      "A refused bearer does not get an empty 403, which has exactly three other causes.",
      async (kit) => {
        const answers = [
          await badBearer(kit, "A", "missing"),
          await badBearer(kit, "A", "unknown"),
        ];
        const isEmpty = answers.some(({ status, text }) => status === 403 && text === "");
        return (isEmpty ? breaks : holds)(`${answers.map(shownAnswer).join(" and ")}.`);
      },
      { rule: "response.forbidden-empty" },
    ],
    "path.version": [
      "9",
      "The device list is not served without the segment v1.",
      notServed,
      { rule: "path.version" },
    ],
    "path.known": [
      "4.3",
      "The device list without the segment v1, which is not described, is not served.",
      notServed,
      { rule: "path.known" },
    ],
    "forbidden-causes": [
      "7.2",
      "A plugin launched by an operator without the capability gets an empty 403, or " +
        "another refusal.",
      async (kit) => {
        const answer = await callLimited(kit);
        if (!isRefusal(answer))
          throw new NotTried(`The call was not refused (${shownAnswer(answer)}).`);
        const body = answer.text === "" ? null : exampleOf(answer.value);
        const isKnown = answer.status === 403 && body !== undefined;
        return learnt(
          `${shownAnswer(answer)}.`,
          isKnown ? { missingCapabilityBody: body } : undefined,
        );
      },
      limited,
    ],
    "narrowing-delay": [
      "2.1",
      "A narrowing of the grant takes effect at once, or within minutes.",
      async (kit) => {
        const { seconds } = await change(kit, "narrow");
        if (seconds === undefined)
          throw new NotTried("The narrowing took no effect within ten minutes.");
        return learnt(`It took effect within ${seconds} s.`, { narrowingDelayMs: seconds * 1000 });
      },
      narrowing,
    ],
  },
  B: bodyCalls("B"),
};

function bodyCalls(variant: Variant): Readonly<Record<string, Other>> {
  return {
    [`device-body.${variant}`]: [
      "4.3",
      "The device list has a shape.",
      async (kit) => learnt(`The body is ${shapeOf(await deviceList(kit, variant))}.`),
    ],
    [`response.raw.${variant}`]: [
      "4.3, 9",
      "The device list is JSON if no X-Envelope is sent.",
      async (kit) => {
        const answer = await deviceList(kit, variant);
        return (answer.value === undefined ? breaks : holds)(`The body is ${shapeOf(answer)}.`);
      },
      { rule: "response.raw" },
    ],
    [`refused-bearer-status.${variant}`]: [
      "5, 7.2",
      "Refused bearers have a status and a body, all the same or not.",
      (kit) => learnBearerStatus(kit, variant),
    ],
    [`envelope.${variant}`]: [
      "4.3, 9",
      "Some value of X-Envelope wraps the device list.",
      (kit) => learnEnvelope(kit, variant),
    ],
  };
}

function others(variant: Variant): CaseDefinition[] {
  return Object.entries(otherCalls[variant]).flatMap(([id, [section, says, run, more = {}]]) =>
    defineCases(variant, {
      [id.toLowerCase()]: {
        unknown: more.rule === undefined ? id.split(".")[0] : undefined,
        section,
        says,
        expected: more.rule === undefined ? "The description does not show it." : says,
        needs: credential[variant],
        costs: { requests: 7, slots: 1 },
        run,
        ...more,
      },
    }),
  );
}

async function learnBearerStatus(kit: Kit, variant: Variant): Promise<Verdict> {
  const unknown = await badBearer(kit, variant, "unknown");
  const missing = await badBearer(kit, variant, "missing");
  const isForeign = variant === "A" && kit.target.secondTenantId !== undefined;
  const foreign = isForeign ? [await badBearer(kit, variant, "foreign")] : [];
  if (!isRefusal(unknown))
    throw new NotTried(
      `A bearer that the variant did not issue was not refused (${shownAnswer(unknown)}).`,
    );
  const isSame = [missing, ...foreign].every(({ status }) => status === unknown.status);
  const others = foreign
    .map((answer) => `; bearer of another tenant: ${shownAnswer(answer)}`)
    .join("");
  const statuses =
    `Unknown bearer: ${shownAnswer(unknown)}; missing bearer: ` +
    `${shownAnswer(missing)}${others}.`;
  const observed = isSame ? statuses : `${statuses} They differ.`;
  const { status } = unknown;
  return learnt(observed, {
    bearerStatus: status,
    unauthorizedStatuses: [status],
    ...bodyOfBearer(unknown),
  });
}

/** The body by its types, unless it is what the emulator answers with that status. */
function bodyOfBearer(answer: Answer): DeploymentSettings {
  const bearerBody = exampleOf(answer.value);
  const isDefault =
    answer.status !== 401 && JSON.stringify(bearerBody) === '{"error":"invalid_token"}';
  return bearerBody === undefined || isDefault ? {} : { bearerBody };
}

async function learnEnvelope(kit: Kit, variant: Variant): Promise<Verdict> {
  // One variant is enough, unless the case is named.
  const isBoth = variant === "B" && credential.A.every((name) => kit.target[name] !== undefined);
  if (isBoth && !kit.isNamed && (await askServed(kit, "A")).isServed)
    throw new NotTried("It is tried with Variant A. Name the case to try it.");
  const raw = JSON.stringify(inferSchema((await deviceList(kit, variant)).value));
  const { envelopes } = kit.target;
  const values = envelopes ?? ["true", "full"];
  const envelope: Record<string, string> = {};
  for (const value of values) {
    const note = "the device list with X-Envelope";
    const headers = { "x-envelope": value };
    const answer = await kit.call({ note, variant, token: await kit.token(variant), headers });
    // Devices change from call to call, so their shapes are compared and not their values.
    const wrapped = Object.entries(answer.fields ?? {}).find(
      ([, member]) => JSON.stringify(inferSchema(member)) === raw,
    );
    // The name of the member is shown, so it must be a word and not a value.
    if (isAccepted(answer) && wrapped !== undefined && /^[A-Za-z_]{1,40}$/.test(wrapped[0]))
      envelope[value] = wrapped[0];
  }
  const found = Object.entries(envelope).map(
    ([value, member]) => `${value} wraps the body in ${member}`,
  );
  if (envelopes === undefined && found.length === 0)
    throw new NotTried(
      "It needs a value of X-Envelope: neither true nor full wraps the body.",
      "needs",
    );
  return learnt(`Of ${values.join(", ")}: ${found.join(", ") || "none wraps the body"}.`, {
    envelope,
  });
}

function shapeOf({ value }: Answer): string {
  if (value === undefined) return "not JSON";
  if (!Array.isArray(value)) return `JSON, of type ${typeof value}`;
  return value.length > 0 ? `an array of type ${typeof value[0]}` : "an empty array";
}

async function notServed(kit: Kit): Promise<Verdict> {
  const answer = await callUnversioned(kit);
  const isServed = answer.status >= 500 || (isAccepted(answer) && answer.value !== undefined);
  return (isServed ? breaks : holds)(`${shownAnswer(answer)}.`);
}

/** What changes the registration comes last. */
export const callCases: readonly CaseDefinition[] = [
  ...others("A"),
  ...others("B"),
  ...refusals("A", routeCalls),
  ...refusals("A", bearerCalls("A")),
  ...refusals("B", bearerCalls("B")),
].sort((a, b) => Number(b.safe) - Number(a.safe));
