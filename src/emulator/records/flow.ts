// Records the last launch (description, section 5.3) or login (section 5.8) step by step, for the
// page at /_emulator. Secrets are reduced to their length.
import type { ApiClient } from "../registrations/clients.js";
import { isSameRedirectUri, type KnownIdentity, scopeSchema } from "../registrations/fields.js";
import type { Refusal } from "../rules/checks.js";
import type { RuleId } from "../rules.js";
import { sha256 } from "../state/expiring-map.js";

/**
 * `front` is the host or the authorization server. `client` is the plugin's backend or the API
 * client.
 */
export type Party = "browser" | "front" | "client" | "token";

export interface FlowStep {
  /** Epoch milliseconds, by the emulator's clock. */
  readonly at: number;
  readonly name: string;
  readonly from: Party;
  readonly to: Party;
  /** A public value is unchanged. Any other value is replaced by a description of it. */
  readonly fields: Readonly<Record<string, string>>;
  readonly refused: RuleId | undefined;
  /** The hash of a secret that identifies later requests of the flow. */
  readonly link: string | undefined;
}

interface Message {
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly refused?: RuleId | undefined;
  readonly link?: string | undefined;
}

/**
 * The first 12 steps are never dropped. A launch with its exchange fits, and a login with two
 * refreshes.
 */
const FIRST_STEPS = 12;
/** If a flow has more steps, the oldest step after the first 12 is dropped. */
const MAXIMUM_STEPS = 40;

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
/** Even the length of these is kept secret, because people choose them and keep them for long. */
const UNMEASURED: ReadonlySet<string> = new Set(["password", "client_secret"]);

export const TO_FRONT = { from: "browser", to: "front" } as const;
export const TO_BROWSER = { from: "front", to: "browser" } as const;
const TO_CLIENT = { from: "front", to: "client" } as const;
const TO_TOKEN = { from: "client", to: "token" } as const;
const FROM_TOKEN = { from: "token", to: "client" } as const;

export class Flow {
  readonly kind: "launch" | "login";
  /** Each member is set only if it is registered. */
  identity: KnownIdentity = {};
  readonly steps: FlowStep[] = [];
  /** The number of steps that were dropped between the first ones and the newest. */
  forgotten = 0;
  readonly #clock: () => number;
  readonly #public = new Set<string>();

  constructor(kind: Flow["kind"], identity: KnownIdentity, clock: () => number) {
    this.kind = kind;
    this.#clock = clock;
    this.identify(identity);
  }

  identify(identity: KnownIdentity): void {
    this.identity = { ...this.identity, ...identity };
    this.publish(...Object.values(identity));
  }

  /** Lets later steps show these values. */
  publish(...values: readonly (string | undefined)[]): void {
    for (const value of values) if (value !== undefined) this.#public.add(value);
  }

  add(
    parties: Pick<FlowStep, "from" | "to">,
    name: string,
    { fields = {}, refused, link }: Message,
  ): void {
    const given = Object.entries(fields).filter(([, value]) => value !== undefined);
    const shown = given.map(([field, value]) => [field, shownValue(field, value, this.#public)]);
    const hashed = link === undefined ? undefined : sha256(link);
    this.steps.push({
      at: this.#clock(),
      name,
      ...parties,
      fields: Object.fromEntries(shown),
      refused,
      link: hashed,
    });
    if (this.steps.length > MAXIMUM_STEPS)
      this.forgotten += this.steps.splice(FIRST_STEPS, 1).length;
  }

  isLinkedBy(secret: string): boolean {
    const hashed = sha256(secret);
    return this.steps.some(({ link }) => link === hashed);
  }
}

export class FlowRecord {
  last: Flow | undefined;
  readonly #clock: () => number;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  begin(kind: Flow["kind"], identity: KnownIdentity): Flow {
    this.last = new Flow(kind, identity, this.#clock);
    return this.last;
  }

  /** Returns the last flow if this opaque_code, code, refresh token or login id belongs to it. */
  find(secret: unknown): Flow | undefined {
    return typeof secret === "string" && this.last?.isLinkedBy(secret) ? this.last : undefined;
  }
}

/**
 * Redacts a field of a message. A value is shown if it is in `known` or a word of the protocols.
 */
function shownValue(name: string, value: unknown, known: ReadonlySet<string>): string {
  if (typeof value === "string") {
    if (UNMEASURED.has(name)) return value === "" ? "empty" : "given";
    return known.has(value) || WORDS.has(value) ? value : `${value.length} characters`;
  }
  if (Array.isArray(value)) return `${value.length} in a list`;
  if (typeof value === "object" && value !== null)
    return `an object of ${Object.keys(value).join(", ")}`;
  return String(value);
}

interface Recording {
  readonly flows: FlowRecord;
}

interface Person {
  readonly tenantId: string;
  readonly userId: string;
}

/** RFC 6749 section 4.1.1 and RFC 7636 section 4.3. Other parameters are not recorded. */
const AUTHORIZATION_PARAMETERS = [
  "response_type",
  "client_id",
  "redirect_uri",
  "scope",
  "state",
  "code_challenge",
  "code_challenge_method",
];

/**
 * Begins a flow with an authorization request. `id` identifies the pending login, if pages follow.
 */
export function recordAuthorization(
  { flows }: Recording,
  parameters: URLSearchParams,
  read: { client: ApiClient } | (Refusal & { callback?: { client: ApiClient } }),
  id?: string,
): Flow {
  const client = "rule" in read ? read.callback?.client : read.client;
  const flow = flows.begin("login", { tenantId: client?.tenantId, clientId: client?.clientId });
  // A registered redirect URI and well-formed scopes are public. Other values may be secrets in the
  // wrong field.
  const redirectUri = parameters.get("redirect_uri") ?? "";
  if (client?.redirectUris.some((uri) => isSameRedirectUri(uri, redirectUri)))
    flow.publish(redirectUri);
  const scope = parameters.get("scope") ?? "";
  if (scope.split(" ").every((name) => scopeSchema.safeParse(name).success)) flow.publish(scope);
  const fields = pick(parameters, AUTHORIZATION_PARAMETERS);
  flow.add(TO_FRONT, "Authorization request", { fields, link: id });
  if ("rule" in read && read.callback === undefined) {
    flow.add(TO_BROWSER, "Error page", { refused: read.rule });
  }
  return flow;
}

export function recordLogin(
  { flows }: Recording,
  id: string,
  { tenantId, userId }: KnownIdentity,
  password: string | undefined,
  person: Person | Refusal,
): void {
  const flow = flows.find(id);
  if (!("rule" in person)) flow?.identify({ tenantId: person.tenantId, userId: person.userId });
  flow?.add(TO_FRONT, "Login", { fields: { tenantId, userId, password } });
  if ("rule" in person) flow?.add(TO_BROWSER, "Login page again", { refused: person.rule });
}

/** Records the redirect to the client and, before it, the person's decision if there was one. */
export function recordCallback(
  { publicUrl }: { readonly publicUrl: () => string },
  flow: Flow | undefined,
  callbackUrl: string,
  outcome: {
    readonly person?: Person | undefined;
    readonly decision?: "allow" | "deny";
    readonly rule?: RuleId;
  },
): void {
  const { person, decision, rule = "login.consent" } = outcome;
  if (person !== undefined) flow?.identify({ tenantId: person.tenantId, userId: person.userId });
  if (decision !== undefined) flow?.add(TO_FRONT, "Consent", { fields: { decision } });
  const names = ["code", "state", "iss", "error", "error_description"];
  const fields = pick(new URL(callbackUrl).searchParams, names);
  flow?.publish(fields.error, fields.error_description, publicUrl());
  const refused = fields.code === undefined ? rule : undefined;
  flow?.add(TO_CLIENT, "Callback", { fields, refused, link: fields.code });
}

/**
 * Records a token request that belongs to the last flow; the returned function records the answer
 * and returns it.
 */
export function recordTokenRequest(
  { flows }: Recording,
  read: object,
): (answer: Response, refused?: RuleId) => Promise<Response> {
  const code = "code" in read ? read.code : undefined;
  const flow = flows.find(code ?? ("refresh_token" in read ? read.refresh_token : undefined));
  if (flow === undefined) return async (answer) => answer;
  // Variant B's code exchange has no grant_type (section 4.2).
  const { grant, ...others }: Readonly<Record<string, unknown>> = { ...read };
  const sent = grant === "refresh_token" ? { grant_type: grant, ...others } : others;
  flow.add(TO_TOKEN, code === undefined ? "Refresh" : "Code exchange", { fields: sent });
  return async (answer, refused) => {
    const fields = (await answer.clone().json()) as Readonly<Record<string, string>>;
    flow.publish(fields.error, fields.error_description);
    const name = `${refused === undefined ? "Token response" : "Refused"}, ${answer.status}`;
    flow.add(FROM_TOKEN, name, { fields, refused, link: fields.refresh_token });
    return answer;
  };
}

function pick(
  parameters: URLSearchParams,
  names: readonly string[],
): Record<string, string | undefined> {
  return Object.fromEntries(names.map((name) => [name, parameters.get(name) ?? undefined]));
}
