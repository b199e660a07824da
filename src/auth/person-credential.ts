/** What a credential that needs a person is to the rest: how its code and its refresh token are redeemed. */
import { type Cause, ConfigurationError, type Variant } from "../errors.js";
import type { Target } from "../variants/target.js";
import type { PersonCredential, PrepareOptions, Refusal, SentAttempt, TokenAttempt } from "./credential.js";
import { RecentlyUsed } from "./recently-used.js";
import { SpentCodes } from "./spent-codes.js";
import type { TokenEndpointState } from "./token-attempt.js";

/** An authorization code and the verifier of the challenge it was asked for with (RFC 7636). */
export interface CodeGrant {
  readonly code: string;
  readonly codeVerifier: string;
}

/** A person's credential whose settings were read and whose key was imported. */
export interface PreparedPersonCredential {
  readonly clientId: string;
  /** Changes with the key or the secret; says nothing of it. */
  readonly fingerprint: string;
  /** Sends the code with exactly the documented fields. */
  sendCode(grant: CodeGrant, attempt: TokenAttempt): Promise<SentAttempt>;
  /**
   * Makes the request that redeems a refresh token, and gives what sends it; absent where there is none (section 4.1 of
   * the description: Variant A).
   *
   * @throws ConfigurationError `credential_invalid` when it cannot be made: nothing was sent
   */
  refreshRequest?(refreshToken: string): (attempt: TokenAttempt) => Promise<SentAttempt>;
  /** Whether a refresh token is sent again whose answer was lost. */
  readonly resendLostRefresh?: boolean;
  /** Ranked causes of an opaque refusal, by local evidence. */
  explain?(refusal: Refusal): readonly Cause[] | Promise<readonly Cause[]>;
}

export interface PersonDriver<P extends PreparedPersonCredential = PreparedPersonCredential> {
  /** @throws ConfigurationError `credential_invalid`, `key_invalid`, `key_unsupported`, `key_too_short`, `key_id_required` */
  prepare(target: Target, options?: PrepareOptions): Promise<P>;
  /**
   * What can be known of settings that are no function before there is a target. Absent for all others.
   *
   * @throws ConfigurationError `credential_invalid`
   */
  readonly look?: () => { readonly redirectUri: string };
  /** What everybody shares who uses this credential at a token endpoint. */
  state(target: Target, create: () => TokenEndpointState): PersonEndpointState;
}

export interface PersonEndpointState extends TokenEndpointState {
  readonly spentCodes: SpentCodes;
}

/** So many tenants' gates, clocks and spent codes are remembered. */
const mostTenants = 10_000;

const driverKey: unique symbol = Symbol.for("bivariant.person-credential") as never;

/** Makes the public object of a person's credential around its driver. */
export function personCredential<V extends Variant, P extends PreparedPersonCredential>(
  variant: V,
  driver: Pick<PersonDriver<P>, "prepare" | "look">,
): PersonCredential<V> {
  const states = new RecentlyUsed<PersonEndpointState>(mostTenants, ({ gate }) => gate.isOpen);
  const whole: PersonDriver<P> = {
    ...driver,
    state: (target, create) =>
      states.get(JSON.stringify([target.baseUrl, target.tenantId]), () => ({
        ...create(),
        spentCodes: new SpentCodes(),
      })),
  };
  const credential = { use: "person", variant, grant: "authorization_code" } as const;
  Object.defineProperty(credential, driverKey, { value: whole });
  return Object.freeze(credential);
}

/** The driver behind a person's credential of a variant. @throws ConfigurationError `credential_invalid` */
export function personDriverOf(credential: PersonCredential, variant?: Variant): PersonDriver {
  const driver = (credential as unknown as Record<symbol, PersonDriver | undefined> | null | undefined)?.[
    driverKey
  ];
  if (driver !== undefined && (variant === undefined || credential.variant === variant)) return driver;
  const factory =
    variant === "A"
      ? "userInterfacePlugin"
      : variant === "B"
        ? "apiClient"
        : "userInterfacePlugin or apiClient";
  const isMachine = (credential as { use?: unknown } | null | undefined)?.use === "machine";
  throw new ConfigurationError(
    "credential_invalid",
    `credential ${isMachine ? "is one of a machine, which has no person to stand for" : "is not what is needed here"}. Make one with ${factory}.`,
    { option: "credential" },
  );
}
