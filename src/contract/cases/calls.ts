/**
 * Calls of the API in both variants: bearers, routes, paths and bodies (sections 4.3, 5, 7.2 and
 * 9).
 */
import {
  accepts,
  type CaseDefinition,
  type CaseRow,
  defineCases,
  learnt,
  type Row,
  verdict,
} from "../case.js";
import { NotTried } from "../errors.js";
import type { Answer } from "../exchange.js";
import { askServed, type Kit, lifetimeOf, shownAnswer, tokenIn, type Variant } from "../kit.js";
import { exampleOf, inferSchema } from "../learning/schema.js";
import type { DeploymentSettings } from "../learning/settings.js";
import { randomText } from "../person.js";
import type { Need } from "../target.js";
import { codeOf, control, controlNeeds, exchange } from "./codes.js";
import { isAccepted, isRefusal, requireAccepted } from "./judge.js";

/** The machine credential of each variant. */
const credential: Readonly<Record<Variant, readonly Need[]>> = {
  A: ["tenantId", "plugin"],
  B: ["serviceAccount"],
};

/**
 * The device list for a right token, the control of every call here.
 * @throws NotTried if it is refused
 */
async function deviceList(kit: Kit, variant: Variant) {
  const note = "the device list with a right bearer";
  const answer = await kit.share(`device list ${variant}`, async () =>
    kit.call(note, variant, await kit.token(variant), { observe: "listDevices" }),
  );
  return requireAccepted(answer, "The device list was refused to a right bearer");
}

/** Calls the device list with a bearer that must be refused, once for all cases. */
async function badBearer(kit: Kit, variant: Variant, kind: "missing" | "unknown" | "foreign") {
  await deviceList(kit, variant);
  return kit.share(`bearer ${variant} ${kind}`, async () => {
    const isForeign = kind === "foreign";
    const token = isForeign
      ? await kit.token(variant)
      : kind === "unknown"
        ? await unknownToken(kit, variant)
        : undefined;
    const route = isForeign ? kit.deviceRoute("A", kit.need("secondTenantId")) : undefined;
    const note = `the device list with a bearer that is ${kind}`;
    return kit.call(note, variant, token, { route, observe: "bearer" });
  });
}

/**
 * A token that the variant did not issue: for Variant A one of Variant B, if both are there, else a
 * made-up one.
 */
async function unknownToken(kit: Kit, variant: Variant) {
  const isBoth = variant === "A" && kit.target.serviceAccount !== undefined;
  if (!isBoth || !(await askServed(kit, "B")).isServed) return randomText();
  return (await kit.control("B")).accessToken ?? randomText();
}

/**
 * Calls a route of the target. One that is not a GET would be executed by a deployment that checks
 * nothing.
 */
function callRoute(
  kit: Kit,
  name: "closedRoute" | "otherScopeRoute" | "deviceRoute",
  token = () => kit.token("A"),
) {
  const route = kit.need(name);
  if (!route.startsWith("GET ") && !kit.isNamed)
    throw new NotTried(
      "The route is not a GET, so it could change something. Name the case to try it.",
    );
  return kit.share(name, async () => {
    await deviceList(kit, "A");
    return kit.call(`the ${name} of the target`, "A", await token(), { route });
  });
}

async function restrictedToken(kit: Kit) {
  const note = "a right token request of the restricted plugin";
  const answer = await kit.requestTokenOfA(note, { plugin: kit.need("restrictedPlugin") });
  return tokenIn(answer, "The credential of the restricted plugin", "refused");
}

/** Calls the device list for an operator without the capability for it. */
function callLimited(kit: Kit) {
  return kit.share("limited operator", async () => {
    requireAccepted((await control(kit)).list, "An operator with the capability was refused too");
    const launched = await kit.ask(
      "The host refused to launch the plugin",
      kit.need("limitedLaunch"),
    );
    const note = "a right exchange of a limited operator";
    const token = tokenIn(await exchange(kit, note, await codeOf(kit, launched)));
    return kit.call("the device list for a limited operator", "A", token);
  });
}

const rightRefused = "A right bearer was refused";

async function callExpired(kit: Kit, variant: Variant) {
  const token = await kit.token(variant);
  requireAccepted(
    await kit.call("the device list before the token expires", variant, token),
    rightRefused,
  );
  await kit.wait(lifetimeOf(await kit.control(variant)) + 35);
  return kit.call("the device list with an expired bearer", variant, token, { observe: "bearer" });
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
async function look(kit: Kit, token: string | undefined, isFound: typeof isRefusal) {
  for (let index = 0, before = 0; ; index++) {
    const seconds = lookedAt[index] ?? 0;
    if (index > 0) await kit.wait(seconds - before);
    before = seconds;
    const answer = await kit.call(`the device list ${seconds} s after the change`, "A", token);
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
): Promise<Change & { readonly later?: Answer }> {
  return kit.share(name, async () => {
    const { accessToken: token } = await kit.requestTokenOfA(
      "a right token request before the change",
    );
    requireAccepted(await kit.call("the device list before the change", "A", token), rightRefused);
    const undo = await kit.ask(`\`${name}\` of the target failed`, kit.need(name));
    let found: Change;
    let issued: Answer | undefined;
    try {
      found = await look(kit, token, isRefusal);
      if (name === "narrow") issued = await kit.requestTokenOfA("a token request while narrowed");
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
    return { ...found, later: await kit.call(note, "A", narrow) };
  });
}

async function callNarrow(kit: Kit) {
  const { later } = await change(kit, "narrow");
  if (later !== undefined) return later;
  throw new NotTried(
    "There was no token while the plugin was narrowed, or its scope did not come back.",
  );
}

/** A case about a call that must be refused. */
function refused(
  what: string,
  call: (kit: Kit) => Promise<Answer>,
  more: Row = {},
  isRight: (answer: Answer) => boolean = isRefusal,
): CaseRow {
  return {
    says: `This is refused: ${what}.`,
    expected: "A 4xx. The description does not show which.",
    ...more,
    async run(kit) {
      const answer = await call(kit);
      const observed = `${shownAnswer(answer)}.`;
      return isAccepted(answer) ? accepts(observed) : verdict(isRight(answer), observed);
    },
  };
}

/** Cases about one of the three causes of an empty 403 (section 7.2): its status, and its body. */
function forbidden(
  id: string,
  what: string,
  call: (kit: Kit) => Promise<Answer>,
  more: Row,
): Readonly<Record<string, CaseRow>> {
  const isForbidden = ({ status }: Answer) => status === 403;
  return {
    [id]: refused(what, call, { expected: "A 403.", ...more }, isForbidden),
    [`response.forbidden-empty.${id.replace("route.", "")}`]: {
      says: `The 403 has no body: ${what}.`,
      expected: "A 403 with an empty body.",
      ...more,
      section: "7.2",
      async run(kit) {
        const answer = await call(kit);
        if (!isForbidden(answer)) throw new NotTried(`There was no 403 (${shownAnswer(answer)}).`);
        return verdict(answer.text === "", `${shownAnswer(answer)}.`);
      },
    },
  };
}

const changing = { costs: { requests: 45, slots: 2, seconds: 1200 }, safe: false } as const;
const narrowing: Row = { ...changing, needs: ["narrow"] };

function bearerCases(variant: Variant): readonly CaseDefinition[] {
  const of = variant.toLowerCase();
  return defineCases(
    variant,
    { needs: credential[variant], costs: { requests: 5, slots: 1 } },
    {
      [`bearer.present.${of}`]: refused("the device list without a bearer", (kit) =>
        badBearer(kit, variant, "missing"),
      ),
      [`bearer.known.${of}`]: refused(
        "the device list with a bearer that the variant did not issue",
        (kit) => badBearer(kit, variant, "unknown"),
      ),
      [`bearer.lifetime.${of}`]: refused(
        "a bearer 35 s after expires_in, or after one hour if the token response has none",
        (kit) => callExpired(kit, variant),
        { costs: { requests: 3, slots: 0, seconds: 3635 } },
      ),
    },
  );
}

const routeCases = defineCases(
  "A",
  { needs: credential.A, costs: { requests: 5, slots: 1 } },
  {
    "bearer.tenant": refused(
      "the device list of another tenant",
      (kit) => badBearer(kit, "A", "foreign"),
      { needs: ["secondTenantId"] },
    ),
    "route.opt-in": refused(
      "a route that accepts no plugin token",
      (kit) => callRoute(kit, "closedRoute"),
      { needs: ["closedRoute"] },
    ),
    ...forbidden(
      "route.device",
      "a route that names a device outside the restriction of the plugin",
      (kit) => callRoute(kit, "deviceRoute", () => restrictedToken(kit)),
      { needs: ["restrictedPlugin", "deviceRoute"] },
    ),
    // Its rule may be route.scope or route.narrowed: the registration lacks the scope too.
    ...forbidden(
      "route-scope",
      "a route whose scope the plugin was not granted",
      (kit) => callRoute(kit, "otherScopeRoute"),
      { needs: ["otherScopeRoute"], section: "5.6, 7.2" },
    ),
    "bearer.plugin-enabled": refused(
      "the token of a plugin that the customer disabled after it was issued",
      async (kit) => (await change(kit, "disable")).answer,
      { ...changing, needs: ["disable"] },
    ),
    ...forbidden(
      "route.narrowed",
      "a token within minutes after the customer took the scope of the route from the plugin",
      async (kit) => (await change(kit, "narrow")).answer,
      narrowing,
    ),
    ...forbidden(
      "route.scope",
      "a token that lacks the scope of the route, although the plugin has it again",
      callNarrow,
      narrowing,
    ),
  },
);

const limitedCases = defineCases(
  "A",
  {
    needs: [...controlNeeds, "limitedLaunch"],
    costs: { requests: 5, slots: 3, codes: 2 },
  },
  {
    "forbidden-causes": {
      says:
        "A plugin launched by an operator without the capability gets an empty 403, or " +
        "another refusal.",
      async run(kit) {
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
    },
    "route.operator": refused(
      "the device list for an operator without the capability",
      callLimited,
    ),
  },
);

function bodyCases(
  variant: Variant,
  more: Readonly<Record<string, CaseRow>>,
): readonly CaseDefinition[] {
  const of = variant.toLowerCase();
  return defineCases(
    variant,
    { needs: credential[variant], costs: { requests: 7, slots: 1 } },
    {
      [`device-body.${of}`]: {
        says: "The device list has a shape.",
        run: async (kit) => learnt(`The body is ${shapeOf(await deviceList(kit, variant))}.`),
      },
      [`response.raw.${of}`]: {
        says: "The device list is JSON if no X-Envelope is sent.",
        async run(kit) {
          const answer = await deviceList(kit, variant);
          return verdict(answer.value !== undefined, `The body is ${shapeOf(answer)}.`);
        },
      },
      [`refused-bearer-status.${of}`]: {
        section: "5, 7.2",
        says: "Refused bearers have a status and a body, all the same or not.",
        run: (kit) => learnBearerStatus(kit, variant),
      },
      [`envelope.${of}`]: {
        section: "4.3, 9",
        says: "Some value of X-Envelope wraps the device list.",
        run: (kit) => learnEnvelope(kit, variant),
      },
      ...more,
    },
  );
}

const casesOfA = bodyCases("A", {
  "plugin-token-refusal-status": {
    says: "A plugin token gets some status on a route that accepts none.",
    needs: ["closedRoute"],
    async run(kit) {
      const answer = await callRoute(kit, "closedRoute");
      if (!isRefusal(answer))
        throw new NotTried(`The token was not refused (${shownAnswer(answer)}).`);
      return learnt(`${shownAnswer(answer)}.`, { pluginTokenRefusedStatus: answer.status });
    },
  },
  "response.forbidden-empty.bearer": {
    says: "A refused bearer does not get an empty 403, which has exactly three other causes.",
    async run(kit) {
      const answers = [await badBearer(kit, "A", "missing"), await badBearer(kit, "A", "unknown")];
      const isEmpty = answers.some(({ status, text }) => status === 403 && text === "");
      return verdict(!isEmpty, `${answers.map(shownAnswer).join(" and ")}.`);
    },
  },
  "path.version": {
    says: "The device list is not served without the segment v1.",
    run: notServed,
  },
  "path.known": {
    says: "The device list without the segment v1, which is not described, is not served.",
    run: notServed,
  },
  "narrowing-delay": {
    ...narrowing,
    says: "A narrowing of the grant takes effect at once, or within minutes.",
    async run(kit) {
      const { seconds } = await change(kit, "narrow");
      if (seconds === undefined)
        throw new NotTried("The narrowing took no effect within ten minutes.");
      return learnt(`It took effect within ${seconds} s.`, { narrowingDelayMs: seconds * 1000 });
    },
  },
});

async function learnBearerStatus(kit: Kit, variant: Variant) {
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

async function learnEnvelope(kit: Kit, variant: Variant) {
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
    const answer = await kit.call(note, variant, await kit.token(variant), { headers });
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

/** The device list at a path that the description does not show. */
async function notServed(kit: Kit) {
  const answer = await kit.share("unversioned path", async () => {
    await deviceList(kit, "A");
    const route = `GET /api/${kit.need("tenantId")}/devices`;
    return kit.call("the device list without v1", "A", await kit.token("A"), { route });
  });
  const isServed = answer.status >= 500 || (isAccepted(answer) && answer.value !== undefined);
  return verdict(!isServed, `${shownAnswer(answer)}.`);
}

/** What changes the registration comes last. */
export const callCases: readonly CaseDefinition[] = [
  ...casesOfA,
  ...limitedCases,
  ...bodyCases("B", {}),
  ...routeCases,
  ...bearerCases("A"),
  ...bearerCases("B"),
].sort((a, b) => Number(b.safe) - Number(a.safe));
