// The service of a world: an emulator for each variant, and what the customers of a world are to
// it.
import { generateKeyPairSync } from "node:crypto";
import { createEmulator, type Emulator } from "../../src/emulator/index.js";
import type { ServicePluginSettings } from "../../src/index.js";
import { newPkce } from "../emulator/signing-key.js";
import { type CustomerPlan, hasMachines, hasPeople, type Plan } from "./plan.js";

export const SERVICE = "https://service.example";
export const OWN = "https://planner.example";
export const HOST = "https://host.example";

const scopes = ["devices:read"];
/**
 * Made here, since the keys of other tests are handed out by Vitest, without which worlds are
 * played too.
 */
const pairs = [1, 2].map((number) => {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  return { pem, jwk: { ...publicKey.export({ format: "jwk" }), kid: `key-${number}` } };
});
const publicKeys = pairs.map(({ jwk }) => jwk);

/**
 * Emulators by their options. Each serves many worlds, since one without changes is reset in a
 * tenth of the time.
 */
const emulators = new Map<string, Emulator>();
let epoch = () => 0;

function emulatorOf(variant: "A" | "B", { lifetimeSeconds, rateLimit, isSigned }: Plan): Emulator {
  const key = JSON.stringify([variant, lifetimeSeconds, rateLimit, isSigned]);
  const made = emulators.get(key);
  made?.reset();
  if (made !== undefined) return made;
  const emulator = createEmulator({
    publicUrl: SERVICE,
    variants: [variant],
    now: () => epoch(),
    admin: false,
    // Tokens of the two deployments must differ.
    randomSeed: variant === "A" ? 1 : 2,
    tokenLifetimeSeconds: lifetimeSeconds,
    tokenResponseExtras: { expires_in: lifetimeSeconds },
    rateLimit: rateLimit === undefined ? false : { requests: rateLimit, windowSeconds: 60 },
    // A real signature takes a millisecond of real time.
    rules: isSigned ? {} : { "assertion.signature": false },
  });
  emulators.set(key, emulator);
  return emulator;
}

/** What a person brings back from the host application or the authorization server. */
export type Approval =
  | {
      readonly variant: "A";
      readonly code: string;
      readonly body: Readonly<Record<string, string>>;
    }
  | { readonly variant: "B"; readonly code: string; readonly callbackUrl: string };

export class SimulatedService {
  readonly #plan: Plan;
  readonly #now: () => number;
  /** Those of the variants that a customer is of. */
  readonly #emulators: Readonly<Partial<Record<"A" | "B", Emulator>>>;
  readonly #disabled = new Map<string, number>();

  /**
   * `now` returns the milliseconds since the world began, and `epochNow` the service's own time.
   */
  constructor(plan: Plan, now: () => number, epochNow: () => number) {
    epoch = epochNow;
    this.#plan = plan;
    this.#now = now;
    const variants = (["A", "B"] as const).filter((variant) =>
      plan.customers.some((customer) => isServed(customer, variant)),
    );
    this.#emulators = Object.fromEntries(
      variants.map((variant) => [variant, emulatorOf(variant, plan)]),
    );
    for (const customer of plan.customers)
      for (const variant of variants)
        if (isServed(customer, variant)) this.#register(variant, customer);
  }

  variantOf({ variant, movesAt = Number.POSITIVE_INFINITY }: CustomerPlan): "A" | "B" {
    if (this.#now() < movesAt) return variant;
    return variant === "A" ? "B" : "A";
  }

  #of(variant: "A" | "B"): Emulator {
    return this.#emulators[variant] as Emulator;
  }

  #register(variant: "A" | "B", { tenantId, trouble }: CustomerPlan): void {
    const emulator = this.#of(variant);
    const people = hasPeople(this.#plan);
    const machine =
      hasMachines(this.#plan) &&
      (trouble === undefined ||
        (trouble === "wrong key" && (variant === "B" || this.#plan.isSigned)));
    for (const userId of people ? [`ada-of-${tenantId}`, `bob-of-${tenantId}`] : [])
      emulator.registerOperator({ tenantId, userId, capabilities: scopes });
    if (variant === "A") {
      const [first] = publicKeys;
      const jwks = { keys: [first ?? {}] };
      if (machine)
        emulator.registerPlugin({ clientId: "plugin", tenantId, type: "service", jwks, scopes });
      if (people)
        emulator.registerPlugin({
          clientId: "planner",
          tenantId,
          type: "user_interface",
          jwks,
          scopes,
        });
      return;
    }
    const clientSecret = `secret-1-of-${tenantId}`;
    if (machine)
      emulator.registerServiceAccount({ clientId: `account-${tenantId}`, clientSecret, tenantId });
    const redirectUris = [`${OWN}/auth/callback/${tenantId}`];
    if (people)
      emulator.registerApiClient({
        clientId: `portal-${tenantId}`,
        tenantId,
        clientSecret,
        redirectUris,
      });
  }

  /** The number of the key and of the secrets that a customer's settings have now. */
  #generation({ rotatesAt = Number.POSITIVE_INFINITY }: CustomerPlan): 1 | 2 {
    return this.#now() < rotatesAt ? 1 : 2;
  }

  /**
   * Replaces the key and the secrets of a customer. Both keys count from then on, but only the new
   * secrets.
   */
  rotate({ tenantId, trouble }: CustomerPlan): void {
    const clientSecret = `secret-2-of-${tenantId}`;
    const { A, B } = this.#emulators;
    const jwks = { keys: publicKeys };
    for (const change of [
      () => trouble === undefined && A?.updatePlugin({ clientId: "plugin", tenantId, jwks }),
      () => A?.updatePlugin({ clientId: "planner", tenantId, jwks }),
      () =>
        trouble === undefined &&
        B?.updateServiceAccount({ clientId: `account-${tenantId}`, clientSecret }),
      () => B?.updateApiClient({ clientId: `portal-${tenantId}`, clientSecret }),
    ])
      ifRegistered(change);
  }

  /** Refuses a customer's machine, or narrows its grant, until `lift` is called as often. */
  restrict(customer: CustomerPlan, kind: "disabled" | "narrowed"): () => void {
    const { tenantId, trouble } = customer;
    if (trouble !== undefined) return () => {};
    const name = `${kind} ${tenantId}`;
    const count = (by: number) => {
      const before = this.#disabled.get(name) ?? 0;
      this.#disabled.set(name, before + by);
      const isOn = before + by > 0;
      const plugin = { clientId: "plugin", tenantId };
      const change = kind === "disabled" ? { enabled: !isOn } : { scopes: isOn ? [] : scopes };
      ifRegistered(() => this.#emulators.A?.updatePlugin({ ...plugin, ...change }));
      if (kind === "narrowed") return;
      const clientSecret = isOn ? "none" : `secret-${this.#generation(customer)}-of-${tenantId}`;
      const clientId = `account-${tenantId}`;
      ifRegistered(() => this.#emulators.B?.updateServiceAccount({ clientId, clientSecret }));
    };
    count(1);
    return () => count(-1);
  }

  /** Ends all tokens of a customer's machine. It gets others at once. */
  revoke(customer: CustomerPlan): void {
    const { tenantId, trouble } = customer;
    // What is disabled or narrowed stays so.
    if (trouble !== undefined || [...this.#disabled.values()].some((count) => count > 0)) return;
    const { A, B } = this.#emulators;
    const jwks = { keys: this.#generation(customer) === 1 ? publicKeys.slice(0, 1) : publicKeys };
    const account = { clientId: `account-${tenantId}`, tenantId };
    ifRegistered(() => {
      A?.unregisterPlugin({ clientId: "plugin", tenantId });
      A?.registerPlugin({ clientId: "plugin", tenantId, type: "service", jwks, scopes });
    });
    ifRegistered(() => {
      B?.unregisterServiceAccount(account);
      B?.registerServiceAccount({ ...account, clientSecret: this.secret(customer) });
    });
  }

  /** The settings of a customer's plugin, as its vault has them. */
  plugin(customer: CustomerPlan, clientId: string): ServicePluginSettings {
    const generation = this.#generation(customer);
    const keyId = `key-${generation}`;
    const isWrong = customer.trouble === "wrong key";
    if (this.#plan.isSigned)
      return { clientId, keyId, privateKey: pairs[isWrong ? 1 : generation - 1]?.pem ?? "" };
    return { clientId, privateKey: { keyId, sign: async () => new Uint8Array(256) } };
  }

  /** The secret of a customer, as its vault has it. */
  secret(customer: CustomerPlan): string {
    const isWrong = customer.trouble === "wrong key";
    return `secret-${isWrong ? "wrong" : this.#generation(customer)}-of-${customer.tenantId}`;
  }

  fetch(customer: CustomerPlan, url: string, init: RequestInit): Promise<Response> {
    return this.#of(this.variantOf(customer)).fetch(url, init);
  }

  /** A person opens the plugin in the host application. Throws if the service refuses. */
  launch({ tenantId }: CustomerPlan, userId: string): Approval {
    const { codeVerifier, codeChallenge } = newPkce(crypto.randomUUID() + crypto.randomUUID());
    const launch = this.#of("A").launch({ tenantId, clientId: "planner", userId });
    const { code } = launch.authorize({ codeChallenge });
    return { variant: "A", code, body: { code, codeVerifier, tenantId, hostOrigin: HOST } };
  }

  /** A person allows a login. Throws if the service refuses. */
  login(url: string, userId: string): Approval {
    const { callbackUrl } = this.#of("B").login({ url, userId });
    return { variant: "B", code: new URL(callbackUrl).searchParams.get("code") ?? "", callbackUrl };
  }
}

const isServed = ({ variant, movesAt }: CustomerPlan, by: "A" | "B") =>
  movesAt !== undefined || variant === by;

/** A customer that has not moved is registered for one variant alone. */
function ifRegistered(change: () => unknown): void {
  try {
    change();
  } catch (error) {
    if ((error as { code?: string }).code !== "not_registered") throw error;
  }
}
