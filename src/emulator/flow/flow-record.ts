// Records the last launch or login step by step, for the page at /_emulator. Secrets are reduced to their length.
import { createHash } from "node:crypto";
import type { RuleId } from "../rules.js";

/** `front` is the host application or the authorization server, `client` the plugin's backend or the client. */
export type Party = "browser" | "front" | "client" | "token";

/** One message between two parties. */
export interface FlowStep {
  /** Epoch milliseconds, by the emulator's clock. */
  readonly at: number;
  readonly name: string;
  readonly from: Party;
  readonly to: Party;
  readonly fields: readonly ShownField[];
  /** The rule that the message reports as broken. */
  readonly refused?: RuleId | undefined;
}

/** One field of a message. */
export interface ShownField {
  readonly name: string;
  /** The value if it is public, otherwise a description of it. */
  readonly shown: string;
}

/** Whose flow it is. Each member is set only if it is registered. */
export interface FlowIdentity {
  readonly tenantId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly userId?: string | undefined;
}

export interface Flow extends FlowIdentity {
  readonly kind: "launch" | "login";
  readonly steps: readonly FlowStep[];
  /** The number of steps that were dropped between the first ones and the newest. */
  readonly forgotten: number;
}

/** A step with its fields as they were received. */
export type NewStep = Omit<FlowStep, "fields"> & { readonly fields?: Readonly<Record<string, unknown>> };

/** Enough for a launch with its exchange, or a login with two refreshes: these steps are never dropped. */
const FIRST_STEPS = 12;
/** Beyond this the oldest step after the first ones is dropped. */
const MAXIMUM_STEPS = 40;
/** Codes and refresh tokens that identify later steps. Beyond this the oldest is dropped. */
const MAXIMUM_LINKS = 100;

/** Values that the protocols define. */
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
/** People choose them and keep them for long, so that even their length is a secret. */
const UNMEASURED: ReadonlySet<string> = new Set(["password", "client_secret"]);

/** The flow that is being recorded. A newer one replaces it. */
export class OpenFlow {
  readonly #kind: Flow["kind"];
  #identity: FlowIdentity = {};
  readonly #public = new Set<string>();
  readonly #links = new Set<string>();
  readonly #steps: FlowStep[] = [];
  #forgotten = 0;

  constructor(kind: Flow["kind"], identity: FlowIdentity) {
    this.#kind = kind;
    this.identify(identity);
  }

  identify(identity: FlowIdentity): void {
    this.#identity = { ...this.#identity, ...identity };
    this.publish(...Object.values(identity));
  }

  /** Lets later steps show these values. */
  publish(...values: readonly (string | undefined)[]): void {
    for (const value of values) if (value !== undefined) this.#public.add(value);
  }

  /** `links` are secrets that identify later requests of this flow; only their hashes are kept. */
  add({ fields = {}, ...step }: NewStep, ...links: readonly (string | undefined)[]): void {
    this.#steps.push({ ...step, fields: shownFields(fields, this.#public) });
    if (this.#steps.length > MAXIMUM_STEPS) this.#forgotten += this.#steps.splice(FIRST_STEPS, 1).length;
    for (const link of links) if (link !== undefined) this.#links.add(hash(link));
    const [oldest] = this.#links;
    if (this.#links.size > MAXIMUM_LINKS && oldest !== undefined) this.#links.delete(oldest);
  }

  isLinkedBy(secret: string): boolean {
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

  /** Notes that an operator loaded the host application's page: a launch may follow. */
  pageLoaded(at: number, { tenantId, userId }: { readonly tenantId: string; readonly userId: string }): void {
    this.#page = { at, tenantId, userId };
  }

  /** The instant at which that operator last loaded the page. */
  pageLoadedAt({ tenantId, userId }: FlowIdentity): number | undefined {
    return this.#page?.tenantId === tenantId && this.#page?.userId === userId ? this.#page?.at : undefined;
  }

  begin(kind: Flow["kind"], identity: FlowIdentity): OpenFlow {
    this.#open = new OpenFlow(kind, identity);
    return this.#open;
  }

  /** The open flow, if this opaque_code, code, refresh token or login id belongs to it. */
  find(secret: unknown): OpenFlow | undefined {
    return typeof secret === "string" && this.#open?.isLinkedBy(secret) ? this.#open : undefined;
  }

  last(): Flow | undefined {
    return this.#open?.toFlow();
  }
}

/** Redacts the fields of a message. A value is shown if it is in `known` or a word of the protocols. */
export function shownFields(
  fields: Readonly<Record<string, unknown>>,
  known: ReadonlySet<string>,
): ShownField[] {
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

function hash(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}
