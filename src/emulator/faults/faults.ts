// The faults that a test can cause, and the choice of the fault that applies to a request.
import { createHash } from "node:crypto";
import { setMaxListeners } from "node:events";
import { z } from "zod";
import { issueError, jsonSchema, parseInput } from "../errors.js";
import { GRANTS, type Grant } from "../oauth.js";
import type { RandomSource } from "../state/expiring-map.js";

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [name: string]: Json };

/**
 * The moment at which a fault applies: before the token endpoint does anything (nothing is spent,
 * not even a slot of the rate limit), after the token endpoint has done its work, even if it
 * refused (a code is spent, a token minted, a refresh token rotated), or on a route of the API.
 */
export type FaultMoment = "before-token" | "after-commit" | "resource";

/** Which requests a fault applies to, and when. */
export interface FaultTarget {
  /** Default: the first in `faultMoments` that fits the matched operation. Others are refused. */
  readonly at?: FaultMoment | undefined;
  /** How many requests it applies to, even if many arrive at once. Default: 1. */
  readonly count?: number | "always" | undefined;
  /** A request must match every given member. */
  readonly match?: FaultMatch | undefined;
  /** The chance that it applies to a matching request: above 0 and at most 1. Default: 1. */
  readonly probability?: number | undefined;
  /**
   * The same seed draws the same requests. If it is absent, one is drawn, and `list` reports it.
   */
  readonly seed?: number | undefined;
}

/** `clientId` is the claimed client or that of the bearer token. `path` is without the query. */
export interface FaultMatch {
  readonly tenantId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly variant?: "A" | "B" | undefined;
  readonly grant?: Grant | undefined;
  /** The operation's name in the journal, for instance `requestToken` or `listDevices`. */
  readonly operation?: string | undefined;
  readonly method?: string | undefined;
  readonly path?: string | undefined;
}

/** A fault, and the requests it applies to. */
export type Fault = FaultTarget &
  (
    | {
        /**
         * An answer as from a gateway or broken server replaces the real one. A client may retry a
         * 5xx for a client_credentials request or an idempotent call. At "after-commit" even a 504
         * means a spent code.
         */
        readonly name: "status";
        /** 200 to 599. */
        readonly status: number;
        /**
         * Sent as JSON; a string is sent as is if `headers` has another content type. Default:
         * none.
         */
        readonly body?: Json | undefined;
        readonly headers?: Readonly<Record<string, string>> | undefined;
      }
    | {
        /**
         * A 429 with an empty body, although no limit was exceeded. A client must wait for
         * `Retry-After` or for "a schedule of a few seconds, doubling, with random jitter"
         * (description, section 8).
         */
        readonly name: "rate-limited";
        /**
         * In seconds. "date" is a second from now, "absent" omits it, others are sent as is.
         * Default: 1.
         */
        readonly retryAfter?: number | "date" | "absent" | (string & {}) | undefined;
      }
    | {
        /**
         * The connection is reset (TCP RST) before anything is done. It looks like a `lost-answer`.
         */
        readonly name: "reset";
      }
    | {
        /**
         * The real answer ends before its `Content-Length`, so its content is lost as with
         * `lost-answer`.
         */
        readonly name: "truncated";
        /** How many bytes of the body are sent, always fewer than all. Default: half of them. */
        readonly bytes?: number | undefined;
      }
    | {
        /**
         * The real answer comes late or drips. A client must limit the time of the whole exchange.
         * At "before-token" the request is delayed, and is dropped if the caller has left.
         */
        readonly name: "slow";
        /** The speed of the body. Default: 10, or unlimited if `delayMs` is given. */
        readonly bytesPerSecond?: number | undefined;
        /** The delay before the first byte of the answer, in real milliseconds. Default: 0. */
        readonly delayMs?: number | undefined;
      }
    | {
        /**
         * The real JSON is cut in the middle. `Content-Length` fits the cut body, the content type
         * stays.
         */
        readonly name: "malformed-json";
      }
    | {
        /** The real body has another content type. A client should accept it if the JSON fits. */
        readonly name: "content-type";
        readonly contentType: string;
      }
    | {
        /**
         * Changes members of the real JSON object or of each object in an array; replaces any other
         * value. A client must survive an absent `expires_in`, strings of digits and an odd `revo`.
         */
        readonly name: "fields";
        /** Null removes the member; any other value replaces it. */
        readonly fields: Readonly<Record<string, Json>>;
      }
    | {
        /**
         * The request is processed, but the connection is reset before the answer. A code is spent
         * and a refresh token may be rotated, so a client must not repeat either. It may repeat
         * client_credentials.
         */
        readonly name: "lost-answer";
      }
    | {
        /**
         * The host's page posts `host:auth-code` twice; in-process, `authorize` returns `posts: 2`.
         * A plugin must ignore the second, because the code is good for one exchange attempt.
         */
        readonly name: "duplicate-auth-code";
        /** This fault applies only when the host answers a launch. */
        readonly at?: undefined;
      }
    | {
        /**
         * The real answer has a wrong `Date`. A client corrects its assertions by it, up to a
         * limit.
         */
        readonly name: "skewed-date";
        /** Milliseconds; negative values give a `Date` in the past. */
        readonly byMs: number;
      }
  );

/** The name of a {@link Fault}. */
export type FaultName = Fault["name"];
export type FaultOf<Name extends FaultName> = Extract<Fault, { readonly name: Name }>;

/** The longest delay of a timer. With a longer one it would fire at once. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1;
/** About a hundred years, so that the result is a valid date for any clock of a test. */
const FURTHEST_SKEW_MS = 3.2e12;
/** RFC 9110 section 5.6.2. */
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** The emulator itself sets these headers when it sends an answer. */
const OWN_HEADERS = /^(content-length|transfer-encoding|connection|date)$/i;

const headerValue = z.string().regex(/^[\x20-\x7e]*$/, "must be printable ASCII");
const headerName = z
  .string()
  .regex(HEADER_NAME, "must be a header's name")
  .refine((name) => !OWN_HEADERS.test(name), "is written by the emulator");

const ANY: readonly FaultMoment[] = ["before-token", "after-commit", "resource"];
/** Those of the faults that alter the real answer. */
const LATE: readonly FaultMoment[] = ["after-commit", "resource"];

/** The fields of each fault, and the moments at which it can apply, its default first. */
const kinds: Readonly<Record<FaultName, { at: readonly FaultMoment[]; fields?: z.ZodRawShape }>> = {
  status: {
    at: ANY,
    fields: {
      status: z.int().min(200).max(599),
      body: jsonSchema.optional(),
      headers: z.record(headerName, headerValue).optional(),
    },
  },
  "rate-limited": {
    at: ["before-token", "resource"],
    fields: { retryAfter: z.union([z.number(), headerValue]).optional() },
  },
  reset: { at: ANY },
  truncated: { at: LATE, fields: { bytes: z.int().min(0).optional() } },
  slow: {
    at: ["after-commit", "before-token", "resource"],
    fields: {
      bytesPerSecond: z.number().min(0.01).optional(),
      delayMs: z.number().min(0).max(LONGEST_TIMER_MS).optional(),
    },
  },
  "malformed-json": { at: LATE },
  "content-type": { at: LATE, fields: { contentType: headerValue } },
  fields: { at: LATE, fields: { fields: z.record(z.string(), jsonSchema) } },
  "lost-answer": { at: LATE },
  "duplicate-auth-code": { at: [] },
  "skewed-date": {
    at: LATE,
    fields: { byMs: z.number().min(-FURTHEST_SKEW_MS).max(FURTHEST_SKEW_MS) },
  },
};

export const FAULT_NAMES = Object.keys(kinds) as [FaultName, ...FaultName[]];

/**
 * The moments at which each fault can apply, its default first. `duplicate-auth-code` has none of
 * them.
 */
export const faultMoments = Object.fromEntries(
  FAULT_NAMES.map((name) => [name, kinds[name].at]),
) as Readonly<Record<FaultName, readonly FaultMoment[]>>;

/** Faults and journal filters select requests by these fields. */
export const faultMatchFields: {
  readonly [Name in keyof FaultMatch]-?: z.ZodType<FaultMatch[Name]>;
} = {
  tenantId: z.string().optional(),
  clientId: z.string().optional(),
  variant: z.enum(["A", "B"]).optional(),
  grant: z.enum(GRANTS).optional(),
  operation: z.string().optional(),
  method: z.string().optional(),
  path: z.string().startsWith("/").optional(),
};

/** The operation of both token endpoints. Every other operation is that of an API route. */
const TOKEN_OPERATION = "requestToken";

function faultSchema(name: FaultName): z.ZodType {
  return z.strictObject({
    name: z.literal(name),
    count: z.union([z.int().min(1), z.literal("always")]).optional(),
    match: z.strictObject(faultMatchFields).optional(),
    probability: z.number().gt(0).max(1).optional(),
    seed: z.int().optional(),
    at: momentSchema(kinds[name].at),
    ...kinds[name].fields,
  });
}

/** The moment that the fault gives, or the first of its kind that fits the operation it matches. */
function momentOf({ name, at, match }: Fault): FaultMoment | "launch" {
  const moments = faultMoments[name];
  if (at !== undefined) return at;
  const isRoute = match?.operation !== undefined && match.operation !== TOKEN_OPERATION;
  return (isRoute ? moments.find((moment) => moment === "resource") : moments[0]) ?? "launch";
}

function momentSchema(moments: readonly FaultMoment[]): z.ZodType {
  const [first, ...others] = moments;
  const refusal = "must be left out: the fault applies when the host answers a launch";
  if (first === undefined) return z.undefined(refusal).optional();
  return z.enum([first, ...others], `must be one of ${moments.join(", ")}`).optional();
}

/** Returns which of two members that contradict each other is wrong, and the reason. */
function conflict(fault: Fault): string | undefined {
  if (fault.seed !== undefined && fault.probability === undefined)
    return "seed: needs a probability";
  const operation = fault.match?.operation;
  if (operation !== undefined && fault.name !== "duplicate-auth-code") {
    const isToken = operation === TOKEN_OPERATION;
    if (isToken === (momentOf(fault) === "resource")) {
      const others = kinds[fault.name].at
        .filter((moment) => isToken === (moment !== "resource"))
        .join(" or ");
      return `at: does not fit ${operation}: it must be ${others}`;
    }
  }
  if (fault.name === "slow" && fault.at === "before-token") {
    if (fault.delayMs === undefined) return "delayMs: is required at before-token";
    if (fault.bytesPerSecond !== undefined)
      return "bytesPerSecond: must be left out at before-token";
  }
  if (fault.name === "status" && !canHaveContent(fault.status) && fault.body !== undefined) {
    return `body: must be left out: an answer with status ${fault.status} has none`;
  }
  return undefined;
}

/** RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5. */
export function canHaveContent(status: number): boolean {
  return ![204, 205, 304].includes(status);
}

/** An armed fault. After a reset the handle still refers to the old deployment. */
export interface FaultHandle {
  readonly id: string;
  /** How many requests it has applied to. */
  readonly fired: number;
  /** Disarms the fault. */
  remove(): void;
}

/** An armed fault. If it has a probability but no seed, `fault` has the seed that was drawn. */
export interface FaultReport {
  readonly id: string;
  readonly fault: Fault;
  readonly fired: number;
  /** How many more requests it will apply to. */
  readonly left: number | "always";
}

interface Armed extends Pick<FaultReport, "id" | "fault"> {
  fired: number;
  /** How many draws were made for it. */
  drawn: number;
}

/**
 * The faults of one emulator. At each moment at most one applies to a request: the oldest that
 * matches. A reset also ends the delay of slow answers. They are then sent at once, from the old
 * state.
 *
 * @example
 * import { expect } from "vitest";
 *
 * emulator.faults.add({ name: "lost-answer", match: { grant: "refresh_token" } });
 * await expect(auth.getAccessToken()).rejects.toMatchObject({ code: "login_outcome_unknown" });
 */
export class EmulatorFaults {
  // All methods are synchronous, so that a fault's count is exact for concurrent requests too.
  readonly #random: RandomSource;
  readonly #operations: () => readonly string[];
  readonly #armed = new Map<string, Armed>();
  /** Aborted when a reset replaces the deployment, so that no answer stays slow. @internal */
  readonly ended: AbortController = new AbortController();
  #added = 0;

  /** `operations` returns all operations of the deployment. @internal */
  constructor(random: RandomSource, operations: () => readonly string[]) {
    this.#random = random;
    this.#operations = operations;
    // Each delayed answer adds a listener, and there may be many.
    setMaxListeners(0, this.ended.signal);
  }

  /**
   * Arms a fault for later requests.
   * @throws EmulatorError `option_invalid` that names the wrong fields
   */
  add(input: Fault): FaultHandle {
    const named = z.looseObject({ name: z.enum(FAULT_NAMES) });
    const { name } = parseInput(named, input, "fault");
    const what = `fault ${name}`;
    const parsed = parseInput(faultSchema(name), input, what) as Fault;
    const issue = conflict(parsed) ?? this.#unknownOperation(parsed);
    if (issue !== undefined) throw issueError("option_invalid", issue, `${what}: `);
    const seed = parsed.seed ?? (parsed.probability && this.#random.bytes(4).readUInt32BE());
    this.#added += 1;
    const fault = { ...parsed, ...(seed !== undefined && { seed }) };
    const armed: Armed = { id: `fault-${this.#added}`, fault, fired: 0, drawn: 0 };
    this.#armed.set(armed.id, armed);
    return {
      id: armed.id,
      get fired() {
        return armed.fired;
      },
      remove: () => this.remove(armed.id),
    };
  }

  /** A fault that never applies would make people search for the error in the code under test. */
  #unknownOperation({ match: { operation } = {} }: Fault): string | undefined {
    if (operation === undefined) return undefined;
    const known = this.#operations();
    return known.includes(operation)
      ? undefined
      : `match.operation: must be one of ${known.join(", ")}`;
  }

  /** The faults that are still armed, oldest first. */
  list(): FaultReport[] {
    return [...this.#armed.values()].map((armed) => {
      const { id, fault, fired } = armed;
      return { id, fault: structuredClone(fault), fired, left: leftOf(armed) };
    });
  }

  /** Disarms a fault. If it is not armed any more, nothing happens. */
  remove(id: string): void {
    this.#armed.delete(id);
  }

  /** Disarms all faults. */
  clear(): void {
    this.#armed.clear();
  }

  /** Whether any fault is armed. @internal */
  get isArmed(): boolean {
    return this.#armed.size > 0;
  }

  /** The fault that applies to this request at this moment; it counts as fired. @internal */
  strike(moment: FaultMoment | "launch", facts: FaultMatch): Fault | undefined {
    for (const armed of this.#armed.values()) {
      const match = Object.entries(armed.fault.match ?? {}) as [keyof FaultMatch, unknown][];
      const isMatch = match.every(([name, value]) => value === undefined || facts[name] === value);
      if (momentOf(armed.fault) !== moment || !isMatch || !draw(armed)) continue;
      armed.fired += 1;
      if (leftOf(armed) === 0) this.#armed.delete(armed.id);
      return armed.fault;
    }
    return undefined;
  }
}

/** Depends only on the seed and the number of draws, so every run has the same result. */
function draw(armed: Armed): boolean {
  const { probability = 1, seed } = armed.fault;
  if (probability === 1) return true;
  armed.drawn += 1;
  const digest = createHash("sha256").update(`fault ${seed} ${armed.drawn}`).digest();
  return digest.readUInt32BE() / 2 ** 32 < probability;
}

function leftOf({ fault: { count = 1 }, fired }: Armed): number | "always" {
  return count === "always" ? "always" : count - fired;
}
