/**
 * The deployment that is tried, and what the caller lends for it: credentials, people and facts.
 */
import { z } from "zod";
import { unknownMembers } from "../option-names.js";
import { ContractError } from "./errors.js";

/** A plugin of Variant A with its key: PEM (PKCS#8), a JWK, or a `CryptoKey` for RS256. */
export interface PluginCredential {
  readonly clientId: string;
  readonly privateKey: string | object;
  /** The kid. Default: that of the JWK, else the RFC 7638 thumbprint. */
  readonly keyId?: string | undefined;
}

/** A service account of Variant B (section 2.5 of the description). */
export interface ClientCredential {
  readonly clientId: string;
  readonly clientSecret: string;
}

/**
 * An API client of Variant B (section 2.5) with what a login needs and the description does not
 * show.
 */
export interface ApiClientCredential {
  readonly clientId: string;
  /** Only of a confidential client. */
  readonly clientSecret?: string | undefined;
  readonly redirectUri: string;
  /** A URL, or a path under the base URL. */
  readonly authorizationEndpoint: string;
  /**
   * Further parameters that the authorization endpoint insists on, such as
   * `{ scope: "devices:read" }`.
   */
  readonly authorizationParameters?: Readonly<Record<string, string>> | undefined;
}

/** What the host posted back to the page: `host:auth-code` (section 6). */
export interface LaunchCode {
  readonly code: string;
  readonly state?: string | undefined;
  readonly tenantId?: string | undefined;
}

/** What plugin:pkce-init carries. Without `opaqueCode` it is that of the launch. */
export interface PkceInit {
  readonly codeChallenge: string;
  readonly opaqueCode?: string | undefined;
}

/** One launch (section 5.3). `parameters` are those of the page's URL. */
export interface Launched {
  readonly parameters: Readonly<Record<string, string>>;
  /**
   * Posts plugin:pkce-init (section 6) and resolves with the host's answer. Rejects if the host
   * refuses.
   */
  readonly initialise: (message: PkceInit) => Promise<LaunchCode>;
}

/**
 * What a run may use. Everything but the address is optional: a case that needs what is missing is
 * not tried, and says so. Routes are written as `GET /v1/devices`, under the base URL, with the
 * tenant filled in.
 */
export interface ContractTarget {
  readonly baseUrl: string;
  /** Needed for Variant A. */
  readonly tenantId?: string | undefined;
  /** A service plugin whose scopes permit the device list. */
  readonly plugin?: PluginCredential | undefined;
  /** Another key in the JWKS of `plugin`, so that the JWKS holds two. */
  readonly secondKey?: Pick<PluginCredential, "privateKey" | "keyId"> | undefined;
  /** A service plugin that is registered and disabled. */
  readonly disabledPlugin?: PluginCredential | undefined;
  /** A service plugin that is restricted to devices, none of which `deviceRoute` names. */
  readonly restrictedPlugin?: PluginCredential | undefined;
  /** A user-interface plugin. */
  readonly pagePlugin?: PluginCredential | undefined;
  /** Another user-interface plugin. */
  readonly otherPagePlugin?: PluginCredential | undefined;
  /** Launches a plugin as an operator. Rejects if the host application refuses. */
  readonly launch?: ((clientId: string) => Promise<Launched>) | undefined;
  /** Launches `pagePlugin` as an operator without the capability for the device list. */
  readonly limitedLaunch?: (() => Promise<Launched>) | undefined;
  /** Another tenant of the deployment. */
  readonly secondTenantId?: string | undefined;
  /** A user-interface plugin of the other tenant. */
  readonly secondTenantPlugin?: PluginCredential | undefined;
  /** A route that accepts no plugin token. */
  readonly closedRoute?: string | undefined;
  /** A route whose scope `plugin` was not granted. */
  readonly otherScopeRoute?: string | undefined;
  /** A route that names a device outside the restriction of `restrictedPlugin`. */
  readonly deviceRoute?: string | undefined;
  /** Takes the scope of the device list from `plugin`; what it resolves with gives it back. */
  readonly narrow?: (() => Promise<() => Promise<unknown>>) | undefined;
  /** Disables `plugin`; what it resolves with enables it. */
  readonly disable?: (() => Promise<() => Promise<unknown>>) | undefined;
  readonly serviceAccount?: ClientCredential | undefined;
  readonly apiClient?: ApiClientCredential | undefined;
  readonly otherApiClient?: ApiClientCredential | undefined;
  /** A person follows the authorization URL and logs in. Resolves with the URL of the callback. */
  readonly login?: ((authorizationUrl: string) => Promise<string>) | undefined;
  /** The same, but the person refuses the client. */
  readonly denyLogin?: ((authorizationUrl: string) => Promise<string>) | undefined;
  /** Where Variant B redeems refresh tokens, if it is known: a path under the base URL. */
  readonly refreshPath?: string | undefined;
  /** Values of X-Envelope to try. */
  readonly envelopes?: readonly string[] | undefined;
  /** The rate limit of Variant A's token endpoint, if it is known. */
  readonly rateLimit?: { readonly requests: number; readonly windowSeconds: number } | undefined;
}

/** The member of a {@link ContractTarget} that a case needs. */
export type Need = Exclude<keyof ContractTarget, "baseUrl">;

const text = z.string().min(1);
const plugin = z.strictObject({
  clientId: text,
  privateKey: z.union([
    text,
    z.custom<object>((value) => typeof value === "object" && value !== null),
  ]),
  keyId: text.optional(),
});
const hook = z.custom<never>((value) => typeof value === "function", "must be a function");
const outside = "must not lead out of the base URL";
const route = z
  .string()
  .regex(/^[A-Z]+ \/[^\s{}]*$/, 'must be a method and a path, such as "GET /v1/devices"')
  .refine((text) => staysBelow(text.slice(text.indexOf("/"))), outside);

/**
 * Whether a path has no dot segments, which URL parsers fold even if they are percent-encoded, and
 * names no host.
 */
function staysBelow(path: string): boolean {
  const [segments = ""] = path.split(/[?#]/);
  return !segments
    .split(/[/\\]/)
    .some((segment, at) => /^(?:\.|%2e){1,2}$/i.test(segment) || (at === 1 && segment === ""));
}

const client = { clientId: text, clientSecret: text };
const apiClient = z.strictObject({
  ...client,
  clientSecret: text.optional(),
  redirectUri: z.url(),
  authorizationEndpoint: z
    .string()
    .refine(
      (given) => given.startsWith("/") || URL.canParse(given),
      "must be a URL, or a path under baseUrl",
    ),
  authorizationParameters: z.record(z.string(), z.string()).optional(),
});

/** A tenant id becomes a segment of a path. */
const tenantId = z
  .string()
  .regex(/^[A-Za-z0-9_~-][A-Za-z0-9._~-]*$/, "must be a segment of a path");

const schema = z
  .strictObject({
    baseUrl: z.url({ protocol: /^https?$/, abort: true }).refine((url) => {
      const { username, password } = new URL(url);
      return `${username}${password}` === "" && !/[?#]/.test(url);
    }, "must have no credentials, query or fragment"),
    tenantId,
    plugin,
    secondKey: plugin.omit({ clientId: true }),
    disabledPlugin: plugin,
    restrictedPlugin: plugin,
    pagePlugin: plugin,
    otherPagePlugin: plugin,
    launch: hook,
    limitedLaunch: hook,
    secondTenantId: tenantId,
    secondTenantPlugin: plugin,
    closedRoute: route,
    otherScopeRoute: route,
    deviceRoute: route,
    narrow: hook,
    disable: hook,
    serviceAccount: z.strictObject(client),
    apiClient,
    otherApiClient: apiClient,
    login: hook,
    denyLogin: hook,
    refreshPath: z.string().startsWith("/").refine(staysBelow, outside),
    envelopes: z.array(text),
    rateLimit: z.strictObject({ requests: z.int().min(1), windowSeconds: z.number().positive() }),
  })
  .partial()
  .required({ baseUrl: true });

/**
 * Returns the target with its base URL without a trailing slash, and with whole URLs of
 * authorization endpoints.
 *
 * @throws ContractError `target_invalid`
 */
export function parseTarget(input: unknown): ContractTarget {
  const parsed = schema.safeParse(input, { error: unknownMembers });
  if (parsed.success) {
    const { apiClient, otherApiClient, ...target } = parsed.data;
    const baseUrl = target.baseUrl.replace(/^(.*[^/])?\/+$/, "$1");
    const complete = (client: typeof apiClient) => {
      if (!client?.authorizationEndpoint.startsWith("/")) return client;
      return { ...client, authorizationEndpoint: baseUrl + client.authorizationEndpoint };
    };
    return {
      ...target,
      baseUrl,
      apiClient: complete(apiClient),
      otherApiClient: complete(otherApiClient),
    };
  }
  // Neither a message of zod nor these quote a value: it may be a secret.
  const issues = parsed.error.issues.map(
    ({ path, message }) => `${path.join(".") || "target"}: ${message}`,
  );
  throw new ContractError(
    "target_invalid",
    `The target is not valid. ${issues.join("; ")}.`,
    issues,
  );
}

/** What a run would need for the cases that were not tried, in words. */
export const needed: Readonly<Record<Need, string>> = {
  tenantId: "the id of a tenant",
  plugin: "a service plugin with its private key",
  secondKey: "a second key in the JWKS of the service plugin",
  disabledPlugin: "a plugin that is registered and disabled",
  restrictedPlugin: "a service plugin that is restricted to devices",
  pagePlugin: "a user-interface plugin with its private key",
  otherPagePlugin: "a second user-interface plugin",
  launch: "a person who launches the plugin",
  limitedLaunch: "an operator without the capability for the device list, who launches the plugin",
  secondTenantId: "the id of a second tenant",
  secondTenantPlugin: "a user-interface plugin in a second tenant",
  closedRoute: "a route that accepts no plugin token",
  otherScopeRoute: "a route whose scope the service plugin was not granted",
  deviceRoute: "a route that names a device outside the restriction",
  narrow: "a customer who takes a scope from the plugin and gives it back",
  disable: "a customer who disables the plugin and enables it again",
  serviceAccount: "a service account with its client secret",
  apiClient: "an API client, with its redirect URI and the authorization endpoint",
  otherApiClient: "a second API client",
  login: "a person who logs in",
  denyLogin: "a person who refuses the login",
  refreshPath: "the path of the refresh",
  envelopes: "values of X-Envelope",
  rateLimit: "the size of the rate limit and of its window",
};
