/** Many tenants and base URLs through one set of credentials: keys, verdicts, gates and tokens are shared. */
import type { OperationTypes } from "../generated/operations.js";
import { type AuthOptions, resolveAuthOptions } from "./auth/auth-options.js";
import { driverOf, type MachineCredential } from "./auth/credentials/credential.js";
import { lazy, tryLoad } from "./auth/lazy.js";
import { MachineTokenSource } from "./auth/machine-tokens.js";
import { RecentlyUsed } from "./auth/recently-used.js";
import { SharedTask, TokenLifecycle } from "./auth/token-lifecycle.js";
import type { TokenEndpointState } from "./auth/token-request.js";
import { createTokenEndpointState } from "./auth/token-request.js";
import type { DetectionContext } from "./choose-variant.js";
import type { LookupTypes } from "./client/outcome.js";
import { type CreateServiceOptions, type Service, serviceMaker } from "./create-service.js";
import { ConfigurationError, type Variant } from "./errors.js";
import type { StopSignal } from "./http/time-limit.js";
import { isMisplaced } from "./misplaced-answer.js";
import { requireSignal } from "./options.js";
import { memoryStore } from "./stores/memory.js";
import { parseTarget, type Target } from "./variants/target.js";

export interface ConnectorOptions<T extends LookupTypes = OperationTypes>
  extends AuthOptions,
    CreateServiceOptions<T> {
  /** In order of preference. With credentials of both variants the deployment is asked which it serves. */
  readonly credentials: readonly MachineCredential[];
  /** Takes this variant without asking. */
  readonly variant?: Variant | undefined;
}

/** Whoever has one credential is not asked to wait for what chooses between two. */
const choice = /* @__PURE__ */ lazy(() => import("./choose-variant.js"));

/** Tokens of so many tenants and deployments are held; the least recently used is forgotten first. */
const mostTenants = 10_000;

export interface ConnectTarget {
  /** With a path prefix if there is one; without credentials, query or fragment. */
  readonly baseUrl: string;
  /** May be left out with `variant: "B"`, where it is a local key only. */
  readonly tenantId?: string | undefined;
  /** Ends the wait for a detection. */
  readonly signal?: AbortSignal | undefined;
}

export interface Connector<T extends LookupTypes = OperationTypes> {
  /**
   * Gives a service. Two for the same deployment and tenant share their tokens.
   *
   * @throws ConfigurationError before any request
   * @throws VariantError `variant_not_served`, `variant_unknown`
   * @throws TransportError when a question of the detection got no answer
   */
  connect(target: ConnectTarget): Promise<Service<T>>;
}

/**
 * Makes a connector.
 *
 * @throws ConfigurationError `credential_missing`, `credential_invalid`, `option_invalid`
 * @example
 * const connector = createConnector({ credentials: [servicePlugin({ clientId, privateKey })] });
 * const service = await connector.connect({ baseUrl: "https://customer.example", tenantId: "acme" });
 */
export function createConnector<T extends LookupTypes = OperationTypes>(
  options: ConnectorOptions<T>,
): Connector<T> {
  if (typeof options !== "object" || options === null)
    throw new ConfigurationError("option_invalid", "The options are missing.", { option: "options" });
  const credentials = checkCredentials(options);
  const only = credentials.length === 1 ? credentials[0] : undefined;
  const order = credentials.map(({ variant }) => variant);
  const resolved = resolveAuthOptions({
    ...options,
    // A token and a verdict for each tenant that is held.
    store: options.store ?? memoryStore({ now: options.now, mostEntries: 2 * mostTenants }),
  });
  const serviceOf = serviceMaker(options, resolved);
  // What is forgotten is made again: at worst a token is asked for once more, or a gate that was open is new.
  const states = new RecentlyUsed<TokenEndpointState>(mostTenants, ({ gate }) => gate.isOpen);
  const auths = new RecentlyUsed<TokenLifecycle>(mostTenants, (auth) => !auth.isRenewing);
  const inFlight: DetectionContext["inFlight"] = new Map();

  const stateOf = (variant: Variant, target: Target) =>
    states.get(nameOf(variant, target), () => createTokenEndpointState(variant, resolved));

  const authOf = (credential: MachineCredential, context: DetectionContext) => {
    const { variant } = credential;
    const { target } = context;
    return auths.get(nameOf(variant, target), () => {
      const explain = async (error: unknown, signal: StopSignal) => {
        if (!isMisplaced(error)) return error;
        const explained = await tryLoad(choice);
        return explained?.explainByDetection(error, variant, only === undefined, context, signal) ?? error;
      };
      const state = stateOf(variant, target);
      const driver = driverOf(credential);
      const source = new MachineTokenSource({ variant, target, driver, state, options: resolved, explain });
      return new TokenLifecycle({ variant, target, options: resolved, source });
    });
  };

  return Object.freeze({
    async connect(wanted: ConnectTarget): Promise<Service<T>> {
      if (typeof wanted !== "object" || wanted === null)
        throw new ConfigurationError("option_invalid", "baseUrl and tenantId are missing.", {
          option: "options",
        });
      const { baseUrl, tenantId } = wanted;
      const signal = requireSignal(wanted.signal);
      const { allowInsecureHttp, tenantIdPattern } = options;
      const target = parseTarget({ baseUrl, tenantId, allowInsecureHttp, tenantIdPattern }, only?.variant);
      if (signal?.aborted) throw signal.reason;
      // A wrong key or secret is told before anything is asked.
      const prepared = new SharedTask(() =>
        Promise.all(credentials.map((one) => driverOf(one).prepare(target, resolved))),
      );
      await prepared.join(signal);
      const context = { target, order, options: resolved, stateOf, inFlight };
      if (only !== undefined) return serviceOf(authOf(only, context));
      // Joined, for an abort ends the wait for what is loaded too.
      const { chooseByDetection } = await new SharedTask(async () => choice()).join(signal);
      const detection = await chooseByDetection(context, signal);
      const found = credentials.find(
        ({ variant }) => detection.served[variant] === "yes",
      ) as MachineCredential;
      return serviceOf(authOf(found, context), detection);
    },
  });
}

/** No two have the same name: a base URL holds no space, whatever a tenant id may hold. */
function nameOf(variant: Variant, { baseUrl, tenantId }: Target): string {
  return `${variant} ${baseUrl} ${tenantId}`;
}

/** At most one credential of a variant, and only those of the variant that was named. */
function checkCredentials({
  credentials,
  variant,
}: Pick<ConnectorOptions, "credentials" | "variant">): readonly MachineCredential[] {
  if (!Array.isArray(credentials) || credentials.length === 0)
    throw new ConfigurationError(
      "credential_missing",
      "credentials is no array, or an empty one. Give servicePlugin (Variant A), serviceAccount (Variant B), or both.",
      { option: "credentials" },
    );
  for (const credential of credentials) driverOf(credential, "credentials");
  if (variant !== undefined && variant !== "A" && variant !== "B")
    throw new ConfigurationError("option_invalid", 'variant is neither "A" nor "B".', { option: "variant" });
  const usable = credentials.filter((one) => variant === undefined || one.variant === variant);
  if (usable.length === 0)
    throw new ConfigurationError(
      "credential_missing",
      `Variant ${variant} is named, but credentials holds none for it. Add ${variant === "A" ? "servicePlugin" : "serviceAccount"}.`,
      { option: "credentials" },
    );
  if (new Set(usable.map((one) => one.variant)).size < usable.length)
    throw new ConfigurationError(
      "credential_invalid",
      "credentials holds two of the same variant. Only one could ever be used: after a refusal no other identity is tried.",
      { option: "credentials" },
    );
  return usable;
}
