/** The deployments that people come from, and how a request finds its own: the page only chooses among those configured. */
import { z } from "zod";
import type { PersonCredential } from "../auth/credentials/credential.js";
import { personDriverOf } from "../auth/credentials/credential.js";
import type { ConfigurationError } from "../errors.js";
import { invalidOption } from "../options.js";
import { parseBaseUrl, parseTenantId } from "../variants/target.js";

interface DeploymentOfATenant {
  /** With only a login it is a name of your own: Variant B has no tenant ids. */
  readonly tenantId: string;
  readonly baseUrl: string;
}

/** A deployment whose host application launches the plugin (Variant A). People may log in to it as well. */
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
   * Made with `apiClient`. Its redirectUri is the address of the route `callback`, or of a path below it. Deployments
   * that do not trust each other need one each, such as `/auth/callback/acme` (RFC 9700 section 4.4.2.2).
   */
  readonly login: PersonCredential<"B">;
}

/** A deployment that people of one tenant come from: by a launch (Variant A), a login (Variant B), or either. */
export type BackendDeployment = LaunchDeployment | LoginDeployment;

/** What a deployment is looked up by. The deployment must be equal in each field that is present. */
export interface DeploymentQuery {
  readonly purpose: "launch" | "login";
  /** Absent when a login was requested without a tenant. */
  readonly tenantId?: string;
  /** For a launch: the host application that the page reports. */
  readonly hostOrigin?: string;
  /** For a session that exists already. */
  readonly baseUrl?: string;
}

/** Looks a deployment up, for instance in a database. */
export type FindDeployment = (
  query: DeploymentQuery,
) => BackendDeployment | undefined | Promise<BackendDeployment | undefined>;

export interface DeploymentOptions {
  readonly allowInsecureHttp?: boolean | undefined;
  readonly tenantIdPattern?: RegExp | undefined;
  /** The origin at which browsers reach the backend, if it is configured. */
  readonly publicOrigin?: string | undefined;
}

const text = z.string("must be a string");
const deploymentSchema = z.strictObject({
  tenantId: text,
  baseUrl: text,
  hostOrigin: text.optional(),
  launch: z
    .custom<PersonCredential<"A">>(
      (value) => isCredential(value, "A"),
      "must be made with userInterfacePlugin",
    )
    .optional(),
  login: z
    .custom<PersonCredential<"B">>((value) => isCredential(value, "B"), "must be made with apiClient")
    .optional(),
});

export class Deployments {
  readonly #options: DeploymentOptions;
  readonly #lookUp: (query: DeploymentQuery) => Promise<BackendDeployment | undefined>;

  /** @throws ConfigurationError when a deployment in the list is wrong, or two cannot be told apart */
  constructor(given: unknown, options: DeploymentOptions) {
    this.#options = options;
    if (typeof given === "function") {
      this.#lookUp = async (query) => {
        const found: unknown = await given(query);
        if (found === undefined || found === null || isInherited(found)) return undefined;
        return parseDeployment(found, options, "the result of deployments()");
      };
      return;
    }
    const list = parseList(given, options);
    this.#lookUp = async (query) => {
      const found = list.filter((deployment) => matches(deployment, query));
      // A login without a tenant is ambiguous where several deployments fit.
      return found.length === 1 ? found[0] : undefined;
    };
  }

  /** The deployment that matches the whole query. A lookup that returns another customer's is not believed. */
  async find(query: DeploymentQuery): Promise<BackendDeployment | undefined> {
    // A lookup may put these values into a path or a database query, so they must be well-formed.
    if (!isWellFormed(query, this.#options)) return undefined;
    const deployment = await this.#lookUp(query);
    return deployment !== undefined && matches(deployment, query) ? deployment : undefined;
  }
}

function matches(
  deployment: BackendDeployment,
  { purpose, tenantId, hostOrigin, baseUrl }: DeploymentQuery,
): boolean {
  return (
    deployment[purpose] !== undefined &&
    (tenantId === undefined || deployment.tenantId === tenantId) &&
    (hostOrigin === undefined || deployment.hostOrigin === hostOrigin) &&
    (baseUrl === undefined || deployment.baseUrl === baseUrl)
  );
}

function isWellFormed({ tenantId, hostOrigin }: DeploymentQuery, options: DeploymentOptions): boolean {
  if (hostOrigin !== undefined && !isOrigin(hostOrigin, options)) return false;
  try {
    if (tenantId !== undefined) parseTenantId(tenantId, options.tenantIdPattern);
    return true;
  } catch {
    return false;
  }
}

/** Whether a lookup by `table[tenantId]` found a member of Object.prototype, such as `constructor`. */
function isInherited(found: unknown): boolean {
  return typeof found === "function" || found === Object.prototype;
}

function parseList(given: unknown, options: DeploymentOptions): readonly BackendDeployment[] {
  if (!Array.isArray(given) || given.length === 0)
    throw invalidOption("deployments", "must be a function or a non-empty array of deployments");
  const list = given.map((one, index) => parseDeployment(one, options, `deployments[${index}]`));
  // Checked now, because at the first login only the person would see the error.
  for (const { login } of list) {
    const settings = login && personDriverOf(login, "B").look?.();
    if (settings !== undefined) requireOwnRedirectUri(settings.redirectUri, options.publicOrigin);
  }
  const names = list.flatMap(({ launch, login, tenantId, hostOrigin }) => [
    ...(launch === undefined ? [] : [JSON.stringify(["launch", hostOrigin, tenantId])]),
    ...(login === undefined ? [] : [JSON.stringify(["login", tenantId])]),
  ]);
  if (new Set(names).size < names.length)
    throw invalidOption(
      "deployments",
      "must not hold two launches with the same hostOrigin and tenantId, or two logins with the same tenantId",
    );
  return list;
}

/** @throws ConfigurationError `option_invalid`, `base_url_invalid`, `base_url_insecure`, `tenant_id_invalid` */
function parseDeployment(given: unknown, options: DeploymentOptions, where: string): BackendDeployment {
  const invalid = (problem: string): ConfigurationError =>
    invalidOption("deployments", `must hold valid deployments: ${problem}`);
  const parsed = deploymentSchema.safeParse(given);
  if (!parsed.success)
    throw invalid(
      parsed.error.issues.map(({ path, message }) => `${[where, ...path].join(".")} ${message}`).join("; "),
    );
  const { hostOrigin, launch, login } = parsed.data;
  if (hostOrigin !== undefined && !isOrigin(hostOrigin, options))
    throw invalid(`${where}.hostOrigin must be an origin such as "https://customer.example"`);
  const target = {
    tenantId: parseTenantId(parsed.data.tenantId, options.tenantIdPattern),
    baseUrl: parseBaseUrl(parsed.data.baseUrl, options.allowInsecureHttp),
  };
  if (launch === undefined) {
    if (login !== undefined) return { ...target, hostOrigin, login };
    throw invalid(`${where} needs launch (userInterfacePlugin), login (apiClient) or both`);
  }
  if (hostOrigin !== undefined) return { ...target, hostOrigin, launch, login };
  throw invalid(`${where} has a launch, so it needs hostOrigin: the origin of its host application`);
}

function isOrigin(value: string, { allowInsecureHttp }: DeploymentOptions): boolean {
  try {
    return parseBaseUrl(value, allowInsecureHttp) === value && new URL(value).origin === value;
  } catch {
    return false;
  }
}

function isCredential(value: unknown, variant: "A" | "B"): boolean {
  const { use, variant: own } = (value ?? {}) as { use?: unknown; variant?: unknown };
  return use === "person" && own === variant;
}

/**
 * Checks that a login's redirect URI leads to the route `callback` of this backend. The browser would not send the login
 * cookie to another origin, and the login could never complete.
 *
 * @param own the origin of this backend, if it is known yet
 * @throws ConfigurationError `option_invalid`
 */
export function requireOwnRedirectUri(redirectUri: string, own: string | undefined): void {
  const { origin, pathname } = new URL(redirectUri);
  if (!/\/callback(?:\/|$)/.test(pathname))
    throw invalidOption(
      "deployments",
      "must hold logins whose redirectUri leads to the route callback: its path must end with /callback or continue below it",
    );
  if (own === undefined || origin === own) return;
  throw invalidOption(
    "deployments",
    `must hold logins whose redirectUri is at the origin of this backend, ${own}`,
    "Otherwise the login cookie does not come back. Use the same host name for both (localhost and 127.0.0.1 differ), or set publicUrl if a proxy changes it.",
  );
}
