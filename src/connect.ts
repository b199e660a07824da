/** Combines detection, credentials, auth and client: `connect` for one tenant, `createConnector` for many. */
import type { OperationTypes } from "../generated/operations.js";
import { type AuthOptions, authNames, resolveAuthOptions } from "./auth/auth.js";
import { driverOf, type MachineCredential } from "./auth/credentials/credential.js";
import type { TokenLifecycle } from "./auth/lifecycle/token-lifecycle.js";
import { type MachineTokensContext, machineTokens } from "./auth/machine-tokens.js";
import { TokenEndpointState } from "./auth/request/rate-limit-gate.js";
import { isUnknownPath } from "./auth/request/token-request.js";
import { RecentlyUsed } from "./auth/shared/recently-used.js";
import { SharedState } from "./auth/shared/shared-state.js";
import type { DetectionContext } from "./choose-variant.js";
import type { LookupTypes } from "./client/outcome.js";
import {
  ConfigurationError,
  type Detection,
  locate,
  UnexpectedResponseError,
  type Variant,
} from "./errors.js";
import { untilAborted } from "./http/exchange.js";
import { ifPossible, lazy } from "./http/lazy.js";
import { type NamesOf, namesElsewhere } from "./option-names.js";
import { invalidOption, requireOptions, requireSignal } from "./options.js";
import { type CreateServiceOptions, type Service, serviceMaker, serviceNames } from "./service.js";
import type { DetectVariantOptions } from "./variants/detect.js";
import { parseTarget, requestNames, type Target, type TargetOptions } from "./variants/target.js";

/** The module is loaded lazily, because with one credential there is nothing to choose. */
const choice = /* @__PURE__ */ lazy(() => import("./choose-variant.js"));

/** More customers than platforms have, and still a limit for names that strangers make up. */
const usualMaxTenants = 100_000;

export interface ConnectorOptions<T extends LookupTypes = OperationTypes>
  extends AuthOptions,
    CreateServiceOptions<T> {
  /** In order of preference. With credentials of both variants the deployment is asked which it serves. */
  readonly credentials: readonly MachineCredential[];
  /** Uses this variant without asking. */
  readonly variant?: Variant | undefined;
  /**
   * The most tenants, each at its deployment, whose tokens are held in memory. Beyond that the one that was used longest
   * ago is dropped: its next `connect` needs a token of the store, or a new one. Default: 100 000.
   */
  readonly maxTenants?: number | undefined;
}

const connectorNames: NamesOf<ConnectorOptions> = {
  ...serviceNames,
  ...authNames,
  credentials: true,
  variant: true,
  maxTenants: true,
};

export interface ConnectTarget extends Pick<TargetOptions, "baseUrl" | "tenantId"> {
  /** Ends the wait for a detection. */
  readonly signal?: AbortSignal | undefined;
}

const targetNames: NamesOf<ConnectTarget> = { baseUrl: true, tenantId: true, signal: true };

export type ConnectOptions<T extends LookupTypes = OperationTypes> = ConnectorOptions<T> & ConnectTarget;

const forTheMethod = /* @__PURE__ */ namesElsewhere(targetNames, "Pass it to the method connect.");
const forTheConnector = /* @__PURE__ */ namesElsewhere(connectorNames, "Pass it to createConnector.");

export const connectNames: NamesOf<ConnectOptions> = { ...targetNames, ...connectorNames };

/**
 * Connects to a tenant of a deployment, whichever variant it serves. With credentials of both variants the deployment is
 * asked first, without spending one; with one credential nothing is asked. No token is fetched yet.
 *
 * @throws ConfigurationError before any request; about the function of a credential, after the detection
 * @throws VariantError `variant_not_served`, `variant_unknown`
 * @throws TransportError if a request of the detection got no response, or a credential's function took too long
 * @see the description, section 5.11
 * @example
 * const service = await connect({
 *   baseUrl: "https://customer.example",
 *   tenantId: "acme",
 *   credentials: [servicePlugin({ clientId, privateKey }), serviceAccount({ clientId, clientSecret })],
 * });
 * const result = await service.call("listDevices");
 */
export async function connect<T extends LookupTypes = OperationTypes>(
  options: ConnectOptions<T>,
): Promise<Service<T>> {
  return connectorOf(requireOptions("connect", options, connectNames))(options);
}

export interface Connector<T extends LookupTypes = OperationTypes> {
  /** Does and throws the same as the function `connect`. Services for one deployment and tenant share their tokens. */
  connect(target: ConnectTarget): Promise<Service<T>>;
}

/**
 * Makes a connector: one set of credentials for many tenants and base URLs, whose services share keys, gates and tokens.
 *
 * @throws ConfigurationError `credential_missing`, `credential_invalid`, `option_invalid`
 * @example
 * const connector = createConnector({ credentials: [servicePlugin({ clientId, privateKey })] });
 * const service = await connector.connect({ baseUrl: "https://customer.example", tenantId: "acme" });
 */
export function createConnector<T extends LookupTypes = OperationTypes>(
  options: ConnectorOptions<T>,
): Connector<T> {
  const connect = connectorOf(requireOptions("createConnector", options, connectorNames, forTheMethod));
  return Object.freeze({
    async connect(wanted: ConnectTarget): Promise<Service<T>> {
      return connect(requireOptions("connector.connect", wanted, targetNames, forTheConnector));
    },
  });
}

/** Makes the method `connect` from options whose names were checked, and so are those of its argument. */
function connectorOf<T extends LookupTypes>(options: ConnectorOptions<T>): Connector<T>["connect"] {
  const { maxTenants = usualMaxTenants } = options;
  if (!Number.isInteger(maxTenants) || maxTenants < 1)
    throw invalidOption("maxTenants", "must be a whole number, 1 or more");
  const credentials = checkCredentials(options);
  const only = credentials.length === 1 ? credentials[0] : undefined;
  const resolved = resolveAuthOptions(options);
  const shared = new SharedState(options.store, resolved);
  const serviceOf = serviceMaker(options, resolved);
  // A dropped entry is made again. At worst this costs one more token request, or replaces a gate that is open.
  const states = new RecentlyUsed<TokenEndpointState>(maxTenants, ({ gate }) => gate.isOpen);
  const auths = new RecentlyUsed<TokenLifecycle>(maxTenants, (auth) => !auth.isRenewing);

  const stateOf = (variant: Variant, target: Target, name = nameOf(variant, target)) =>
    states.get(name, () => new TokenEndpointState(variant, target, resolved));

  // This rejects a wrong key or secret before anything is sent. A function is called only for the variant that is chosen,
  // since it may have nothing for this tenant, or its vault may be down. No function is called while a token is valid.
  // Settings are the same for every tenant unless a function returns them, so they are checked once.
  const checked = new Set<MachineCredential>();
  const prepare = async (one: MachineCredential, target: Target): Promise<void> => {
    const { callsFunction, prepare } = driverOf(one);
    const isLive = checked.has(one) || auths.peek(nameOf(one.variant, target))?.isLive;
    if (!isLive) await prepare(target, resolved);
    if (!callsFunction) checked.add(one);
  };
  const verdicts: DetectionContext["verdicts"] = new RecentlyUsed(maxTenants);
  const common = { credentials, options: resolved, shared, verdicts, stateOf, inFlight: new Map(), prepare };
  const contextOf = (target: Target): DetectionContext => ({ target, ...common });

  // There are two functions for all tenants, because what a tenant holds is held a hundred thousand times.
  const explainer =
    (isDetected: boolean): NonNullable<MachineTokensContext["explain"]> =>
    async (error, renewal, { variant, target }) => {
      if (!isWrongEndpoint(error)) return error;
      const explained = await ifPossible(choice);
      const context = contextOf(target);
      return explained?.explainByDetection(error, variant, isDetected, context, renewal) ?? error;
    };
  const [explainUndetected, explainDetected] = [explainer(false), explainer(true)];

  const authOf = (credential: MachineCredential, target: Target, isDetected: boolean) => {
    const { variant } = credential;
    const explain = isDetected ? explainDetected : explainUndetected;
    const name = nameOf(variant, target);
    return auths.get(name, () => {
      const state = stateOf(variant, target, name);
      const driver = driverOf(credential);
      return machineTokens({ variant, target, driver, state, shared, options: resolved, explain });
    });
  };

  const connectTo = async (target: Target, signal: AbortSignal | undefined) => {
    if (signal?.aborted) throw signal.reason;
    const first = credentials.filter((one) => only || !driverOf(one).callsFunction);
    await untilAborted(Promise.all(first.map((one) => prepare(one, target))), signal);
    if (only !== undefined) return serviceOf(authOf(only, target, false));
    // An abort must end the wait for the module too.
    const { chooseCredential } = await untilAborted(choice(), signal);
    const { credential, detection } = await chooseCredential(contextOf(target), signal);
    return serviceOf(authOf(credential, target, detection !== undefined), detection);
  };
  return async ({ baseUrl, tenantId, signal: given }) => {
    const signal = requireSignal(given);
    const target = parseTarget({ ...options, baseUrl, tenantId }, only?.variant);
    return connectTo(target, signal).catch((error) => {
      throw locate(error, { tenantId: target.tenantId, baseUrl: target.baseUrl, variant: only?.variant });
    });
  };
}

/**
 * Asks a deployment which variants it serves. It sends at most three requests, and at most one to Variant A's token
 * endpoint. A 401, 403, 405, 429, 5xx, a page or a redirect is not a verdict.
 *
 * @throws ConfigurationError before any request
 * @throws TransportError when a question got no answer
 * @see the description, sections 4.1, 4.2 and 7.1
 * @example
 * const { served, evidence } = await detectVariant({ baseUrl: "https://customer.example", tenantId: "acme" });
 */
export async function detectVariant(options: DetectVariantOptions): Promise<Detection> {
  const names: NamesOf<DetectVariantOptions> = { ...requestNames, ...targetNames };
  const signal = requireSignal(requireOptions("detectVariant", options, names).signal);
  const loaded = await untilAborted(choice(), signal);
  return loaded.detectBoth(options);
}

/** The key is unambiguous because a base URL has no space, even if a tenant id has one. */
function nameOf(variant: Variant, { baseUrl, tenantId }: Target): string {
  return `${variant} ${baseUrl} ${tenantId}`;
}

/** Whether a token endpoint answered as if it did not know the path. The other variant may be the reason. */
function isWrongEndpoint(error: unknown): error is UnexpectedResponseError {
  if (!(error instanceof UnexpectedResponseError)) return false;
  const isPage = error.status < 500 && error.code === "response_not_json";
  return isPage || isUnknownPath(error) || error.code === "response_redirected";
}

/** Checks that each variant has at most one credential, and returns those of the named variant. */
function checkCredentials(options: ConnectorOptions<LookupTypes>): readonly MachineCredential[] {
  const { credentials, variant } = options;
  const wrong = (code: "credential_missing" | "credential_invalid", message: string) =>
    new ConfigurationError(code, message, { option: "credentials" });
  if (!Array.isArray(credentials) || credentials.length === 0)
    throw wrong(
      "credential_missing",
      "credentials must be a non-empty array. Pass servicePlugin() for Variant A, serviceAccount() for Variant B, or both.",
    );
  for (const credential of credentials) driverOf(credential, "credentials");
  if (variant !== undefined && variant !== "A" && variant !== "B")
    throw invalidOption("variant", 'must be "A" or "B"');
  const usable = credentials.filter((one) => variant === undefined || one.variant === variant);
  if (usable.length === 0)
    throw wrong(
      "credential_missing",
      `variant is "${variant}", but credentials has no credential of that variant. Add ${variant === "A" ? "servicePlugin" : "serviceAccount"}().`,
    );
  if (new Set(usable.map((one) => one.variant)).size < usable.length)
    throw wrong(
      "credential_invalid",
      "credentials has two credentials of the same variant. Pass one: no other is tried after a refusal.",
    );
  return usable;
}
