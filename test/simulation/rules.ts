// The rules that no world may break. They see the wire, the calls, the events, the store, and
// nothing inside the client.
import { inspect } from "node:util";
import type { CustomerPlan, Plan } from "./plan.js";

export const ruleNames = [
  "tenant isolation",
  "person isolation",
  "a code is sent once",
  "a refresh token is sent once",
  "an assertion is sent once",
  "fresh tokens",
  "a refused token is not sent again",
  "few requests",
  "pause after a refusal",
  "Retry-After",
  "Retry-After in the fleet",
  "deadline",
  "abort",
  "healing",
  "sessions last",
  "known errors",
  "no secret",
  "nothing grows",
  "no unhandled rejection",
] as const;

export type RuleName = (typeof ruleNames)[number];

/**
 * The time limits of a token request, an API call, both again after a 401, and of the store before
 * each of them.
 */
export const longestCallMs = 400_000;
/** For so long the refusal of a new token is final, since another one would be refused too. */
const youngTokenMs = 30_000;
/** What a wait may be shorter by, since a clock runs up to 100 ppm fast. */
const rateTolerance = 0.999;

/** The fields of a token request that rules are about. */
export interface TokenFields {
  readonly grant: string;
  readonly clientId: string;
  readonly assertion?: string | undefined;
  readonly code?: string | undefined;
  readonly refreshToken?: string | undefined;
}

/**
 * Each variant has a token endpoint, and a rate limit is that of one. A customer that moves has
 * both.
 */
const endpointOf = (tenantId: string, { assertion }: TokenFields) =>
  `${tenantId} ${assertion === undefined ? "B" : "A"}`;

interface Issued {
  readonly tenantId: string;
  /** Whom it acts for; `undefined` for a machine. */
  readonly userId: string | undefined;
  readonly endsAt: number;
}

export class Rules {
  readonly broken: Map<RuleName, string> = new Map();
  readonly #plan: Plan;
  /** By how much clocks may be wrong, at most. */
  readonly slackMs: number;
  /** Whether nothing goes wrong, and each request is expected. */
  readonly #isQuiet: boolean;
  /** Whether what one process has learnt of a rate limit reaches all the others. */
  readonly #isGateShared: boolean;
  /** Whether the store may lose more than it says. */
  readonly #mayLose: boolean;
  /** When the store lost writes, and of how long. */
  readonly #losses: { readonly at: number; readonly lossMs: number }[] = [];
  /** When tokens of each person were issued. */
  readonly #writes = new Map<string, number[]>();
  readonly #sent = new Set<string>();
  readonly #owners = new Map<string, string>();
  readonly #tokens = new Map<string, Issued>();
  readonly #secrets = new Set<string>();
  readonly #closedUntil = new Map<string, number>();
  readonly #fleetClosed = new Map<string, { readonly from: number; readonly until: number }>();
  readonly #lastRequest = new Map<string, number>();
  /** The last token that each process got, unless it was refused since. */
  readonly #held = new Map<string, { readonly token: string; readonly from: number }>();
  /**
   * When each process first sent a token, and the tokens that it dropped, or saw refused when they
   * were not young.
   */
  readonly #firstSent = new Map<string, number>();
  readonly #refusedTokens = new Map<string, number>();
  readonly #suspensions: { process: string; from: number; until: number }[] = [];
  readonly #hasJumps: boolean;
  /** How often each identity was refused in a row. */
  readonly #refusals = new Map<string, number>();
  readonly #refusedAt = new Map<string, number>();

  constructor(plan: Plan) {
    this.#plan = plan;
    const { faults, acts, store, customers } = plan;
    const offsets = plan.processes.map(({ offsetMs }) => Math.abs(offsetMs));
    const jumps = faults
      .filter(({ kind }) => kind === "jump")
      .map(({ jumpMs }) => Math.abs(jumpMs));
    this.slackMs = 2_000 + 2 * Math.max(...offsets) + jumps.reduce((sum, ms) => sum + ms, 0);
    const isAborted = acts.some(({ abortAfterMs }) => abortAfterMs !== undefined);
    const isChanged = customers.some(({ movesAt, rotatesAt }) => movesAt ?? rotatesAt);
    const isInTime = Math.max(...offsets) === 0 && !isChanged;
    this.#isQuiet = faults.length === 0 && isInTime && !isAborted && !plan.rateLimit;
    const isShared = store === "shared" || store === "redis";
    this.#isGateShared =
      isShared && isInTime && !faults.some(({ kind }) => /store|jump|suspend|death/.test(kind));
    this.#hasJumps = jumps.length > 0 || customers.some(({ movesAt }) => movesAt !== undefined);
    this.#mayLose = faults.some(({ kind }) => kind === "store failover");
    for (const { tenantId } of customers)
      for (const name of ["1", "2", "wrong"]) this.#secrets.add(`secret-${name}-of-${tenantId}`);
  }

  break(rule: RuleName, how: string): void {
    if (!this.broken.has(rule)) this.broken.set(rule, how);
  }

  /** A code was given to a person's browser, or a session. */
  secret(text: string, owner?: string): void {
    this.#secrets.add(text);
    if (owner !== undefined) this.#owners.set(text, owner);
  }

  /** A token request leaves a process, and the service may see it. */
  tokenRequested(
    at: number,
    process: string,
    { tenantId, trouble }: CustomerPlan,
    fields: TokenFields,
  ): void {
    const { grant, assertion, code, refreshToken } = fields;
    const endpoint = endpointOf(tenantId, fields);
    const closedUntil = this.#closedUntil.get(`${process} ${endpoint}`) ?? 0;
    if (at < closedUntil)
      this.break(
        "Retry-After",
        `${process} asks for ${tenantId} ${Math.round(closedUntil - at)} ms early`,
      );
    const fleet = this.#fleetClosed.get(endpoint);
    if (this.#isGateShared && fleet && at > fleet.from && at < fleet.until)
      this.break(
        "Retry-After in the fleet",
        `${process} asks for ${tenantId}, which another was told not to`,
      );
    const once = (rule: RuleName, text: string) => {
      if (this.#sent.has(text)) this.break(rule, `${process} sends one of ${tenantId} again`);
      this.#sent.add(text);
    };
    if (assertion !== undefined) {
      const [, payload = ""] = assertion.split(".");
      this.#secrets.add(assertion);
      once(
        "an assertion is sent once",
        JSON.parse(Buffer.from(payload, "base64url").toString()).jti,
      );
    }
    if (code !== undefined) once("a code is sent once", code);
    // Each process remembers what it sent, also if the store does not.
    if (refreshToken !== undefined)
      once(
        "a refresh token is sent once",
        this.#mayLose ? `${process} ${refreshToken}` : refreshToken,
      );
    if (code !== undefined) return;
    const isShared = this.#plan.store === "shared" || this.#plan.store === "redis";
    const who = this.#owners.get(refreshToken ?? "") ?? tenantId;
    const name = `${grant} ${isShared ? "fleet" : process} ${who}`;
    const gapMs = at - (this.#lastRequest.get(name) ?? Number.NEGATIVE_INFINITY);
    this.#lastRequest.set(name, at);
    const isMachine = grant === "client_credentials";
    if (this.#isQuiet && isMachine && !trouble && gapMs < 500 * this.#plan.lifetimeSeconds)
      this.break(
        "few requests",
        `${process} asks for ${who} ${Math.round(gapMs)} ms after the last`,
      );
    // Without a step of its clock a process asks for no other token while the one it got is young
    // and not refused. After a suspension what was under way counts as lost, although it goes on.
    const held = isMachine ? this.#held.get(`${process} ${tenantId}`) : undefined;
    if (
      held &&
      !this.#hasJumps &&
      this.#plan.sharesInFlight &&
      !this.#wasUnderWay(process, held.from) &&
      at < held.from + 450 * this.#plan.lifetimeSeconds
    )
      this.break("few requests", `${process} asks for ${tenantId} although it has a token`);
    const refusedName = `${grant} ${process} ${tenantId}`;
    const refusedMs = at - (this.#refusedAt.get(refusedName) ?? Number.NEGATIVE_INFINITY);
    const pauseMs = Math.min(1_000 * 2 ** ((this.#refusals.get(refusedName) ?? 1) - 1), 60_000);
    if (this.#isQuiet && isMachine && trouble && refusedMs < pauseMs * rateTolerance - 5)
      this.break(
        "pause after a refusal",
        `${process} asks for ${who} ${Math.round(refusedMs)} ms after it`,
      );
  }

  /** A process got a token for its machine, or learnt that one is refused. */
  delivered(at: number, process: string, tenantId: string, token: string): void {
    this.#held.set(`${process} ${tenantId}`, { token, from: at });
  }

  /** A token was refused, or its holder has dropped it. */
  unauthorized(
    at: number,
    process: string,
    tenantId: string,
    bearer: string,
    isDropped = false,
  ): void {
    const name = `${process} ${tenantId}`;
    if (this.#held.get(name)?.token === bearer) this.#held.delete(name);
    const sent = `${process} ${bearer}`;
    const isYoung = at < (this.#firstSent.get(sent) ?? at) + youngTokenMs + this.slackMs;
    // Without sharing a renewal under way may still bring a caller the token that another caller
    // dropped.
    if (isDropped ? this.#plan.sharesInFlight : !isYoung) this.#refusedTokens.set(sent, at);
  }

  /** The service did not see a refresh token that was sent. */
  unsent(process: string, { refreshToken }: TokenFields): void {
    if (refreshToken === undefined) return;
    this.#sent.delete(refreshToken);
    this.#sent.delete(`${process} ${refreshToken}`);
  }

  /** The service has answered a token request with tokens. */
  tokenIssued(
    at: number,
    tenantId: string,
    fields: TokenFields,
    accessToken: string,
    refreshToken?: string,
  ): void {
    const userId = this.#owners.get(fields.code ?? fields.refreshToken ?? "");
    this.secret(accessToken);
    if (userId !== undefined) this.#writes.set(userId, [...(this.#writes.get(userId) ?? []), at]);
    if (refreshToken !== undefined) this.secret(refreshToken, userId);
    // A service account is of one tenant, whatever tenant its token was asked for.
    const owner = /^account-(tenant-\d+)$/.exec(fields.clientId)?.[1] ?? tenantId;
    this.#tokens.set(accessToken, {
      tenantId: owner,
      userId,
      endsAt: at + 1_000 * this.#plan.lifetimeSeconds,
    });
  }

  suspended(process: string, from: number, until: number): void {
    this.#suspensions.push({ process, from, until });
  }

  /** Whether a token may be of a renewal that was under way when its process was suspended. */
  #wasUnderWay(name: string, at: number): boolean {
    return this.#suspensions.some(
      ({ process, from, until }) =>
        process === name && at > from - 10_000 && at < until + longestCallMs,
    );
  }

  storeLost(at: number, lossMs: number): void {
    this.#losses.push({ at, lossMs });
  }

  /** Whether the store may have lost what it was told about a person. Writes take a while. */
  isForgotten(userId: string, startedAt: number): boolean {
    const writes = [startedAt, ...(this.#writes.get(userId) ?? [])];
    return this.#losses.some(({ at, lossMs }) =>
      writes.some((write) => write > at - lossMs - 30_000 && write < at + 30_000),
    );
  }

  refused(at: number, process: string, tenantId: string, { grant }: TokenFields): void {
    const name = `${grant} ${process} ${tenantId}`;
    this.#refusedAt.set(name, at);
    this.#refusals.set(name, (this.#refusals.get(name) ?? 0) + 1);
  }

  limited(
    at: number,
    process: string,
    tenantId: string,
    fields: TokenFields,
    retryAfterSeconds: number,
  ): void {
    const endpoint = endpointOf(tenantId, fields);
    const name = `${process} ${endpoint}`;
    const until = at + 1_000 * retryAfterSeconds * rateTolerance - 5;
    this.#closedUntil.set(name, Math.max(this.#closedUntil.get(name) ?? 0, until));
    // What is on its way when the store learns of it cannot be stopped.
    const from = at + 2_000;
    if ((this.#fleetClosed.get(endpoint)?.until ?? 0) < until)
      this.#fleetClosed.set(endpoint, { from, until });
  }

  /** A call leaves a process, for a person or for a machine. */
  called(
    at: number,
    process: string,
    tenantId: string,
    userId: string | undefined,
    bearer: string,
  ): void {
    const token = this.#tokens.get(bearer);
    const sent = `${process} ${bearer}`;
    if (!this.#firstSent.has(sent)) this.#firstSent.set(sent, at);
    // Callers that had got it in the same instant may send it. A store that fails over may bring
    // back a token of before the last refused ones, which alone are remembered.
    if (at > (this.#refusedTokens.get(sent) ?? at) && !this.#mayLose)
      this.break(
        "a refused token is not sent again",
        `${process} sends one for ${userId ?? tenantId}`,
      );
    if (token === undefined)
      this.break("tenant isolation", `${process} sends a token that was never issued`);
    else if (token.tenantId !== tenantId)
      this.break(
        "tenant isolation",
        `${process} sends a token of ${token.tenantId} for ${tenantId}`,
      );
    else if (token.userId !== userId)
      this.break("person isolation", `${process} sends a token of ${token.userId} for ${userId}`);
    else if (at > token.endsAt + this.slackMs)
      this.break(
        "fresh tokens",
        `${process} sends a token ${Math.round(at - token.endsAt)} ms after its end`,
      );
  }

  /** What a caller, a log or a reader of the store sees. */
  shown(value: unknown): void {
    const text = typeof value === "string" ? value : textOf(value);
    const secret = text.match(/[\w.-]{15,}/g)?.find((word) => this.#secrets.has(word));
    if (secret !== undefined) this.break("no secret", `something shows ${secret.slice(0, 12)}…`);
  }
}

/** The text of whatever is shown. Most events hold no objects, and need not be inspected. */
function textOf(value: unknown): string {
  const members = value instanceof Error ? [value] : Object.values(Object(value));
  return members
    .map((one) => (Object(one) === one ? inspect(one, { depth: 8 }) : String(one)))
    .join("\n");
}
