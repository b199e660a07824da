/** Calls of the API in both variants: bearers, routes, paths and bodies (sections 4.3, 5, 7.2 and 9). */
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
import { askServed, type Kit, lifetimeOf, shownAnswer } from "../kit.js";
import { exampleOf, inferSchema } from "../schema.js";
import type { DeploymentSettings } from "../settings.js";
import type { Need } from "../target.js";
import { codeOf, control, exchange, madeUp } from "./codes.js";

type Variant = "A" | "B";

/** The machine credential of each variant. */
const credential: Readonly<Record<Variant, readonly Need[]>> = {
  A: ["tenantId", "plugin"],
  B: ["serviceAccount"],
};

const isSuccess = ({ status }: Answer) => status >= 200 && status < 300;
const isRefusal = ({ status }: Answer) => status >= 400 && status < 500;

/** The status of a refusal is not shown, so any 4xx will do. */
function refused(answer: Answer): Verdict {
  return (isRefusal(answer) ? holds : breaks)(`${shownAnswer(answer)}.`);
}

/** Undefined if the body is not JSON. */
function jsonOf({ text }: Answer): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function tokenOf(kit: Kit, variant: Variant): Promise<string> {
  return variant === "A" ? kit.tokenOfA() : kit.tokenOfB();
}

/** The device list for a right token, the control of every call here. @throws NotTried if it is refused */
async function deviceList(kit: Kit, variant: Variant): Promise<Answer> {
  const answer = await kit.share(`device list ${variant}`, async () => {
    const token = await tokenOf(kit, variant);
    return kit.call({ note: "the device list with a right bearer", variant, token, observe: "listDevices" });
  });
  if (isSuccess(answer)) return answer;
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
    const observe = "bearer";
    if (kind === "missing") return kit.call({ note: "the device list without a bearer", variant, observe });
    if (kind === "unknown") return kit.call({ ...(await unknownBearer(kit, variant)), variant, observe });
    const note = "the device list of another tenant";
    const route = `GET /api/v1/${kit.need("secondTenantId")}/devices`;
    return kit.call({ note, variant, token: await tokenOf(kit, variant), route, observe });
  });
}

/** A token that the variant did not issue: for Variant A one of Variant B, if both are there, else a made-up one. */
async function unknownBearer(kit: Kit, variant: Variant): Promise<{ note: string; token: string }> {
  const isBoth = variant === "A" && kit.target.serviceAccount !== undefined;
  const other = isBoth && (await askServed(kit, "B")).isServed && (await kit.controlOfB()).accessToken;
  if (other) return { note: "the device list with a bearer of Variant B", token: other };
  return { note: "the device list with a bearer that is made up", token: madeUp() };
}

/** Calls a route of the target. One that is not a GET would be executed by a deployment that checks nothing. */
function callRoute(kit: Kit, name: "closedRoute" | "otherScopeRoute" | "deviceRoute"): Promise<Answer> {
  const route = kit.need(name);
  if (!route.startsWith("GET ") && !kit.isNamed)
    throw new NotTried("The route is not a GET, so it could change something. Name the case to try it.");
  return kit.share(name, async () => {
    await deviceList(kit, "A");
    const token = name === "deviceRoute" ? await restrictedToken(kit) : await kit.tokenOfA();
    return kit.call({ note: `${name} of the target`, variant: "A", route, token });
  });
}

async function restrictedToken(kit: Kit): Promise<string> {
  const plugin = kit.need("restrictedPlugin");
  const answer = await kit.requestTokenOfA({
    note: "a right token request of the restricted plugin",
    plugin,
  });
  if (answer.accessToken !== undefined) return answer.accessToken;
  throw new NotTried(`The credential of the restricted plugin was refused (${shownAnswer(answer)}).`);
}

/** Calls the device list for an operator without the capability for it. */
function limitedCall(kit: Kit): Promise<Answer> {
  return kit.share("limited operator", async () => {
    const { list } = await control(kit);
    if (!isSuccess(list))
      throw new NotTried(`An operator with the capability was refused too (${shownAnswer(list)}).`);
    const launched = await kit
      .need("limitedLaunch")()
      .catch(() => {
        throw new NotTried("The host refused to launch the plugin.");
      });
    const answer = await exchange(kit, "a right exchange of a limited operator", await codeOf(kit, launched));
    const token = answer.accessToken;
    if (token === undefined) throw new NotTried(`A right exchange was refused (${shownAnswer(answer)}).`);
    return kit.call({ note: "the device list for a limited operator", variant: "A", token });
  });
}

/** Seconds after a change at which its effect is looked for: "within minutes" (section 2.1). */
const lookedAt = [0, 1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 150, 180, 240, 300, 360, 420, 480, 540, 600];

const changeCosts = { requests: lookedAt.length + 2, slots: 1, seconds: 600 };
/** With those of the control: two launches, two exchanges and two calls. */
const limitedCosts = { requests: 4, slots: 2, codes: 2 };

interface Change {
  readonly answer: Answer;
  /** Undefined if the calls were not refused within the time. */
  readonly seconds: number | undefined;
}

/** Changes the registration, calls the device list until it is refused, and undoes the change. */
function changed(kit: Kit, name: "narrow" | "disable"): Promise<Change> {
  return kit.share(name, async () => {
    const right = { note: "a token request before the change", isRegular: true };
    const token = (await kit.requestTokenOfA(right)).accessToken;
    const before = await kit.call({ note: "the device list before the change", variant: "A", token });
    if (!isSuccess(before))
      throw new NotTried(`The device list was refused before the change (${shownAnswer(before)}).`);
    const undo = await kit
      .need(name)()
      .catch(() => {
        throw new NotTried(`The hook \`${name}\` of the target failed.`);
      });
    try {
      return await lookUntilRefused(kit, token);
    } finally {
      await undo().catch(() => {
        throw new NotTried(
          `The change by \`${name}\` could not be undone. Correct the registration by hand.`,
        );
      });
    }
  });
}

async function lookUntilRefused(kit: Kit, token: string | undefined): Promise<Change> {
  for (let index = 0; ; index++) {
    const seconds = lookedAt[index] ?? 0;
    if (index > 0) await kit.wait(seconds - (lookedAt[index - 1] ?? 0));
    const note = `the device list ${seconds} s after the change`;
    const answer = await kit.call({ note, variant: "A", token });
    if (isRefusal(answer)) return { answer, seconds };
    if (index === lookedAt.length - 1) return { answer, seconds: undefined };
  }
}

/** The calls for which section 7.2 names an empty 403. */
const forbidden = {
  scope: {
    rule: "route.scope",
    section: "5.6, 7.2",
    says: "A plugin token is refused on a route whose scope it lacks.",
    needs: ["otherScopeRoute"],
    costs: { requests: 3 },
    call: (kit) => callRoute(kit, "otherScopeRoute"),
  },
  device: {
    rule: "route.device",
    section: "2.1, 7.2",
    says: "A plugin that is restricted to devices is refused on a route that names another.",
    needs: ["restrictedPlugin", "deviceRoute"],
    costs: { requests: 4 },
    call: (kit) => callRoute(kit, "deviceRoute"),
  },
  narrowed: {
    rule: "route.narrowed",
    section: "2.1, 7.2",
    says: "A token is refused within minutes after the customer took the scope of the route from the plugin.",
    needs: ["narrow"],
    costs: changeCosts,
    call: async (kit) => (await changed(kit, "narrow")).answer,
    safe: false,
  },
} as const satisfies Record<string, Forbidden>;

interface Forbidden {
  readonly rule: "route.scope" | "route.device" | "route.narrowed";
  readonly section: string;
  readonly says: string;
  readonly needs: readonly Need[];
  readonly costs: Partial<ContractCase["costs"]>;
  readonly call: (kit: Kit) => Promise<Answer>;
  readonly safe?: false;
}

const forbiddenCases = Object.entries<Forbidden>(forbidden).flatMap(
  ([name, { rule, says, call, ...row }]) => {
    const common = { ...row, needs: [...credential.A, ...row.needs] };
    return defineCases("A", {
      [rule]: {
        ...common,
        rule,
        says,
        expected: "The call is refused with 403.",
        async run(kit) {
          const answer = await call(kit);
          return (answer.status === 403 ? holds : breaks)(`${shownAnswer(answer)}.`);
        },
      },
      [`response.forbidden-empty.${name}`]: {
        ...common,
        rule: "response.forbidden-empty",
        says: `The body of that 403 is empty. ${says}`,
        expected: "A 403 with an empty body.",
        async run(kit) {
          const answer = await call(kit);
          if (answer.status !== 403) throw new NotTried(`No 403 came (${shownAnswer(answer)}).`);
          return (answer.text === "" ? holds : breaks)(`${shownAnswer(answer)}.`);
        },
      },
    });
  },
);

const bearerCases = (["A", "B"] as const).flatMap((variant) => {
  const suffix = variant.toLowerCase();
  const needs = credential[variant];
  const refusal = "The call is refused with a 4xx, which the description does not show.";
  return defineCases(variant, {
    [`device-body.${suffix}`]: {
      unknown: "device-body",
      section: "4.3",
      says: "The shape of the device list is learnt.",
      expected: "JSON of a shape that the description does not show.",
      needs,
      costs: { requests: 2 },
      async run(kit) {
        const answer = await deviceList(kit, variant);
        return learnt(`${answer.status} with ${shapeOf(jsonOf(answer))}.`);
      },
    },
    [`response.raw.${suffix}`]: {
      rule: "response.raw",
      section: "4.3, 9",
      says: "The device list is JSON if no X-Envelope is sent.",
      expected: "A success with a JSON body.",
      needs,
      costs: { requests: 2 },
      async run(kit) {
        const answer = await deviceList(kit, variant);
        const shape = shapeOf(jsonOf(answer));
        return (shape === notJson ? breaks : holds)(`${answer.status} with ${shape}.`);
      },
    },
    [`bearer.present.${suffix}`]: {
      rule: "bearer.present",
      section: "5.1",
      says: "A call without a bearer is refused.",
      expected: refusal,
      needs,
      costs: { requests: 3 },
      run: async (kit) => refused(await badBearer(kit, variant, "missing")),
    },
    [`bearer.known.${suffix}`]: {
      rule: "bearer.known",
      section: "5.1",
      says:
        variant === "A"
          ? "A call with a bearer of Variant B, or if there is none with a made-up one, is refused."
          : "A call with a made-up bearer is refused.",
      expected: refusal,
      needs,
      costs: { requests: 5 },
      run: async (kit) => refused(await badBearer(kit, variant, "unknown")),
    },
    [`refused-bearer-status.${suffix}`]: {
      unknown: "refused-bearer-status",
      section: "5, 7.2",
      says: "The status and the body of a refused bearer are learnt, and whether all of them are the same.",
      expected: "A status that the description does not show.",
      needs,
      costs: { requests: 6 },
      run: (kit) => learnBearerStatus(kit, variant),
    },
    [`envelope.${suffix}`]: {
      unknown: "envelope",
      section: "4.3, 9",
      says: "The device list is called with values of X-Envelope, and the answers are compared with the raw one.",
      expected: "Raw or wrapped: the description does not show the values.",
      needs,
      costs: { requests: 5 },
      run: (kit) => learnEnvelope(kit, variant),
    },
  });
});

async function learnBearerStatus(kit: Kit, variant: Variant): Promise<Verdict> {
  const unknown = await badBearer(kit, variant, "unknown");
  const missing = await badBearer(kit, variant, "missing");
  const isForeign = variant === "A" && kit.target.secondTenantId !== undefined;
  const foreign = isForeign ? [await badBearer(kit, variant, "foreign")] : [];
  if (!isRefusal(unknown))
    throw new NotTried(`A bearer of nobody was not refused (${shownAnswer(unknown)}).`);
  const isSame = [missing, ...foreign].every(({ status }) => status === unknown.status);
  const others = foreign.map((answer) => `, of another tenant: ${shownAnswer(answer)}`).join("");
  const statuses = `Unknown: ${shownAnswer(unknown)}, missing: ${shownAnswer(missing)}${others}.`;
  const observed = isSame ? statuses : `${statuses} They differ.`;
  const { status } = unknown;
  return learnt(observed, { bearerStatus: status, bearerStatuses: [status], ...bodyOfBearer(unknown) });
}

/** The body by its types, unless it is what the emulator answers with that status. */
function bodyOfBearer(answer: Answer): DeploymentSettings {
  const bearerBody = exampleOf(jsonOf(answer));
  const isDefault = answer.status !== 401 && JSON.stringify(bearerBody) === '{"error":"invalid_token"}';
  return bearerBody === undefined || isDefault ? {} : { bearerBody };
}

async function learnEnvelope(kit: Kit, variant: Variant): Promise<Verdict> {
  const { target } = kit;
  if (variant === "B" && credential.A.every((name) => target[name] !== undefined))
    if ((await askServed(kit, "A")).isServed) throw new NotTried("It is tried with Variant A.");
  const raw = JSON.stringify(inferSchema(jsonOf(await deviceList(kit, variant))));
  const { envelopes: values = ["true", "full", "data"] } = target;
  const envelope: Record<string, string> = {};
  for (const value of values) {
    const note = "the device list with X-Envelope";
    const headers = { "x-envelope": value };
    const answer = await kit.call({ note, variant, token: await tokenOf(kit, variant), headers });
    // Devices change from call to call, so their shapes are compared and not their values.
    const wrapped = Object.entries(answer.fields ?? {}).find(
      ([, member]) => JSON.stringify(inferSchema(member)) === raw,
    );
    if (isSuccess(answer) && wrapped !== undefined) envelope[value] = wrapped[0];
  }
  const found = Object.entries(envelope).map(([value, member]) => `${value} wraps the body in ${member}`);
  return learnt(`Of ${values.join(", ")}: ${found.join(", ") || "none wraps the body"}.`, { envelope });
}

const notJson = "a body that is not JSON";

function shapeOf(value: unknown): string {
  if (value === undefined) return notJson;
  if (!Array.isArray(value)) return typeof value === "object" ? "a JSON object" : `a JSON ${typeof value}`;
  return `a JSON array${value.length > 0 ? ` of type ${typeof value[0]}` : ", which is empty"}`;
}

/** A path that the description does not show: the device list without the segment v1. */
function callUnversioned(kit: Kit): Promise<Answer> {
  return kit.share("unversioned path", async () => {
    await deviceList(kit, "A");
    const route = `GET /api/${kit.need("tenantId")}/devices`;
    return kit.call({ note: "the device list without v1", variant: "A", route, token: await kit.tokenOfA() });
  });
}

function notServed(answer: Answer): Verdict {
  const isServed = answer.status >= 500 || (isSuccess(answer) && jsonOf(answer) !== undefined);
  return (isServed ? breaks : holds)(`${shownAnswer(answer)}.`);
}

const routeCases = defineCases("A", {
  "bearer.tenant": {
    rule: "bearer.tenant",
    section: "1, 4.1, 5.7",
    says: "A bearer is refused on the device list of another tenant.",
    expected: "The call is refused with a 4xx, which the description does not show.",
    needs: [...credential.A, "secondTenantId"],
    costs: { requests: 3 },
    run: async (kit) => refused(await badBearer(kit, "A", "foreign")),
  },
  "route.opt-in": {
    rule: "route.opt-in",
    section: "5.5, 7.2",
    says: "A plugin token is refused on a route that accepts none.",
    expected: "The call is refused with a 4xx, which the description does not show.",
    needs: [...credential.A, "closedRoute"],
    costs: { requests: 3 },
    run: async (kit) => refused(await callRoute(kit, "closedRoute")),
  },
  "plugin-token-refusal-status": {
    unknown: "plugin-token-refusal-status",
    section: "7.2",
    says: "The status for a plugin token on a route that accepts none is learnt.",
    expected: "A status that the description does not show.",
    needs: [...credential.A, "closedRoute"],
    costs: { requests: 3 },
    async run(kit) {
      const answer = await callRoute(kit, "closedRoute");
      if (!isRefusal(answer)) throw new NotTried(`The token was not refused (${shownAnswer(answer)}).`);
      return learnt(`${shownAnswer(answer)}.`, { pluginTokenRefusedStatus: answer.status });
    },
  },
  "response.forbidden-empty.bearer": {
    rule: "response.forbidden-empty",
    section: "7.2",
    says: "A refused bearer does not get an empty 403, which has exactly three other causes.",
    expected: "Another status than 403, or a body.",
    needs: credential.A,
    costs: { requests: 6 },
    async run(kit) {
      const answers = [await badBearer(kit, "A", "missing"), await badBearer(kit, "A", "unknown")];
      const isEmpty = answers.some(({ status, text }) => status === 403 && text === "");
      return (isEmpty ? breaks : holds)(`${answers.map(shownAnswer).join(" and ")}.`);
    },
  },
  "path.version": {
    rule: "path.version",
    section: "9",
    says: "The device list is not served at a path without the segment v1.",
    expected: "The path is not found.",
    needs: credential.A,
    costs: { requests: 3 },
    run: async (kit) => notServed(await callUnversioned(kit)),
  },
  "path.known": {
    rule: "path.known",
    section: "4.3",
    says: "A path that nobody declared, the device list without v1, is not served.",
    expected: "The path is not found.",
    needs: credential.A,
    costs: { requests: 3 },
    run: async (kit) => notServed(await callUnversioned(kit)),
  },
  "route.operator": {
    rule: "route.operator",
    section: "1",
    says: "The device list is refused to a plugin that an operator without the capability launched.",
    expected: "The call is refused with a 4xx, which the description does not show.",
    needs: ["tenantId", "pagePlugin", "launch", "limitedLaunch"],
    costs: limitedCosts,
    run: async (kit) => refused(await limitedCall(kit)),
  },
  "forbidden-causes": {
    unknown: "forbidden-causes",
    section: "7.2",
    says: "The answer to a plugin that an operator without the capability launched is learnt.",
    expected: "An empty 403, although section 7.2 names three other causes, or another answer.",
    needs: ["tenantId", "pagePlugin", "launch", "limitedLaunch"],
    costs: limitedCosts,
    async run(kit) {
      const answer = await limitedCall(kit);
      if (!isRefusal(answer)) throw new NotTried(`The call was not refused (${shownAnswer(answer)}).`);
      const body = answer.text === "" ? null : exampleOf(jsonOf(answer));
      const isKnown = answer.status === 403 && body !== undefined;
      return learnt(`${shownAnswer(answer)}.`, isKnown ? { missingCapabilityBody: body } : undefined);
    },
  },
  "bearer.plugin-enabled": {
    rule: "bearer.plugin-enabled",
    section: "2.1, 3",
    says: "A token is refused after the customer disabled its plugin.",
    expected: "The call is refused with a 4xx, which the description does not show.",
    needs: [...credential.A, "disable"],
    costs: changeCosts,
    safe: false,
    async run(kit) {
      const { answer, seconds = lookedAt.at(-1) } = await changed(kit, "disable");
      const { result } = refused(answer);
      return { result, observed: `${shownAnswer(answer)}, ${seconds} s after the change.` };
    },
  },
  "narrowing-delay": {
    unknown: "narrowing-delay",
    section: "2.1",
    says: "The time until a narrowing of the grant takes effect is learnt, up to ten minutes.",
    expected: "At once, or within minutes: both are stated.",
    needs: [...credential.A, "narrow"],
    costs: changeCosts,
    safe: false,
    async run(kit) {
      const { seconds } = await changed(kit, "narrow");
      if (seconds === undefined) throw new NotTried("The narrowing took no effect within ten minutes.");
      return learnt(`It took effect within ${seconds} s.`, { narrowingDelayMs: seconds * 1000 });
    },
  },
});

const lifetimeCases = (["A", "B"] as const).flatMap((variant) =>
  defineCases(variant, {
    [`bearer.lifetime.${variant.toLowerCase()}`]: {
      rule: "bearer.lifetime",
      section: "5.7, 5.9, 8",
      says: "A bearer is refused 35 s after expires_in has passed, or after an hour if the answer has none.",
      expected: "The call is refused with a 4xx, which the description does not show.",
      needs: credential[variant],
      costs: { requests: 3, seconds: 3635 },
      async run(kit) {
        const token = await tokenOf(kit, variant);
        const right = await kit.call({ note: "the device list before the token expires", variant, token });
        if (!isSuccess(right))
          throw new NotTried(`The device list was refused to a right bearer (${shownAnswer(right)}).`);
        await kit.wait(lifetimeOf(await (variant === "A" ? kit.controlOfA() : kit.controlOfB())) + 35);
        return refused(
          await kit.call({
            note: "the device list with an expired bearer",
            variant,
            token,
            observe: "bearer",
          }),
        );
      },
    },
  }),
);

/** What changes the registration comes last. */
export const callCases: readonly CaseDefinition[] = [
  ...bearerCases,
  ...routeCases,
  ...forbiddenCases,
  ...lifetimeCases,
];
