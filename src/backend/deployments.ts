/** One customer's deployment as the backend knows it, and how the right one is found: never by what a page says it is. */
import { z } from "zod";
import type { PersonCredential } from "../auth/credential.js";
import { personDriverOf } from "../auth/person-credential.js";
import { ConfigurationError } from "../errors.js";
import { parseBaseUrl, parseTenantId } from "../variants/target.js";
import type { SessionSubject } from "./sessions.js";

interface DeploymentOfATenant {
  /** With a login alone a name of yours: Variant B knows none. */
  readonly tenantId: string;
  readonly baseUrl: string;
}

/** A deployment whose host application launches the plugin (Variant A); people may log in to it too. */
export interface LaunchDeployment extends DeploymentOfATenant {
  /** The exact origin of the host application whose iframe the plugin's page is in. */
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
   * Made with `apiClient`. Its redirectUri is the address of the route `callback`, or of a path below it: give
   * deployments that do not trust each other one each, as `/auth/callback/acme` (RFC 9700 section 4.4.2.2).
   */
  readonly login: PersonCredential<"B">;
}

/** A deployment that people of one tenant come from: by a launch (Variant A), a login (Variant B), or either. */
export type BackendDeployment = LaunchDeployment | LoginDeployment;

/** What a deployment is looked up by; what is there must be equal in the one that is given. */
export interface DeploymentQuery {
  readonly purpose: "launch" | "login";
  /** Left out when a login was asked for without naming a tenant. */
  readonly tenantId?: string;
  /** Of a launch: where its page says it was launched. */
  readonly hostOrigin?: string;
  /** Of a session that is there already. */
  readonly baseUrl?: string;
}

/** Looks a deployment up, in a database for instance. */
export type FindDeployment = (
  query: DeploymentQuery,
) => BackendDeployment | undefined | Promise<BackendDeployment | undefined>;

export interface DeploymentOptions {
  readonly allowInsecureHttp?: boolean | undefined;
  readonly tenantIdPattern?: RegExp | undefined;
  /** Where browsers reach the backend, as far as that is known before any came. */
  readonly publicOrigin?: string | undefined;
}

const text = z.string("is no text");
const shape = z.strictObject({
  tenantId: text,
  baseUrl: text,
  hostOrigin: text.optional(),
  launch: z
    .custom<PersonCredential<"A">>((value) => isCredential(value, "A"), {
      error: ({ input }) => `${kindOf(input)}: a launch takes what userInterfacePlugin gives`,
    })
    .optional(),
  login: z
    .custom<PersonCredential<"B">>((value) => isCredential(value, "B"), {
      error: ({ input }) => `${kindOf(input)}: a login takes what apiClient gives`,
    })
    .optional(),
});

export class Deployments {
  readonly #find: FindDeployment;
  readonly #options: DeploymentOptions;

  /** @throws ConfigurationError when one of a list is wrong, or two cannot be told apart */
  constructor(given: unknown, options: DeploymentOptions) {
    this.#options = options;
    this.#find = typeof given === "function" ? (given as FindDeployment) : findIn(parseList(given, options));
  }

  /** The one that matches the whole query, checked again: a lookup must not give another customer's. */
  async find(query: DeploymentQuery): Promise<BackendDeployment | undefined> {
    // What could be no deployment's name is looked up nowhere: a lookup may put it into a path or a query.
    if (!isNameable(query, this.#options)) return undefined;
    const given: unknown = await this.#find(query);
    if (given === undefined || given === null || isInherited(given)) return undefined;
    const deployment = parseDeployment(given, this.#options, "what deployments gave");
    return matches(deployment, query) ? deployment : undefined;
  }

  /** The deployment of a session; none once it was moved or is not configured any more. */
  async ofSession({
    variant,
    tenantId,
    baseUrl,
    hostOrigin,
  }: SessionSubject): Promise<BackendDeployment | undefined> {
    if (variant === "B") return this.find({ purpose: "login", tenantId, baseUrl });
    return this.find({ purpose: "launch", tenantId, baseUrl, ...(hostOrigin && { hostOrigin }) });
  }
}

function matches(deployment: BackendDeployment, { purpose, ...wanted }: DeploymentQuery): boolean {
  if (deployment[purpose] === undefined) return false;
  return Object.entries(wanted).every(
    ([key, value]) => value === undefined || deployment[key as keyof BackendDeployment] === value,
  );
}

function isNameable({ tenantId, hostOrigin }: DeploymentQuery, options: DeploymentOptions): boolean {
  if (hostOrigin !== undefined && !isOrigin(hostOrigin, options)) return false;
  try {
    if (tenantId !== undefined) parseTenantId(tenantId, options.tenantIdPattern);
    return true;
  } catch {
    return false;
  }
}

/** What `table[tenantId]` gives for a tenant that is called `constructor` or `__proto__`. */
function isInherited(given: unknown): boolean {
  return typeof given === "function" || given === Object.prototype;
}

function findIn(list: readonly BackendDeployment[]): FindDeployment {
  return (query) => {
    const found = list.filter((deployment) => matches(deployment, query));
    // A login without a tenant, where several could be meant, is nobody's.
    return found.length === 1 ? found[0] : undefined;
  };
}

function parseList(given: unknown, options: DeploymentOptions): readonly BackendDeployment[] {
  if (!Array.isArray(given) || given.length === 0)
    throw invalid("deployments is neither a function nor a list with at least one deployment");
  const list = given.map((one, index) => parseDeployment(one, options, `deployments[${index}]`));
  // At the first login it would be too late: nobody but the person would see it.
  for (const { login } of list) {
    const seen = login && personDriverOf(login, "B").look?.();
    if (seen !== undefined) requireWayBack(seen.redirectUri, options.publicOrigin);
  }
  const names = list.flatMap(({ launch, login, tenantId, hostOrigin }) => [
    ...(launch === undefined ? [] : [JSON.stringify(["launch", hostOrigin, tenantId])]),
    ...(login === undefined ? [] : [JSON.stringify(["login", tenantId])]),
  ]);
  if (new Set(names).size < names.length)
    throw invalid(
      "deployments holds two that cannot be told apart: launches by hostOrigin and tenantId, logins by tenantId",
    );
  return list;
}

/** @throws ConfigurationError `option_invalid`, `base_url_invalid`, `base_url_insecure`, `tenant_id_invalid` */
function parseDeployment(given: unknown, options: DeploymentOptions, where: string): BackendDeployment {
  const parsed = shape.safeParse(given);
  if (!parsed.success) {
    const wrong = parsed.error.issues.map(({ path, message }) => `${[where, ...path].join(".")}: ${message}`);
    throw invalid(wrong.join("; "));
  }
  const { hostOrigin, launch, login } = parsed.data;
  if (hostOrigin !== undefined && !isOrigin(hostOrigin, options))
    throw invalid(`${where}.hostOrigin: is no origin such as "https://customer.example"`);
  const target = {
    tenantId: parseTenantId(parsed.data.tenantId, options.tenantIdPattern),
    baseUrl: parseBaseUrl(parsed.data.baseUrl, options.allowInsecureHttp),
  };
  if (launch === undefined) {
    if (login !== undefined) return { ...target, hostOrigin, login };
    throw invalid(`${where}: has neither launch (userInterfacePlugin) nor login (apiClient)`);
  }
  if (hostOrigin !== undefined) return { ...target, hostOrigin, launch, login };
  throw invalid(`${where}: has a launch, but no hostOrigin: name the origin of its host application`);
}

function isOrigin(value: string, { allowInsecureHttp }: DeploymentOptions): boolean {
  try {
    return parseBaseUrl(value, allowInsecureHttp) === value && new URL(value).origin === value;
  } catch {
    return false;
  }
}

/** What a mistaken credential was made with, for whoever has exchanged two. */
function kindOf(value: unknown): string {
  if (isCredential(value, "A")) return "is of Variant A (userInterfacePlugin)";
  if (isCredential(value, "B")) return "is of Variant B (apiClient)";
  const { use } = (value ?? {}) as { use?: unknown };
  return use === "machine" ? "is a machine's (servicePlugin or serviceAccount)" : "is no credential";
}

function isCredential(value: unknown, variant: "A" | "B"): boolean {
  const { use, variant: own } = (value ?? {}) as { use?: unknown; variant?: unknown };
  return use === "person" && own === variant;
}

function invalid(why: string): ConfigurationError {
  return new ConfigurationError("option_invalid", `${why}.`, { option: "deployments" });
}

/**
 * A cookie set here is not sent to another host, and then no login could ever be completed.
 *
 * @param own the origin of this backend, as far as it is known
 * @throws ConfigurationError `option_invalid`
 */
export function requireWayBack(redirectUri: string, own: string | undefined): void {
  const { origin, pathname } = new URL(redirectUri);
  if (!/\/callback(?:\/|$)/.test(pathname))
    throw wrong("does not lead to the route callback: its path must end with /callback, or go on below it");
  if (own === undefined || origin === own) return;
  throw wrong(
    `is at another origin than this backend (${own}), so that the login cookie would not come back with the person. Use the same for both (localhost and 127.0.0.1 are two), or give publicUrl if a proxy changes it`,
  );
}

function wrong(why: string): ConfigurationError {
  return new ConfigurationError("option_invalid", `The redirectUri of the login ${why}.`, {
    option: "deployments",
  });
}
