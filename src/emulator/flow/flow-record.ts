import { createHash } from "node:crypto";
import type { RuleId } from "../rules.js";

// What a step of a flow carried, redacted: the name of each field, and its value only where everybody may know it.

/** One field of a message. */
export interface Carried {
  readonly name: string;
  /** The value if it is public, else what kind of value it was. */
  readonly shown: string;
}

/** Values of the protocols themselves. */
const WORDS: ReadonlySet<string> = new Set([
  "authorization_code",
  "refresh_token",
  "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
  "code",
  "S256",
  "Bearer",
  "allow",
  "deny",
]);
/** Chosen by people and kept for long: not even their length is told. */
const UNMEASURED: ReadonlySet<string> = new Set(["password", "client_secret"]);

/** `known` are the values that may be shown beside the words of the protocols; absent fields are left out. */
export function carried(fields: Readonly<Record<string, unknown>>, known: ReadonlySet<string>): Carried[] {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ({ name, shown: shownValue(name, value, known) }));
}

function shownValue(name: string, value: unknown, known: ReadonlySet<string>): string {
  if (typeof value === "string") {
    if (UNMEASURED.has(name)) return value === "" ? "empty" : "given";
    return known.has(value) || WORDS.has(value) ? value : `${value.length} characters`;
  }
  if (Array.isArray(value)) return `${value.length} in a list`;
  if (typeof value === "object" && value !== null) return `an object of ${Object.keys(value).join(", ")}`;
  return String(value);
}

/** `front` is the host application or the authorization server, `client` the plugin's backend or the client. */
export type Party = "browser" | "front" | "client" | "token";

/** One message between two parties. */
export interface FlowStep {
  /** Epoch milliseconds, by the emulator's clock. */
  readonly at: number;
  readonly name: string;
  readonly from: Party;
  readonly to: Party;
  readonly carries: readonly Carried[];
  /** The rule by which it says no. */
  readonly refused?: RuleId;
}

/** Whose flow it is; each only if it is registered. */
export interface FlowIdentity {
  readonly tenantId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly userId?: string | undefined;
}

export interface Flow extends FlowIdentity {
  readonly kind: "launch" | "login";
  readonly steps: readonly FlowStep[];
  /** How many steps between the first ones and the newest were forgotten. */
  readonly forgotten: number;
}

/** A step with its fields as they came. */
export type NewStep = Omit<FlowStep, "carries"> & { readonly fields: Readonly<Record<string, unknown>> };

/** A launch and its exchange, or a login and two refreshes, always stay. */
const FIRST_STEPS = 12;
/** With more, those after the first ones are forgotten, oldest first. */
const MAXIMUM_STEPS = 40;
/** Codes and refresh tokens by which later steps are known; beyond it the oldest is forgotten. */
const MAXIMUM_LINKS = 100;

/** The flow that is being recorded; a newer one takes its place. */
export class OpenFlow {
  readonly #kind: Flow["kind"];
  #identity: FlowIdentity;
  readonly #known = new Set<string>();
  readonly #links = new Set<string>();
  readonly #steps: FlowStep[] = [];
  #forgotten = 0;

  constructor(kind: Flow["kind"], identity: FlowIdentity) {
    this.#kind = kind;
    this.#identity = {};
    this.identify(identity);
  }

  identify(identity: FlowIdentity): void {
    this.#identity = { ...this.#identity, ...identity };
    this.know(...Object.values(identity));
  }

  /** Values that steps may show from now on. */
  know(...values: readonly (string | undefined)[]): void {
    for (const value of values) if (value !== undefined) this.#known.add(value);
  }

  /** `links` are secrets by which the next step is known; only their hashes are kept. */
  add({ fields, ...step }: NewStep, ...links: readonly (string | undefined)[]): void {
    this.#steps.push({ ...step, carries: carried(fields, this.#known) });
    if (this.#steps.length > MAXIMUM_STEPS) this.#forgotten += this.#steps.splice(FIRST_STEPS, 1).length;
    for (const link of links) {
      if (link !== undefined) this.#links.add(hash(link));
    }
    const [oldest] = this.#links;
    if (this.#links.size > MAXIMUM_LINKS && oldest !== undefined) this.#links.delete(oldest);
  }

  isKnownBy(secret: string): boolean {
    return this.#links.has(hash(secret));
  }

  toFlow(): Flow {
    return {
      ...this.#identity,
      kind: this.#kind,
      steps: [...this.#steps],
      forgotten: this.#forgotten,
    };
  }
}

export class FlowRecord {
  #open: OpenFlow | undefined;
  #page: { readonly at: number; readonly tenantId: string; readonly userId: string } | undefined;

  /** An operator looks at the host application's page: a launch from it may follow. */
  pageLoaded(at: number, { tenantId, userId }: { readonly tenantId: string; readonly userId: string }): void {
    this.#page = { at, tenantId, userId };
  }

  /** When that operator last loaded the page, in epoch milliseconds. */
  pageLoadedAt({ tenantId, userId }: FlowIdentity): number | undefined {
    return this.#page?.tenantId === tenantId && this.#page?.userId === userId ? this.#page?.at : undefined;
  }

  begin(kind: Flow["kind"], identity: FlowIdentity): OpenFlow {
    this.#open = new OpenFlow(kind, identity);
    return this.#open;
  }

  /** The flow that this opaque_code, code, refresh token or login belongs to. */
  find(secret: unknown): OpenFlow | undefined {
    return typeof secret === "string" && this.#open?.isKnownBy(secret) ? this.#open : undefined;
  }

  last(): Flow | undefined {
    return this.#open?.toFlow();
  }
}

function hash(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}
