// The rules that no world may break. They see the wire, the calls, the events, and nothing inside the client.
import { inspect } from "node:util";
import type { CustomerPlan, Plan } from "./plan.js";

export type RuleName =
  | "tenant isolation"
  | "nothing twice"
  | "fresh tokens"
  | "few requests"
  | "Retry-After"
  | "deadline"
  | "abort"
  | "healing"
  | "no secret"
  | "nothing grows"
  | "no unhandled rejection";

/** The time limits of a token request, an API call, both again after a 401, and of the store before each of them. */
export const longestCallMs = 400_000;
/** What a wait may be shorter by, since a clock runs up to 100 ppm fast. */
const rateTolerance = 0.999;

export class Rules {
  readonly broken: Map<RuleName, string> = new Map();
  readonly #plan: Plan;
  readonly #jtis = new Set<string>();
  readonly #tokens = new Map<string, { readonly tenantId: string; readonly endsAt: number }>();
  readonly #closedUntil = new Map<string, number>();
  readonly #lastRequest = new Map<string, number>();
  readonly #slackMs: number;
  readonly #isQuiet: boolean;

  constructor(plan: Plan) {
    this.#plan = plan;
    const offsets = plan.processes.map(({ offsetMs }) => Math.abs(offsetMs));
    const jumps = plan.faults.filter(({ kind }) => kind === "jump").map(({ jumpMs }) => Math.abs(jumpMs));
    this.#slackMs = 2_000 + 2 * Math.max(...offsets) + jumps.reduce((sum, ms) => sum + ms, 0);
    const isAborted = plan.calls.some(({ abortAfterMs }) => abortAfterMs !== undefined);
    this.#isQuiet = plan.faults.length === 0 && Math.max(...offsets) === 0 && !isAborted && !plan.rateLimit;
  }

  break(rule: RuleName, how: string): void {
    if (!this.broken.has(rule)) this.broken.set(rule, how);
  }

  tokenRequested(at: number, process: string, { tenantId, isRegistered }: CustomerPlan, body: string): void {
    const closedUntil = this.#closedUntil.get(`${process} ${tenantId}`) ?? 0;
    if (at < closedUntil)
      this.break("Retry-After", `${process} asks for ${tenantId} ${Math.round(closedUntil - at)} ms early`);
    const payload = new URLSearchParams(body).get("client_assertion")?.split(".")[1];
    if (payload !== undefined) {
      const { jti } = JSON.parse(Buffer.from(payload, "base64url").toString());
      if (this.#jtis.has(jti)) this.break("nothing twice", `${process} sends a jti of ${tenantId} again`);
      this.#jtis.add(jti);
    }
    const isShared = this.#plan.store === "shared" || this.#plan.store === "redis";
    const name = `${isShared ? "fleet" : process} ${tenantId}`;
    const gapMs = at - (this.#lastRequest.get(name) ?? Number.NEGATIVE_INFINITY);
    this.#lastRequest.set(name, at);
    if (this.#isQuiet && isRegistered && gapMs < 500 * this.#plan.lifetimeSeconds)
      this.break("few requests", `${process} asks for ${tenantId} ${Math.round(gapMs)} ms after the last`);
  }

  tokenIssued(at: number, tenantId: string, token: string): void {
    this.#tokens.set(token, { tenantId, endsAt: at + 1_000 * this.#plan.lifetimeSeconds });
  }

  limited(at: number, process: string, tenantId: string, retryAfterSeconds: number): void {
    const name = `${process} ${tenantId}`;
    const until = at + 1_000 * retryAfterSeconds * rateTolerance - 5;
    this.#closedUntil.set(name, Math.max(this.#closedUntil.get(name) ?? 0, until));
  }

  called(at: number, process: string, tenantId: string, bearer: string): void {
    const token = this.#tokens.get(bearer);
    if (token === undefined) this.break("tenant isolation", `${process} sends a token that was never issued`);
    else if (token.tenantId !== tenantId)
      this.break("tenant isolation", `${process} sends a token of ${token.tenantId} for ${tenantId}`);
    else if (at > token.endsAt + this.#slackMs)
      this.break(
        "fresh tokens",
        `${process} sends a token ${Math.round(at - token.endsAt)} ms after its end`,
      );
  }

  shown(value: unknown): void {
    const text = inspect(value, { depth: 8 });
    if (text.includes("secret-of-") || [...this.#tokens.keys()].some((token) => text.includes(token)))
      this.break("no secret", "an event or error shows a token or secret");
  }
}
