/**
 * What a case works with: the target, its credentials, and requests that are shared between cases.
 */
import { type AssertionChanges, importSigner, type Signer, signAssertion } from "./assertion.js";
import { NotTried } from "./errors.js";
import {
  type Answer,
  type Exchange,
  type ExchangeOptions,
  Exchanges,
  type Outgoing,
} from "./exchange.js";
import { Secrets } from "./secrets.js";
import type { ContractTarget, Need, PluginCredential } from "./target.js";

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

export type Variant = "A" | "B";

export type Fields = Readonly<Record<string, string | undefined>>;

/** A token request with what it has other than a right one. */
export interface TokenRequest {
  readonly note: string;
  /** A field that is undefined is left out. */
  readonly fields?: Fields;
  /** Replaces the media type, the other headers stay. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Replaces the encoded body, or makes another of it. */
  readonly body?: string | ((encoded: string) => string);
  /** A request as the description shows it, whose answer is worth learning. */
  readonly isRegular?: boolean;
  /** A 429 is an answer here. */
  readonly limited?: boolean;
}

export interface PluginRequest extends TokenRequest {
  /** Default: the target's `plugin`. */
  readonly plugin?: PluginCredential;
  /** Default: the target's tenant. */
  readonly tenantId?: string;
  /**
   * A function is called for each attempt, so that times count from the attempt that is answered.
   */
  readonly assertion?: AssertionChanges | (() => AssertionChanges | Promise<AssertionChanges>);
}

export interface ClientRequest extends TokenRequest {
  /** Default: POST. */
  readonly method?: string;
  /** Default: the token endpoint. */
  readonly url?: string;
  readonly operation?: "requestToken" | "refresh";
}

export interface Call {
  readonly note: string;
  readonly variant: Variant;
  /** Such as "GET /v1/devices". Default: the device list. */
  readonly route?: string;
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: false. Of the device list with a token, or of a bearer that must be refused. */
  readonly observe?: "listDevices" | "bearer";
}

export class Kit {
  readonly target: ContractTarget;
  readonly exchanges: Exchanges;
  /** Whether the cases are named, so that they may do what a run of its own accord must not. */
  readonly isNamed: boolean;
  readonly #options: Omit<ExchangeOptions, "secrets" | "ids">;
  readonly secrets: Secrets = new Secrets();
  readonly #shared = new Map<string, Promise<unknown>>();
  readonly #signers = new Map<object, Promise<Signer>>();
  /** The indexes of the exchanges that the current case relies on. */
  #evidence = new Set<number>();
  readonly #accepted = new Set<Variant>();
  #clockOffsetMs = 0;

  constructor(
    target: ContractTarget,
    options: Omit<ExchangeOptions, "secrets" | "ids">,
    isNamed: boolean,
  ) {
    this.target = target;
    this.isNamed = isNamed;
    this.#options = options;
    this.exchanges = new Exchanges({ ...options, secrets: this.secrets, ids: idsIn(target) });
    for (const { clientSecret } of [
      target.serviceAccount,
      target.apiClient,
      target.otherApiClient,
    ].flatMap((client) => client ?? []))
      this.keepSecret(clientSecret);
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
    return Math.floor((this.#options.now() + this.#clockOffsetMs) / 1000);
  }

  /** Milliseconds by which the server's clock is ahead. */
  get clockOffsetMs(): number {
    return this.#clockOffsetMs;
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
    const known = this.#shared.get(key) as
      | Promise<{ value: T; evidence: readonly number[] }>
      | undefined;
    const outer = this.#evidence;
    const running =
      known ??
      (async () => {
        this.#evidence = new Set();
        const value = await task().finally(() => {
          for (const index of this.#evidence) outer.add(index);
        });
        return { value, evidence: [...this.#evidence] };
      })();
    this.#shared.set(key, running);
    try {
      const { value, evidence } = await running;
      for (const index of evidence) outer.add(index);
      return value;
    } finally {
      this.#evidence = outer;
    }
  }

  /** Sends one request; see `Exchanges.send`. */
  async send(make: () => Promise<Outgoing>, limited = false): Promise<Answer> {
    const before = this.exchanges.all.length;
    try {
      const answer = await this.exchanges.send(make, limited);
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
    this.#clockOffsetMs = offMs > 3_000 && offMs < 86_400_000 ? offsetMs : 0;
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

  /** A client assertion of a plugin, right unless it is changed. */
  async assertion(
    plugin: PluginCredential,
    audience: string,
    changes?: AssertionChanges,
  ): Promise<string> {
    const assertion = await signAssertion(
      await this.signer(plugin),
      { clientId: plugin.clientId, audience, now: this.now() },
      changes,
    );
    this.keepSecret(assertion);
    return assertion;
  }

  /**
   * Asks Variant A's token endpoint (section 4.1): client_credentials of the service plugin, unless
   * changed.
   */
  requestTokenOfA({
    plugin = this.need("plugin"),
    tenantId,
    assertion,
    ...request
  }: PluginRequest): Promise<Answer> {
    const url = this.tokenUrlOfA(tenantId);
    return this.send(async () => {
      const fields: Fields = {
        grant_type: "client_credentials",
        client_id: plugin.clientId,
        client_assertion_type: assertionType,
        client_assertion: await this.assertion(
          plugin,
          url,
          typeof assertion === "function" ? await assertion() : assertion,
        ),
        ...request.fields,
      };
      for (const name of ["code", "code_verifier"]) this.keepSecret(fields[name]);
      const given = Object.entries(fields).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, value]],
      );
      return {
        note: request.note,
        url,
        headers: { "content-type": "application/x-www-form-urlencoded", ...request.headers },
        body: bodyOf(request, new URLSearchParams(given).toString()),
        fields: given.map(([name = ""]) => name),
        ...(request.isRegular && { observe: { variant: "A", operation: "requestToken" } }),
      };
    }, request.limited);
  }

  /** Asks Variant B's token endpoint (section 4.2) with these fields as JSON. */
  requestTokenOfB({
    url = this.tokenUrlOfB,
    method,
    operation = "requestToken",
    ...request
  }: ClientRequest): Promise<Answer> {
    const fields = request.fields ?? {};
    const secrets = ["code", "code_verifier", "client_secret", "refresh_token"];
    for (const name of secrets) this.keepSecret(fields[name]);
    return this.send(
      async () => ({
        note: request.note,
        method,
        url,
        headers: { "content-type": "application/json", ...request.headers },
        body: bodyOf(request, JSON.stringify(fields)),
        fields: Object.keys(fields).filter((name) => fields[name] !== undefined),
        // Errors are worth learning too: Variant B's are not shown (section 7.3).
        ...(method === undefined && { observe: { variant: "B", operation } }),
      }),
      request.limited,
    );
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
    return (await this.granted(variant)).accessToken;
  }

  /**
   * The answer to the shared token request of the machine credential. It is the control of every
   * case that breaks a rule.
   *
   * @throws NotTried if the credential was refused
   */
  async granted(variant: Variant): Promise<Answer & { readonly accessToken: string }> {
    const answer = await this.control(variant);
    const { accessToken } = answer;
    if (accessToken !== undefined) return { ...answer, accessToken };
    const message =
      `The credential of the ${machine[variant]} was refused ` + `(${shownAnswer(answer)}).`;
    throw new NotTried(message, "refused");
  }

  /**
   * The same, also if the credential was refused. It is shared until half a minute before its token
   * expires: some cases wait for hours.
   */
  async control(variant: Variant): Promise<Answer> {
    const key = `control ${variant}`;
    const request = () => this.askControl(variant);
    const answer = await this.share(key, request);
    if (answer.accessToken !== undefined) this.#accepted.add(variant);
    const isLive = this.#options.now() < answer.receivedAt + (lifetimeOf(answer) - 30) * 1000;
    if (answer.accessToken === undefined || isLive) return answer;
    this.#shared.delete(key);
    return this.share(key, request);
  }

  /** A right token request of the machine credential. */
  askControl(variant: Variant): Promise<Answer> {
    const right = { note: `a right token request of the ${machine[variant]}`, isRegular: true };
    return variant === "A"
      ? this.requestTokenOfA(right)
      : this.requestTokenOfB({ ...right, fields: accountFields(this) });
  }

  /** Whether the machine credential of the variant got a token in this run. */
  wasAccepted(variant: Variant): boolean {
    return this.#accepted.has(variant);
  }

  /** Calls a route, by default the device list of section 4.3. */
  call({ note, variant, route, token, headers, observe }: Call): Promise<Answer> {
    const list = variant === "A" ? `/api/v1/${this.need("tenantId")}/devices` : "/v1/devices";
    const [method = "", path = ""] = (route ?? `GET ${list}`).split(" ");
    const bearer = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return this.send(async () => ({
      note,
      method,
      url: this.url(path),
      headers: { ...bearer, ...headers },
      ...(observe && { observe: { variant, operation: observe } }),
    }));
  }
}

const machine = { A: "service plugin", B: "service account" } as const;

/** The right fields of a token request by the service account. */
export function accountFields(
  kit: Kit,
): Record<"grant_type" | "client_id" | "client_secret", string> {
  const { clientId, clientSecret } = kit.need("serviceAccount");
  return { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret };
}

function bodyOf({ body }: TokenRequest, encoded: string): string {
  return typeof body === "function" ? body(encoded) : (body ?? encoded);
}

/** Seconds. Both variants name one hour where the answer names nothing (section 8). */
export function lifetimeOf({ fields }: Answer): number {
  const seconds = Number(fields?.expires_in);
  return seconds > 0 ? seconds : 3600;
}

/** The ids of tenants and clients that the target names. */
function idsIn({ tenantId, secondTenantId, ...target }: ContractTarget): ReadonlySet<string> {
  const clients = Object.values(target).flatMap((value) => Object(value).clientId ?? []);
  return new Set([...clients, ...[tenantId, secondTenantId].flatMap((id) => id ?? [])]);
}

/** Whether a token endpoint answers a request that holds nothing of anyone as one would. */
export function askServed(
  kit: Kit,
  variant: Variant,
): Promise<{ readonly isServed: boolean; readonly observed: string }> {
  const isA = variant === "A";
  return kit.share(`served ${variant}`, async () => {
    const answer = await kit.send(async () => ({
      note: `a token request without a client, to see whether Variant ${variant} is served`,
      url: isA ? kit.tokenUrlOfA() : kit.tokenUrlOfB,
      headers: { "content-type": isA ? "application/x-www-form-urlencoded" : "application/json" },
      body: isA ? "grant_type=bivariant-contract" : "{}",
      fields: isA ? ["grant_type"] : [],
    }));
    const { status, fields } = answer;
    const isRefusal = status >= 400 && status < 500 && ![404, 405, 410].includes(status);
    // A token without a client is a fault of a token endpoint, which the cases then show.
    const isServed = (isRefusal && fields !== undefined) || answer.accessToken !== undefined;
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
