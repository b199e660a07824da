/**
 * Combines detection, credentials, auth and client: `connect` for one tenant, `createConnector` for
 * many.
 */
import type { OperationTypes } from "../generated/operations.js";
import type { Auth } from "./auth/auth.js";
import { driverOf, type MachineCredential } from "./auth/credentials/credential.js";
import type { TokenLifecycle } from "./auth/lifecycle/token-lifecycle.js";
import { type MachineTokensContext, machineTokens } from "./auth/machine-tokens.js";
import { TokenEndpointState } from "./auth/request/rate-limit-gate.js";
import { RecentlyUsed } from "./auth/shared/recently-used.js";
import { SharedState } from "./auth/shared/shared-state.js";
import type { DetectionContext } from "./choose-variant.js";
import type { LookupTypes } from "./client/outcome.js";
import {
  type AuthOptions,
  authNames,
  type CreateServiceOptions,
  requestNames,
  resolveServiceOptions,
  serviceNames,
  type TargetOptions,
} from "./client-options.js";
import {
  ConfigurationError,
  type Detection,
  locate,
  UnexpectedResponseError,
  type Variant,
} from "./errors.js";
import { isUnknownPath, untilAborted } from "./http/exchange.js";
import { ifPossible, lazy } from "./http/lazy.js";
import { type NamesOf, namesElsewhere } from "./option-names.js";
import { invalidOption, requireOptions, requireSignal, requireWhole } from "./options.js";
import { type Service, serviceMaker } from "./service.js";
import type { DetectVariantOptions } from "./variants/detect.js";
import { parseTarget, type Target } from "./variants/target.js";

/** The module is loaded lazily, because with one credential there is nothing to choose. */
const choice = /* @__PURE__ */ lazy(() => import("./choose-variant.js"));

/** More customers than platforms have, and still a limit for names that strangers make up. */
const usualMaxTenants = 100_000;

/**
 * The options of {@link createConnector}. Those of {@link connect} are these and the deployment.
 */
export interface ConnectorOptions<T extends LookupTypes = OperationTypes>
  extends AuthOptions,
    CreateServiceOptions<T> {
  /**
   * In order of preference. With credentials of both variants the deployment is asked which it
   * serves.
   */
  readonly credentials: readonly MachineCredential[];
  /** Uses this variant without asking. */
  readonly variant?: Variant | undefined;
  /**
   * The most tenants, each at its deployment, whose tokens are held in memory. Beyond that the one
   * that was used longest ago is dropped: its next `connect` needs a token of the store, or a new
   * one. Default: 100 000.
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

/** The deployment and the tenant to connect to. */
export interface ConnectTarget extends Pick<TargetOptions, "baseUrl" | "tenantId"> {
  /** Ends the wait for a detection. */
  readonly signal?: AbortSignal | undefined;
}

const targetNames: NamesOf<ConnectTarget> = { baseUrl: true, tenantId: true, signal: true };

/** The options of {@link connect}: those of a connector, and the deployment. */
export type ConnectOptions<T extends LookupTypes = OperationTypes> = ConnectorOptions<T> &
  ConnectTarget;

const forTheMethod = /* @__PURE__ */ namesElsewhere(targetNames, "Pass it to the method connect.");
const forTheConnector = /* @__PURE__ */ namesElsewhere(
  connectorNames,
  "Pass it to createConnector.",
);

const connectNames: NamesOf<ConnectOptions> = { ...targetNames, ...connectorNames };

/**
 * Connects to a tenant of a deployment, whichever variant it serves. With credentials of both
 * variants the deployment is asked first, without spending one; with one credential nothing is
 * asked. No token is fetched yet.
 *
 * @throws ConfigurationError before any request; about the function of a credential, after the
 * detection
 * @throws VariantError `variant_not_served`, `variant_unknown`
 * @throws TransportError if a request of the detection got no response, or a credential's function
 * took too long
 * @see the description, section 5.11
 * @example
 * const service = await connect({
 *   baseUrl: "https://customer.example",
 *   tenantId: "acme",
 *   credentials: [
 *     servicePlugin({ clientId, privateKey }),
 *     serviceAccount({ clientId, clientSecret }),
 *   ],
 * });
 * const result = await service.call("listDevices");
 */
export async function connect<T extends LookupTypes = OperationTypes>(
  options: ConnectOptions<T>,
): Promise<Service<T>> {
  return new TenantConnector(requireOptions("connect", options, connectNames)).connect(options);
}

/** Connects to many tenants with one set of credentials. {@link createConnector} makes one. */
export interface Connector<T extends LookupTypes = OperationTypes> {
  /**
   * Does and throws the same as the function `connect`. Services for one deployment and tenant
   * share their tokens.
   */
  connect(target: ConnectTarget): Promise<Service<T>>;
}

/**
 * Makes a connector: one set of credentials for many tenants and base URLs, whose services share
 * keys, gates and tokens.
 *
 * @throws ConfigurationError `credential_missing`, `credential_invalid`, `option_invalid`
 * @see the description, sections 5.4, 5.10 and 5.11
 * @example
 * const connector = createConnector({ credentials: [servicePlugin({ clientId, privateKey })] });
 * const service = await connector.connect({
 *   baseUrl: "https://customer.example",
 *   tenantId: "acme",
 * });
 */
export function createConnector<T extends LookupTypes = OperationTypes>(
  options: ConnectorOptions<T>,
): Connector<T> {
  const tenants = new TenantConnector(
    requireOptions("createConnector", options, connectorNames, forTheMethod),
  );
  return Object.freeze({
    async connect(wanted: ConnectTarget): Promise<Service<T>> {
      return tenants.connect(
        requireOptions("connector.connect", wanted, targetNames, forTheConnector),
      );
    },
  });
}

/**
 * Connects to many tenants with one set of credentials. Holds their tokens, gates and detections.
 */
class TenantConnector<T extends LookupTypes> {
  /** The credential, if there is one only. Then nothing is chosen. */
  readonly #only: MachineCredential | undefined;
  readonly #context: Omit<DetectionContext, "target">;
  readonly #serviceOf: (auth: Auth, detection?: Detection) => Service<T>;
  /**
   * A dropped entry is made again. At worst this costs one more token request, or replaces a gate
   * that is open.
   */
  readonly #states: RecentlyUsed<TokenEndpointState>;
  readonly #auths: RecentlyUsed<TokenLifecycle>;
  /** The credentials whose settings were checked. Those of a function differ with the tenant. */
  readonly #checked = new Set<MachineCredential>();

  /** The names of the options were checked, and so are those of the argument of `connect`. */
  constructor(given: ConnectorOptions<T>) {
    const maxTenants = requireWhole("maxTenants", given.maxTenants, usualMaxTenants, 1);
    const credentials = checkCredentials(given.credentials, given.variant);
    const options = resolveServiceOptions(given);
    this.#only = credentials.length === 1 ? credentials[0] : undefined;
    this.#serviceOf = serviceMaker(options);
    this.#states = new RecentlyUsed(maxTenants, ({ gate }) => gate.isOpen);
    this.#auths = new RecentlyUsed(maxTenants, (auth) => !auth.isRenewing);
    this.#context = {
      credentials,
      options,
      shared: new SharedState(options),
      verdicts: new RecentlyUsed(maxTenants),
      inFlight: new Map(),
      stateOf: (variant, target) => this.#stateOf(variant, target),
      prepare: (credential, target) => this.#prepare(credential, target),
    };
  }

  async connect({ signal: given, ...wanted }: ConnectTarget): Promise<Service<T>> {
    const signal = requireSignal(given);
    const variant = this.#only?.variant;
    const target = parseTarget(wanted, this.#context.options, variant);
    return this.#connectTo(target, signal).catch((error) => {
      throw locate(error, { ...target, variant });
    });
  }

  async #connectTo(target: Target, signal: AbortSignal | undefined) {
    if (signal?.aborted) throw signal.reason;
    const only = this.#only;
    const first = this.#context.credentials.filter((one) => only || !driverOf(one).callsFunction);
    await untilAborted(Promise.all(first.map((one) => this.#prepare(one, target))), signal);
    if (only !== undefined) return this.#serviceOf(this.#authOf(only, target, false));
    // An abort must end the wait for the module too.
    const { chooseCredential } = await untilAborted(choice(), signal);
    const { credential, detection } = await chooseCredential({ target, ...this.#context }, signal);
    return this.#serviceOf(this.#authOf(credential, target, detection !== undefined), detection);
  }

  /**
   * Rejects a wrong key or secret before anything is sent. A function is called only for the
   * variant that is chosen, since it may have nothing for this tenant, or its vault may be down. No
   * function is called while a token is valid.
   */
  async #prepare(credential: MachineCredential, target: Target): Promise<void> {
    const { callsFunction, prepare } = driverOf(credential);
    const { variant } = credential;
    const isLive =
      this.#checked.has(credential) || this.#auths.peek(nameOf(variant, target))?.isLive;
    if (!isLive) await prepare(target, this.#context.options);
    if (!callsFunction) this.#checked.add(credential);
  }

  #stateOf(variant: Variant, target: Target, name = nameOf(variant, target)): TokenEndpointState {
    const { options } = this.#context;
    return this.#states.get(name, () => new TokenEndpointState(variant, target, options));
  }

  #authOf(credential: MachineCredential, target: Target, isDetected: boolean): TokenLifecycle {
    const { variant } = credential;
    const { shared, options } = this.#context;
    const name = nameOf(variant, target);
    return this.#auths.get(name, () =>
      machineTokens({
        variant,
        target,
        driver: driverOf(credential),
        state: this.#stateOf(variant, target, name),
        shared,
        options,
        explain: this.#explain,
        isDetected,
      }),
    );
  }

  /** One function for all tenants, because what a tenant holds is held a hundred thousand times. */
  readonly #explain: NonNullable<MachineTokensContext["explain"]> = async (
    error,
    renewal,
    { variant, target, isDetected = false },
  ) => {
    if (!isWrongEndpoint(error)) return error;
    const explained = await ifPossible(choice);
    const context = { target, ...this.#context };
    return explained?.explainByDetection(error, variant, isDetected, context, renewal) ?? error;
  };
}

/**
 * Asks a deployment which variants it serves. It sends at most three requests, and at most one to
 * Variant A's token endpoint. A 401, 403, 405, 429, 5xx, a page or a redirect is not a verdict.
 *
 * @throws ConfigurationError before any request
 * @throws TransportError when a question got no answer
 * @see the description, sections 4.1, 4.2 and 7.1
 * @example
 * const { served, evidence } = await detectVariant({
 *   baseUrl: "https://customer.example",
 *   tenantId: "acme",
 * });
 */
export async function detectVariant(options: DetectVariantOptions): Promise<Detection> {
  requireOptions("detectVariant", options, { ...requestNames, ...targetNames });
  const signal = requireSignal(options.signal);
  const loaded = await untilAborted(choice(), signal);
  return loaded.detectBoth(options);
}

/** The key is unambiguous because a base URL has no space, even if a tenant id has one. */
function nameOf(variant: Variant, { baseUrl, tenantId }: Target): string {
  return `${variant} ${baseUrl} ${tenantId}`;
}

/**
 * Whether a token endpoint answered as if it did not know the path. The other variant may be the
 * reason.
 */
function isWrongEndpoint(error: unknown): error is UnexpectedResponseError {
  if (!(error instanceof UnexpectedResponseError)) return false;
  const isPage = error.status < 500 && error.code === "response_not_json";
  return isPage || isUnknownPath(error) || error.code === "response_redirected";
}

/** Checks that each variant has at most one credential, and returns those of the named variant. */
function checkCredentials(
  credentials: readonly MachineCredential[],
  variant: Variant | undefined,
): readonly MachineCredential[] {
  const wrong = (code: "credential_missing" | "credential_invalid", message: string) =>
    new ConfigurationError(code, message, { option: "credentials" });
  if (!Array.isArray(credentials) || credentials.length === 0)
    throw wrong(
      "credential_missing",
      "credentials must be a non-empty array. " +
        "Pass servicePlugin() for Variant A, serviceAccount() for Variant B, or both.",
    );
  for (const credential of credentials) driverOf(credential, "credentials");
  if (variant !== undefined && variant !== "A" && variant !== "B")
    throw invalidOption("variant", 'must be "A" or "B"');
  const usable = credentials.filter((one) => variant === undefined || one.variant === variant);
  if (usable.length === 0)
    throw wrong(
      "credential_missing",
      `variant is "${variant}", but credentials has no credential of that variant. ` +
        `Add ${variant === "A" ? "servicePlugin" : "serviceAccount"}().`,
    );
  if (new Set(usable.map((one) => one.variant)).size < usable.length)
    throw wrong(
      "credential_invalid",
      "credentials has two credentials of the same variant. Pass one: " +
        "no other is tried after a refusal.",
    );
  return usable;
}
