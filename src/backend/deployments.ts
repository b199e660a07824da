/**
 * The deployments that people come from. A request can only choose one of those that are
 * configured.
 */
import { z } from "zod";
import { type PersonCredential, personDriverOf } from "../auth/credentials/credential.js";
import type { ResolvedAuthOptions } from "../client-options.js";
import { inTime } from "../clock.js";
import { TransportError, type Variant } from "../errors.js";
import { unknownMembers } from "../option-names.js";
import { invalidOption } from "../options.js";
import type { PendingLogin } from "../people.js";
import { isUnderBase, parseBaseUrl, parseTarget, parseTenantId } from "../variants/target.js";

interface DeploymentOfATenant {
  /** For a deployment with only a login, choose any name, because Variant B has no tenant ids. */
  readonly tenantId: string;
  readonly baseUrl: string;
}

/**
 * A deployment whose host application launches the plugin (Variant A). People may log in to it as
 * well.
 */
export interface LaunchDeployment extends DeploymentOfATenant {
  /** The exact origin of the host application that embeds the plugin's page. */
  readonly hostOrigin: string;
  /** Made with `userInterfacePlugin`. */
  readonly launch: PersonCredential<"A">;
  readonly login?: PersonCredential<"B"> | undefined;
}

/** A deployment that people log in to (Variant B). */
export interface LoginDeployment extends DeploymentOfATenant {
  readonly hostOrigin?: string | undefined;
  readonly launch?: undefined;
  /**
   * Made with `apiClient`. Its redirectUri is the address of the route `callback`, or of a path
   * below it. Each deployment needs one of its own (RFC 9700 section 4.4.2.2). Default: such as
   * `/auth/callback/acme`.
   */
  readonly login: PersonCredential<"B">;
}

/**
 * A deployment from which people of one tenant come, by launch (Variant A), login (Variant B) or
 * both.
 */
export type BackendDeployment = LaunchDeployment | LoginDeployment;

/**
 * Describes the deployment to look up, which must have the same value in each field that is
 * present.
 */
export interface DeploymentQuery {
  readonly purpose: "launch" | "login";
  /** Absent when a login was requested without a tenant. */
  readonly tenantId?: string;
  /** The host application that the page reports, if this is for a launch. */
  readonly hostOrigin?: string;
  /** Present if this is for a session that exists already. */
  readonly baseUrl?: string;
}

/** Looks a deployment up within `timeoutMs`, for instance in a database. */
export type FindDeployment = (
  query: DeploymentQuery,
) => BackendDeployment | undefined | Promise<BackendDeployment | undefined>;

/** The checked options of a backend that its deployments must fit. */
export interface DeploymentOptions extends Omit<ResolvedAuthOptions, "store"> {
  readonly path: string;
  readonly publicOrigin: string | undefined;
}

const credential = <V extends "A" | "B">(variant: V, factory: string) =>
  z
    .custom<PersonCredential<V>>((value) => {
      const { use, variant: own } = (value ?? {}) as { use?: unknown; variant?: unknown };
      return use === "person" && own === variant;
    }, `must be made with ${factory}`)
    .optional();
const text = z.string("must be a string");
const deploymentSchema = z
  .strictObject({
    tenantId: text,
    baseUrl: text,
    hostOrigin: text.optional(),
    launch: credential("A", "userInterfacePlugin"),
    login: credential("B", "apiClient"),
  })
  .refine(
    ({ launch, login }) => launch || login,
    "needs launch (userInterfacePlugin), login (apiClient) or both",
  )
  .refine(
    ({ launch, hostOrigin }) => launch === undefined || hostOrigin !== undefined,
    "has a launch, so it needs hostOrigin: the origin of its host application",
  );

export interface Deployments {
  /** Whether a login may be configured; always `true` with a function. */
  readonly mayLogIn: boolean;
  /** Finds the deployment that matches the whole query. For `leave` see `LimitedExchange`. */
  findDeployment(
    query: DeploymentQuery,
    leave?: () => () => void,
  ): Promise<BackendDeployment | undefined>;
  /** Refuses a login whose callback could not be told from another's. @throws ConfigurationError */
  checkLogin(login: PendingLogin, deployment: BackendDeployment, own: string): void;
}

/** @throws ConfigurationError */
export function parseDeployments(given: unknown, options: DeploymentOptions): Deployments {
  const list = typeof given === "function" ? [] : parseList(given, options);
  const areDistinct = typeof given !== "function" && areLoginsDistinct(list, options);
  const lookUp = async (find: FindDeployment, query: DeploymentQuery) => {
    const variant = query.purpose === "launch" ? "A" : "B";
    const found = await answerOf("deployments", () => find(query), options, variant);
    // `table[tenantId]` finds members of Object.prototype too, such as `constructor`.
    const isNone = found === undefined || found === null || found === Object.prototype;
    if (isNone || typeof found === "function") return [];
    return [parseDeployment(found, options, "the result of deployments()")];
  };
  return {
    mayLogIn: typeof given === "function" || list.some(({ login }) => login !== undefined),
    async findDeployment(query, leave) {
      // A lookup may put these values into a path or a database query, so they must be well-formed.
      if (!isWellFormed(query, options)) return undefined;
      const lookedUp = typeof given === "function" && lookUp(given as FindDeployment, query);
      const candidates = lookedUp ? await lookedUp.finally(leave?.()) : list;
      // A lookup may return another customer's deployment by mistake.
      const [found, ...others] = candidates.filter((deployment) => matches(deployment, query));
      // A login without a tenant is ambiguous where several deployments fit.
      return others.length === 0 ? found : undefined;
    },
    checkLogin({ redirectUri, issuer }, { tenantId, baseUrl }, own) {
      requireOwnRedirectUri(redirectUri, own);
      if (areDistinct) return;
      // The other deployments are unknown, so only this one may be able to have this address or
      // issuer.
      const ending = new URL(`/${tenantId}/`, own).pathname;
      const hasIssuer = URL.canParse(issuer ?? "") && isUnderBase(new URL(issuer ?? ""), baseUrl);
      if (!hasIssuer && !callbackRoute(redirectUri, options.path).endsWith(ending))
        throw mixUp(
          "must hold logins whose redirectUri ends with the tenantId, or whose issuer is " +
            "under baseUrl",
        );
    },
  };
}

/** Asks a function of the caller's, which may also throw synchronously, within `timeoutMs`. */
export function answerOf(
  name: string,
  ask: () => unknown,
  { timeoutMs, clock }: DeploymentOptions,
  variant?: Variant,
): Promise<unknown> {
  return inTime((async () => ask())(), timeoutMs, clock, () => {
    const message =
      `The function ${name} did not answer within ${timeoutMs} ms. ` +
      "Check what it waits for, or raise timeoutMs.";
    return new TransportError("timed_out", message, { retryable: true, variant });
  });
}

/** The callback address of a login whose credential has none. */
export function defaultRedirectUri(own: string, path: string, tenantId: string): string {
  return new URL(`${path}/callback/${tenantId}`, own).href;
}

/**
 * The path from the route on. A proxy may change the part before it. A later segment may be
 * `callback`.
 */
export function callbackRoute(url: string, path: string): string {
  const segments = `${new URL(url).pathname}/`;
  const at = segments.indexOf(`${path}/callback/`);
  return segments.slice(at < 0 ? segments.indexOf("/callback/") : at + path.length);
}

/**
 * Returns whether the callbacks of all logins are known to differ. They are not where a credential
 * is a function. Logins with one base URL need not differ: their codes can be sent to one place
 * only.
 *
 * @throws ConfigurationError if a callback could belong to two logins
 */
function areLoginsDistinct(
  list: readonly BackendDeployment[],
  { path, publicOrigin }: DeploymentOptions,
): boolean {
  const logins = list.flatMap(({ login, tenantId, baseUrl }) => {
    if (login === undefined) return [];
    const settings = personDriverOf(login, "B").check?.();
    const { redirectUri, issuer } = settings ?? {};
    // This is checked now, because at the first login only the person would see the error.
    if (redirectUri !== undefined) requireOwnRedirectUri(redirectUri, publicOrigin);
    const url =
      redirectUri ?? defaultRedirectUri(publicOrigin ?? "https://unknown.invalid", path, tenantId);
    const origin = redirectUri === undefined ? publicOrigin : new URL(url).origin;
    return [
      { isKnown: settings !== undefined, route: callbackRoute(url, path), origin, baseUrl, issuer },
    ];
  });
  const known = logins.filter(({ isKnown }) => isKnown);
  const mayBeEqual = (one = "", other = "") => one === "" || other === "" || one === other;
  const isMixedUp = known.some((one) =>
    known.some(
      (other) =>
        one.baseUrl !== other.baseUrl &&
        one.route === other.route &&
        mayBeEqual(one.origin, other.origin) &&
        mayBeEqual(one.issuer, other.issuer),
    ),
  );
  if (isMixedUp) throw mixUp("must not hold logins at several base URLs with one redirectUri");
  return known.length === logins.length || new Set(logins.map(({ baseUrl }) => baseUrl)).size === 1;
}

function mixUp(problem: string): Error {
  const remedy =
    "Otherwise one deployment could receive another's codes (RFC 9700 section 4.4). " +
    "Leave redirectUri out to have one for each tenant, such as " +
    "https://planner.example/auth/callback/acme, or set issuer in each.";
  return invalidOption("deployments", problem, remedy);
}

function matches(deployment: BackendDeployment, { purpose, ...fields }: DeploymentQuery): boolean {
  const wanted = Object.entries(fields) as [keyof typeof fields, string | undefined][];
  return (
    deployment[purpose] !== undefined &&
    wanted.every(([field, value]) => value === undefined || deployment[field] === value)
  );
}

function isWellFormed(
  { tenantId, hostOrigin }: DeploymentQuery,
  options: DeploymentOptions,
): boolean {
  if (hostOrigin !== undefined && originOf(hostOrigin, options.allowInsecureHttp) !== hostOrigin)
    return false;
  try {
    if (tenantId !== undefined) parseTenantId(tenantId, options.tenantIdPattern);
    return true;
  } catch {
    return false;
  }
}

function parseList(given: unknown, options: DeploymentOptions): readonly BackendDeployment[] {
  if (!Array.isArray(given) || given.length === 0)
    throw invalidOption("deployments", "must be a function or a non-empty array of deployments");
  const list = given.map((one, index) => parseDeployment(one, options, `deployments[${index}]`));
  const names = list.flatMap(({ launch, login, tenantId, hostOrigin }) => [
    ...(launch ? [`${hostOrigin} ${tenantId}`] : []),
    ...(login ? [tenantId] : []),
  ]);
  if (new Set(names).size === names.length) return list;
  const twice =
    "two launches with the same hostOrigin and tenantId, or two logins with the same tenantId";
  throw invalidOption("deployments", `must not hold ${twice}`);
}

function parseDeployment(
  given: unknown,
  options: DeploymentOptions,
  where: string,
): BackendDeployment {
  const invalid = (problem: string) =>
    invalidOption("deployments", `must hold valid deployments: ${problem}`);
  const parsed = deploymentSchema.safeParse(given, { error: unknownMembers });
  if (!parsed.success)
    throw invalid(
      parsed.error.issues
        .map(({ path, message }) => `${[where, ...path].join(".")} ${message}`)
        .join("; "),
    );
  const { tenantId, baseUrl, hostOrigin } = parsed.data;
  if (hostOrigin !== undefined && originOf(hostOrigin, options.allowInsecureHttp) !== hostOrigin)
    throw invalid(`${where}.hostOrigin must be an origin such as "https://customer.example"`);
  return {
    ...(parsed.data as BackendDeployment),
    ...parseTarget({ tenantId, baseUrl }, options, undefined),
  };
}

/**
 * IPv6, or names of letters, digits, `-` and `_`. URLs also take `*`, empty labels and more, which
 * DNS never resolves.
 */
const hostPattern = /^(?:\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?)$/;

/**
 * Returns `undefined` if the string is not the origin of a page that browsers open, or names plain
 * http to another machine.
 */
export function originOf(
  value: string,
  allowInsecureHttp: boolean | undefined,
): string | undefined {
  try {
    const given = parseBaseUrl(value, allowInsecureHttp);
    const { origin, hostname } = new URL(given);
    return origin === given && hostPattern.test(hostname) ? origin : undefined;
  } catch {
    return undefined;
  }
}

/** Refuses another origin than `own`, because the browser would not send the login cookie there. */
function requireOwnRedirectUri(redirectUri: string, own: string | undefined): void {
  const { origin, pathname } = new URL(redirectUri);
  const must = "must hold logins whose redirectUri";
  if (!/\/callback(?:\/|$)/.test(pathname))
    throw invalidOption(
      "deployments",
      `${must} has a path that ends with /callback or continues below it`,
    );
  if (own !== undefined && origin !== own)
    throw invalidOption(
      "deployments",
      `${must} is at the origin of this backend, ${own}`,
      "Use the same host name for both (localhost and 127.0.0.1 differ), or set publicUrl if a " +
        "proxy changes it.",
    );
}
