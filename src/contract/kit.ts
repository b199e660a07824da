/**
 * What a case works with: the target, its credentials, and requests that are shared between cases.
 */
import { type AssertionChanges, importSigner, type Signer, signAssertion } from "./assertion.js";
import { NotTried, type NotTriedReason } from "./errors.js";
import {
  type Answer,
  type Exchange,
  Exchanges,
  type Outgoing,
  type RunOptions,
} from "./exchange.js";
import { Secrets } from "./secrets.js";
import type { ContractTarget, Need, PluginCredential } from "./target.js";

export const formType = "application/x-www-form-urlencoded";
const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

export type Variant = "A" | "B";

export type Fields = Readonly<Record<string, string | undefined>>;

/** What a token request has other than a right one. */
export interface TokenRequest {
  /** A field that is undefined is left out. */
  readonly fields?: Fields | undefined;
  /** Replaces the media type, the other headers stay. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Replaces the encoded body, or makes another of it. */
  readonly body?: string | ((encoded: string) => string);
  /** A 429 is an answer here. */
  readonly limited?: boolean;
}

export interface PluginRequest extends TokenRequest {
  /** Default: the target's `plugin`. */
  readonly plugin?: PluginCredential | undefined;
  /** Default: the target's tenant. */
  readonly tenantId?: string;
  /**
   * A function is called for each attempt, so that times count from the attempt that is answered.
   */
  readonly assertion?: AssertionChanges | (() => AssertionChanges | Promise<AssertionChanges>);
  /** A request as the description shows it, whose answer is worth learning. */
  readonly isRegular?: boolean;
}

export interface ClientRequest extends TokenRequest {
  /** Default: POST. */
  readonly method?: string;
  /** Default: the token endpoint. */
  readonly url?: string;
  readonly operation?: "requestToken" | "refresh";
}

export interface Call {
  /** Such as "GET /v1/devices". Default: the device list. */
  readonly route?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of the device list with a token, or of a bearer that must be refused. */
  readonly observe?: "listDevices" | "bearer";
}

export class Kit {
  readonly target: ContractTarget;
  readonly exchanges: Exchanges;
  /** Whether the cases are named, so that they may do what a run of its own accord must not. */
  readonly isNamed: boolean;
  readonly #options: RunOptions;
  readonly secrets: Secrets = new Secrets();
  readonly #shared = new Map<string, { running: Promise<unknown>; evidence: Set<number> }>();
  readonly #signers = new Map<object, Promise<Signer>>();
  /** The indexes of the exchanges that the current case relies on. */
  #evidence = new Set<number>();
  /** The variants whose machine credential got a token in this run. */
  readonly accepted: Set<Variant> = new Set();
  /** Milliseconds by which the server's clock is ahead. */
  clockOffsetMs = 0;

  constructor(target: ContractTarget, options: RunOptions, isNamed: boolean) {
    this.target = target;
    this.isNamed = isNamed;
    this.#options = options;
    this.exchanges = new Exchanges({ ...options, secrets: this.secrets, ids: idsIn(target) });
    for (const lent of Object.values(target)) this.keepSecret(Object(lent).clientSecret);
  }

  /** Begins a case: what follows is its evidence. */
  begin(): void {
    this.#evidence = new Set();
  }

  /** The exchanges that the current case relied on. */
  evidence(): readonly Exchange[] {
    const inOrder = [...this.#evidence].sort((a, b) => a - b);
    return inOrder.flatMap((index) => this.exchanges.all[index] ?? []);
  }

  /** A value that no report may show. */
  keepSecret(value: unknown): void {
    this.secrets.keep(value);
  }

  /** A member of the target that the case names among its needs. */
  need<Name extends Need>(name: Name): NonNullable<ContractTarget[Name]> {
    const value = this.target[name];
    if (value === undefined) throw new NotTried(`It needs ${name}.`);
    return value as NonNullable<ContractTarget[Name]>;
  }

  /** Seconds since the epoch, by the clock of the server as far as its answers have shown it. */
  now(): number {
    return Math.floor((this.#options.now() + this.clockOffsetMs) / 1000);
  }

  wait(seconds: number): Promise<void> {
    return this.#options.wait(seconds * 1000, "case");
  }

  /**
   * Calls a function that the caller lends, which may be plain JavaScript: it may throw at once, or
   * return nothing.
   *
   * @throws NotTried with the failure, and with what the function says of it
   */
  async ask<T>(failure: string, lent: () => T | Promise<T>): Promise<T> {
    let value: T | undefined;
    try {
      value = (await lent()) ?? undefined;
    } catch (fault) {
      throw new NotTried(`${failure}${this.shownFault(fault)}.`);
    }
    if (value !== undefined) return value;
    throw new NotTried(`${failure}: it returned nothing.`);
  }

  /**
   * What the caller's own function said. Later lines may quote what was typed, and a query may hold
   * a code.
   */
  shownFault(fault: unknown): string {
    const message = fault instanceof Error ? fault.message : typeof fault === "string" ? fault : "";
    const [line = ""] = message.trim().split(/[\r\n]/, 1);
    const withoutQuery = line.replace(/[?#][^\s"'<>]*/g, (tail) =>
      tail.includes("=") ? "?..." : tail,
    );
    const text = withoutQuery.replace(/\.$/, "");
    return text === "" || this.secrets.areIn(text) ? "" : `: ${text.slice(0, 200)}`;
  }

  /** Runs a task once for all cases that share it. Its exchanges are evidence of each of them. */
  async share<T>(key: string, task: () => Promise<T>): Promise<T> {
    const outer = this.#evidence;
    let shared = this.#shared.get(key);
    if (shared === undefined) {
      const evidence = new Set<number>();
      this.#evidence = evidence;
      shared = { running: task(), evidence };
      this.#shared.set(key, shared);
    }
    try {
      return (await shared.running) as T;
    } finally {
      for (const index of shared.evidence) outer.add(index);
      this.#evidence = outer;
    }
  }

  /** Sends one request; see `Exchanges.send`. */
  async send(outgoing: Outgoing): Promise<Answer> {
    const before = this.exchanges.all.length;
    try {
      const answer = await this.exchanges.send(outgoing);
      this.#learnClock(answer);
      return answer;
    } finally {
      for (let index = before; index < this.exchanges.all.length; index++)
        this.#evidence.add(index);
    }
  }

  /**
   * `Date` has whole seconds, and an answer from a cache has an old one (RFC 9111 section 5.1).
   * What is more than a day off corrects nothing: a deployment must not get assertions that are
   * valid some other day.
   */
  #learnClock({ headers, receivedAt }: Answer): void {
    const date = Date.parse(headers.get("date") ?? "");
    if (Number.isNaN(date) || headers.has("age")) return;
    const offsetMs = date - receivedAt;
    const offMs = Math.abs(offsetMs);
    this.clockOffsetMs = offMs > 3_000 && offMs < 86_400_000 ? offsetMs : 0;
  }

  /** The URL of a path under the base URL. */
  url(path: string): string {
    return this.target.baseUrl + path;
  }

  tokenUrlOfA(tenantId: string = this.need("tenantId")): string {
    return this.url(`/api/v1/${tenantId}/external-plugin/oauth/token`);
  }

  get tokenUrlOfB(): string {
    return this.url("/v1/auth/token");
  }

  /** `member` is that of the target, for the error of a key that cannot be used. */
  signer(credential: Omit<PluginCredential, "clientId">, member?: string): Promise<Signer> {
    const signer = this.#signers.get(credential) ?? importSigner(credential, member);
    this.#signers.set(credential, signer);
    return signer;
  }

  /**
   * Asks Variant A's token endpoint (section 4.1): client_credentials of the service plugin, unless
   * changed.
   */
  requestTokenOfA(
    note: string,
    {
      plugin = this.need("plugin"),
      tenantId,
      assertion,
      isRegular,
      ...request
    }: PluginRequest = {},
  ): Promise<Answer> {
    const url = this.tokenUrlOfA(tenantId);
    const fields: Fields = {
      grant_type: "client_credentials",
      client_id: plugin.clientId,
      client_assertion_type: assertionType,
      client_assertion: "",
      ...request.fields,
    };
    for (const name of ["code", "code_verifier"]) this.keepSecret(fields[name]);
    const names = namesIn(fields);
    return this.send({
      ...request,
      note,
      url,
      headers: { "content-type": formType, ...request.headers },
      body: async () => {
        const changes = typeof assertion === "function" ? await assertion() : assertion;
        const form = new URLSearchParams(names.map((name) => [name, fields[name] ?? ""]));
        if (fields.client_assertion === "") {
          const claims = { clientId: plugin.clientId, audience: url, now: this.now() };
          const signed = await signAssertion(await this.signer(plugin), claims, changes);
          this.keepSecret(signed);
          form.set("client_assertion", signed);
        }
        return bodyOf(request, form.toString());
      },
      fields: names,
      ...(isRegular && { observe: { variant: "A", operation: "requestToken" } }),
    });
  }

  /** Asks Variant B's token endpoint (section 4.2) with these fields as JSON. */
  requestTokenOfB(
    note: string,
    { url = this.tokenUrlOfB, operation = "requestToken", fields = {}, ...request }: ClientRequest,
  ): Promise<Answer> {
    const secrets = ["code", "code_verifier", "client_secret", "refresh_token"];
    for (const name of secrets) this.keepSecret(fields[name]);
    return this.send({
      ...request,
      note,
      url,
      headers: { "content-type": "application/json", ...request.headers },
      body: bodyOf(request, JSON.stringify(fields)),
      fields: namesIn(fields),
      // Errors are worth learning too: Variant B's are not shown (section 7.3).
      ...(request.method === undefined && { observe: { variant: "B", operation } }),
    });
  }

  /** @throws NotTried if the deployment does not serve the variant */
  async requireServed(variant: Variant): Promise<void> {
    const { isServed, observed } = await askServed(this, variant);
    if (!isServed)
      throw new NotTried(
        `Variant ${variant} is not served, as far as its token endpoint shows (${observed}).`,
        "not_served",
      );
  }

  /** The token of the machine credential. @throws NotTried if the credential was refused */
  async token(variant: Variant): Promise<string> {
    return tokenIn(await this.granted(variant));
  }

  /**
   * The answer to the shared token request of the machine credential. It is the control of every
   * case that breaks a rule.
   *
   * @throws NotTried if the credential was refused
   */
  async granted(variant: Variant): Promise<Answer> {
    const answer = await this.control(variant);
    tokenIn(answer, `The credential of the ${machine[variant]}`, "refused");
    return answer;
  }

  /**
   * The same, also if the credential was refused. It is shared until half a minute before its token
   * expires: some cases wait for hours.
   */
  async control(variant: Variant): Promise<Answer> {
    const key = `control ${variant}`;
    const request = () => this.askControl(variant);
    const answer = await this.share(key, request);
    if (answer.accessToken !== undefined) this.accepted.add(variant);
    const isLive = this.#options.now() < answer.receivedAt + (lifetimeOf(answer) - 30) * 1000;
    if (answer.accessToken === undefined || isLive) return answer;
    this.#shared.delete(key);
    return this.share(key, request);
  }

  /** A right token request of the machine credential. */
  askControl(variant: Variant): Promise<Answer> {
    const note = `a right token request of the ${machine[variant]}`;
    return variant === "A"
      ? this.requestTokenOfA(note, { isRegular: true })
      : this.requestTokenOfB(note, { fields: accountFields(this) });
  }

  /** Calls a route, by default the device list of section 4.3. */
  call(
    note: string,
    variant: Variant,
    token: string | undefined,
    { route = this.deviceRoute(variant), headers, observe }: Call = {},
  ): Promise<Answer> {
    const [method = "", path = ""] = route.split(" ");
    return this.send({
      note,
      method,
      url: this.url(path),
      headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
      ...(observe && { observe: { variant, operation: observe } }),
    });
  }

  /** Variant B's path has no tenant, so its target needs none. */
  deviceRoute(variant: Variant, tenantId?: string): string {
    const base = variant === "A" ? `/api/v1/${tenantId ?? this.need("tenantId")}` : "/v1";
    return `GET ${base}/devices`;
  }
}

const machine = { A: "service plugin", B: "service account" } as const;

/** The right fields of a token request by the service account. */
export function accountFields(kit: Kit): Fields {
  const { clientId, clientSecret } = kit.need("serviceAccount");
  return { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret };
}

function bodyOf({ body }: TokenRequest, encoded: string): string {
  return typeof body === "function" ? body(encoded) : (body ?? encoded);
}

function namesIn(fields: Fields): string[] {
  return Object.keys(fields).filter((name) => fields[name] !== undefined);
}

/** Seconds. Both variants name one hour where the answer names nothing (section 8). */
export function lifetimeOf({ fields }: Answer): number {
  const seconds = Number(fields?.expires_in);
  return seconds > 0 ? seconds : 3600;
}

/** The ids of tenants and clients that the target names. */
function idsIn({ tenantId, secondTenantId, ...target }: ContractTarget): ReadonlySet<string> {
  const clients = Object.values(target).map((lent) => Object(lent).clientId);
  return new Set([tenantId, secondTenantId, ...clients].flatMap((id) => id ?? []));
}

/** Whether a token endpoint answers a request that holds nothing of anyone as one would. */
export function askServed(
  kit: Kit,
  variant: Variant,
): Promise<{ readonly isServed: boolean; readonly observed: string }> {
  const isA = variant === "A";
  return kit.share(`served ${variant}`, async () => {
    const answer = await kit.send({
      note: `a token request without a client, to see whether Variant ${variant} is served`,
      url: isA ? kit.tokenUrlOfA() : kit.tokenUrlOfB,
      headers: { "content-type": isA ? formType : "application/json" },
      body: isA ? "grant_type=bivariant-contract" : "{}",
      fields: isA ? ["grant_type"] : [],
    });
    // A token without a client is a fault of a token endpoint, which the cases then show.
    const isServed = isByEndpoint(answer) || answer.accessToken !== undefined;
    return { isServed, observed: shownAnswer(answer) };
  });
}

/** Describes an answer in a few words, such as `400 invalid_client`. */
export function shownAnswer({ status, fields, text }: Answer): string {
  const error = fields?.error;
  if (typeof error === "string" && /^[\w.:-]{1,60}$/.test(error)) return `${status} ${error}`;
  if (text === "") return `${status}, empty`;
  return `${status}, ${fields === undefined ? "not a JSON object" : "a JSON object"}`;
}

/** Whether a refusal shows that an endpoint that answers in JSON is there. */
export function isByEndpoint({ status, fields }: Answer): boolean {
  const isRefusal = status >= 400 && status < 500 && ![404, 405, 410].includes(status);
  return isRefusal && fields !== undefined;
}

/** The token of an answer to `what`. @throws NotTried if it was refused */
export function tokenIn(
  answer: Answer,
  what = "A right token request",
  reason?: NotTriedReason,
): string {
  if (answer.accessToken !== undefined) return answer.accessToken;
  throw new NotTried(`${what} was refused (${shownAnswer(answer)}).`, reason);
}
