// Plays one situation: a client does its work against the honest server, and every outcome is
// judged the same way.
import "../support/load-at-once.js";
import { createHash, sign } from "node:crypto";
import { expect } from "vitest";
import {
  type AccessToken,
  type ApiError,
  apiClient,
  beginLogin,
  type Cause,
  completeLogin,
  connect,
  createAuth,
  createService,
  isBivariantError,
  memoryStore,
  redeemLaunch,
  resumeAuth,
  type ServiceAccountSettings,
  type ServiceEvent,
  type ServicePluginSettings,
  serviceAccount,
  servicePlugin,
  userInterfacePlugin,
} from "../../src/index.js";
import { rsaKey } from "../support/keys.js";
import { shown } from "../support/shown.js";
import {
  type Answers,
  CLIENT_SECRET,
  type Kind,
  REDIRECT_URI,
  type World,
} from "./honest-server.js";

export type Way =
  | "connect, Variant A"
  | "connect, Variant B"
  | "connect, both variants"
  | "connect, Variant B preferred"
  | "createAuth, Variant A"
  | "createAuth, Variant B"
  | "redeemLaunch"
  | "completeLogin"
  | "resumeAuth";

/** `works`, or the class and the code of the error. */
export type Expected = "works" | `${string}Error ${string}`;

/** A situation and its outcome, written from the description and the design before it was run. */
export interface Row {
  /** The situation; the way and the outcome are added to it. */
  readonly name: string;
  readonly way: Way;
  readonly expected: Expected;
  /** The requests that `answers` is for. Default: the token requests of the way. */
  readonly at?: Kind;
  /** One answer for all requests, or a list after which the honest answers come. */
  readonly answers?: Answers;
  readonly world?: Partial<World>;
  readonly options?: object;
  readonly credential?: object;
  /** How old the token is when the call is made. */
  readonly ageMs?: number;
  readonly call?: (service: AnyService) => Promise<unknown>;
  /** The outcome of asking for a token two minutes later; a class alone allows any of its codes. */
  readonly later?: Expected | "LoginRequiredError";
  readonly sent?: Partial<Record<Kind, number>>;
  /** Fields of the token. */
  readonly token?: Readonly<Record<string, unknown>>;
  /** Fields of the outcome of the call. */
  readonly outcome?: object;
  /** An event that must be reported. */
  readonly event?: RegExp;
  /** A text of the message or of a cause. */
  readonly says?: RegExp;
  /** The ids of the causes, in their order. */
  readonly causes?: RegExp;
  /** The least length of the longest wait. */
  readonly waitsMs?: number;
}

/** A service of any operations, since those of the situations are in no document. */
export interface AnyService {
  readonly auth: { getAccessToken(): Promise<AccessToken> };
  call(id: string, init?: object): Promise<unknown>;
  fetch(url: string, init?: RequestInit): Promise<Response>;
}

const operation = (method: string, path: string) => ({ method, path, success: [200], failure: [] });
const operationsUnder = (prefix: string) => ({
  listDevices: operation("GET", `${prefix}/devices`),
  POST: operation("POST", `${prefix}/devices`),
  PUT: operation("PUT", `${prefix}/devices`),
});
const api = { operations: { A: operationsUnder("/api/v1/{tenantId}"), B: operationsUnder("/v1") } };

const codeVerifier = "v".repeat(43);
const challenge = createHash("sha256").update(codeVerifier).digest("base64url");
/** A signer, as a KMS has one: nothing is imported for each situation. */
const signer = {
  keyId: "key-1",
  sign: (bytes: Uint8Array) => sign("sha256", bytes, rsaKey().privateKey),
};

interface Setting {
  readonly world: World;
  readonly base: { baseUrl: string; tenantId: string };
  /** The options that no Auth takes. */
  readonly calls: object;
  readonly credential: object;
}

const account: ServiceAccountSettings = { clientId: "reports", clientSecret: CLIENT_SECRET };
const plugin: ServicePluginSettings = { clientId: "planner", privateKey: signer };
const portal = {
  clientId: "portal",
  redirectUri: REDIRECT_URI,
  authorizationEndpoint: "/authorize",
};
const pluginOf = ({ credential }: Setting) => servicePlugin({ ...plugin, ...credential });
const accountOf = ({ credential }: Setting) => serviceAccount({ ...account, ...credential });
const serviceOf = (auth: Parameters<typeof createService>[0], { calls }: Setting) =>
  createService(auth, { ...calls, api }) as unknown as AnyService;

type Machine = (setting: Setting) => ReturnType<typeof pluginOf> | ReturnType<typeof accountOf>;
const connecting =
  (...machines: readonly Machine[]) =>
  async (setting: Setting): Promise<AnyService> => {
    const credentials = machines.map((machine) => machine(setting));
    const options = { api, credentials, ...setting.calls, ...setting.base };
    return (await connect(options)) as unknown as AnyService;
  };

async function launching(setting: Setting): Promise<AnyService> {
  const { world, base, credential } = setting;
  const { given, ...settings } = { given: {}, ...credential };
  const launch = { code: world.launch(challenge), codeVerifier, ...given };
  const person = userInterfacePlugin({ ...plugin, ...settings });
  return serviceOf(await redeemLaunch({ ...base, ...launch, credential: person }), setting);
}

/** `callback` changes the address that the person comes back to. */
async function loggingIn(setting: Setting, store = memoryStore()): Promise<AnyService> {
  const { callback, ...settings } = {
    callback: (url: string): unknown => url,
    ...setting.credential,
  };
  const credential = apiClient({ ...portal, ...settings });
  const options = { ...setting.base, credential, store, person: "p" };
  const { url, login } = await beginLogin(options);
  const { headers } = await fetch(url, { redirect: "manual" });
  const callbackUrl = callback(headers.get("location") ?? "") as string;
  return serviceOf(await completeLogin({ ...options, login, callbackUrl }), setting);
}

/** Logs in, lets the token expire, and continues in another process with the same store. */
async function refreshing(setting: Setting): Promise<AnyService> {
  const store = memoryStore({ clock: setting.world.clock });
  const { auth } = await loggingIn(setting, store);
  setting.world.clock.advance(3_600_000);
  const credential = apiClient({ ...portal, ...setting.credential });
  const resumed = await resumeAuth({ ...setting.base, credential, store, person: "p" });
  if (resumed === undefined) throw new Error("the login is not in the store");
  // The first process asks later, so that neither of them may send a spent refresh token.
  const asked: AnyService["auth"][] = [resumed];
  const ask = { getAccessToken: () => (asked.shift() ?? auth).getAccessToken() };
  return { ...serviceOf(resumed, setting), auth: ask };
}

const ways: Readonly<Record<Way, (setting: Setting) => Promise<AnyService>>> = {
  "connect, Variant A": connecting(pluginOf),
  "connect, Variant B": connecting(accountOf),
  "connect, both variants": connecting(pluginOf, accountOf),
  "connect, Variant B preferred": connecting(accountOf, pluginOf),
  "createAuth, Variant A": async (setting) =>
    serviceOf(createAuth({ ...setting.base, credential: pluginOf(setting) }), setting),
  "createAuth, Variant B": async (setting) =>
    serviceOf(createAuth({ ...setting.base, credential: accountOf(setting) }), setting),
  redeemLaunch: launching,
  completeLogin: (setting) => loggingIn(setting),
  resumeAuth: refreshing,
};

const kinds: Partial<Record<Way, Kind>> = {
  redeemLaunch: "code",
  completeLogin: "code",
  resumeAuth: "refresh",
};

/** Plays a row and judges it. */
export async function play(row: Row, world: World): Promise<void> {
  const waits = world.clock.skipSleeps();
  world.onSilence = () => world.clock.expire();
  const events: string[] = [];
  const pluginType = row.way === "redeemLaunch" ? "user interface" : "service";
  Object.assign(world, { pluginType, ...row.world });
  if (row.answers !== undefined) world.answers[row.at ?? kinds[row.way] ?? "token"] = row.answers;
  const { clock } = world;
  const onEvent = ({ type }: ServiceEvent) => void events.push(type);
  const target = { baseUrl: world.baseUrl, tenantId: "acme" };
  const given: Record<string, unknown> = { ...row.options };
  const { maxRetries, unauthorizedStatuses, ...others } = given;
  const base = { ...target, clock, onEvent, retryDeadlineMs: 0, ...others };
  const calls = { maxRetries, unauthorizedStatuses };
  let service: AnyService | undefined;
  let token: AccessToken | undefined;
  const played = await settledAs(async () => {
    service = await ways[row.way]({ world, base, calls, credential: row.credential ?? {} });
    token = await service.auth.getAccessToken();
    world.clock.advance(row.ageMs ?? 0);
    return row.call === undefined ? service.call("listDevices") : row.call(service);
  });
  expect(nameOf(played.error), messageOf(played.error)).toBe(row.expected);
  if (row.later !== undefined) {
    world.clock.advance(120_000);
    const { error } = await settledAs(async () => service?.auth.getAccessToken());
    expect(nameOf(error).startsWith(row.later), `later: ${nameOf(error)}`).toBe(true);
  }
  if (row.sent !== undefined) expect(world.sent).toMatchObject(row.sent);
  if (row.token !== undefined) expect(fieldsOf(token)).toMatchObject(row.token);
  if (row.outcome !== undefined) expect(played.outcome).toMatchObject(row.outcome);
  if (row.event !== undefined) expect(events.join(" ")).toMatch(row.event);
  if (row.waitsMs !== undefined) expect(Math.max(0, ...waits)).toBeGreaterThanOrEqual(row.waitsMs);
  expect(world.misuses).toEqual([]);
  if (played.error !== undefined) judge(played.error as ApiError, played.isThrown, row, world);
}

/** The error of a refused call counts as the error, and so does a rejection. */
async function settledAs(work: () => Promise<unknown>) {
  try {
    const outcome = await work();
    return { outcome, error: (outcome as { error?: unknown } | undefined)?.error, isThrown: false };
  } catch (error) {
    return { outcome: undefined, error, isThrown: true };
  }
}

function nameOf(error: unknown): string {
  if (error === undefined) return "works";
  return isBivariantError(error) ? `${error.name} ${error.code}` : String(error);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "no error";
}

function fieldsOf(token: AccessToken | undefined): Record<string, unknown> {
  const { tenant, operator, roles, expiresAt = 0, issuedAt = 0 } = token ?? {};
  return { tenant, operator, roles, lifetimeSeconds: (expiresAt - issuedAt) / 1_000 };
}

/** What says enough where no answer came, or where its status is not the point. */
const reasons: Readonly<Record<string, RegExp>> = {
  rate_limited: /rate limit/,
  response_redirected: /redirect/,
  response_too_large: /1 MiB/,
  network_failed: /before a complete answer came/,
  timed_out: /within \d+ ms/,
  state_mismatch: /state/,
  login_denied: /denied/,
  login_refused: /refused|authorization response|reports an error|rate limit/,
  launch_refused: /rate limit/,
  launch_expired: /expired/,
  login_expired: /expired/,
  variant_changed: /now serves/,
};
const nextStep =
  /(?:^|[.:;?!)] )(?:Is baseUrl|Check|Ask|Compare|Correct|Wait|Try|Name|Connect|Regenerate|Pass|Set|Leave|Switch|Substitute|Relaunch|Make|Read|Raise|Look|Configure|Delete|Use|Add|See|If you)\b/i;
const endsSession = /\bend (?:the|this|a|your) session|log out|sign out|forget\(/i;

/**
 * No error is poor: its message says what answered and what to do, and nothing in it shows a
 * secret.
 */
function judge(error: ApiError, isThrown: boolean, row: Row, world: World): void {
  const { name, code, message } = error;
  const causes: readonly Cause[] = error.causes ?? [];
  // A launch or login that is over has the refusal, with its causes, as its cause.
  const { causes: deeper = [] } = Object(error.cause) as Partial<ApiError>;
  const remedies = JSON.stringify([...causes, ...deeper]);
  expect(isThrown, "only the error of a refused call is not thrown").toBe(name !== "ApiError");
  const answers = [row.answers ?? []].flat().filter(({ fault }) => fault === undefined);
  const statuses = answers.map(({ status = 200 }) => status);
  const hasStatus = statuses.some((status) => message.includes(String(status)));
  const isUnanswered =
    statuses.length === 0 && /\b[1-5]\d\d\b|no answer|lost|sent before/.test(message);
  const isNamed = hasStatus || isUnanswered || reasons[code]?.test(message) === true;
  const isOfProgram = name === "ConfigurationError";
  expect(isNamed || isOfProgram, `the message does not name what answered: ${message}`).toBe(true);
  // A 304 is what the caller asked for by a header, and there is nothing to do.
  const isUnchanged = /answered 304: nothing has changed\.$/.test(message);
  const helps = causes.length > 0 || isUnchanged || nextStep.test(message);
  const says = isOfProgram && /\bmust\b|It has:|is missing/.test(message);
  expect(helps || says, `the message has no next step: ${message}`).toBe(true);
  expect(remedies).not.toMatch(endsSession);
  // Variant B shows no errors, so that what is likely must be said.
  const isRefusalOfB = name === "TokenRequestError" && error.variant === "B";
  if (isRefusalOfB) expect(causes, `the refusal has no causes: ${message}`).not.toEqual([]);
  if (row.says !== undefined) expect(message + remedies).toMatch(row.says);
  if (row.causes !== undefined) expect(causes.map(({ id }) => id).join(" ")).toMatch(row.causes);
  const fixed = [CLIENT_SECRET, codeVerifier, "eyJ", "secret-of-the-answer"];
  const everything = shown(error);
  for (const secret of [...fixed, ...world.issuedValues]) expect(everything).not.toContain(secret);
}
