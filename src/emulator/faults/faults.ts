// The faults: what can be made to go wrong, for which requests, and which fault strikes a request.
import { createHash } from "node:crypto";
import { setMaxListeners } from "node:events";
import { z } from "zod";
import { EmulatorError, isJson, parseInput } from "../errors.js";
import { GRANTS, type Grant } from "../oauth.js";
import type { RandomSource } from "../stores.js";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/**
 * When a fault strikes: before the token endpoint looks at anything (nothing is spent, not even a slot of the rate
 * limit); after it did its work, whatever it answers (a code is spent, a token minted, a refresh token rotated); or on
 * a route of the API.
 */
export type FaultMoment = "before-token" | "after-commit" | "resource";

export interface FaultTarget {
  /** Default: the first that `faultMoments` lists and the matched operation reaches. What makes no sense is refused. */
  readonly at?: FaultMoment | undefined;
  /** How many requests it strikes, also of many at once. Default: 1. */
  readonly count?: number | "always" | undefined;
  /** A request must match every given member. */
  readonly match?: FaultMatch | undefined;
  /** Above 0 and at most 1: strikes a matching request by a draw. Default: 1. */
  readonly probability?: number | undefined;
  /** With the same number the same requests are struck; `list` shows the one that was drawn where none was given. */
  readonly seed?: number | undefined;
}

/** `clientId` is what the request claims, or whose token it carries; `path` is without the query, as in the journal. */
export interface FaultMatch {
  readonly tenantId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly variant?: "A" | "B" | undefined;
  readonly grant?: Grant | undefined;
  /** As in the journal: `requestToken`, `listDevices`. */
  readonly operation?: string | undefined;
  readonly method?: string | undefined;
  readonly path?: string | undefined;
}

/** A fault, and which requests it strikes. */
export type Fault = FaultTarget &
  (
    | {
        /**
         * An answer of a gateway or a broken server in the place of the real one. A client may retry a 5xx of a
         * client_credentials request or of an idempotent call: at "after-commit" a code is spent although it says 504.
         */
        readonly name: "status";
        /** 200 to 599. */
        readonly status: number;
        /** Sent as JSON; but a string as it is where `headers` name a content type that is not JSON. Default: no body. */
        readonly body?: Json | undefined;
        readonly headers?: Readonly<Record<string, string>> | undefined;
      }
    | {
        /**
         * A 429 with an empty body, without any limit that was hit. All requests of a client wait as `Retry-After`
         * says, or on "a schedule of a few seconds, doubling, with random jitter" (description, section 8).
         */
        readonly name: "rate-limited";
        /** Seconds, the date a second from now (rounded up), no header, or any other string as it is. Default: 1. */
        readonly retryAfter?: number | "date" | "absent" | (string & {}) | undefined;
      }
    | {
        /** The connection is reset (TCP RST) before anything was done. A client cannot tell it from a `lost-answer`. */
        readonly name: "reset";
      }
    | {
        /** The real answer, whose body ends before its `Content-Length`: what it carried is lost, see `lost-answer`. */
        readonly name: "truncated";
        /** How many bytes of the body are sent, always less than all. Default: half of them. */
        readonly bytes?: number | undefined;
      }
    | {
        /**
         * The real answer, late or dripping: a client limits the time of the whole exchange. At "before-token" the
         * request is late, and dropped if the caller has left.
         */
        readonly name: "slow";
        /** Of the body. Default: 10, unless `delayMs` is given; then as fast as it goes. */
        readonly bytesPerSecond?: number | undefined;
        /** Before the first byte of the answer, in real milliseconds. Default: 0. */
        readonly delayMs?: number | undefined;
      }
    | {
        /** The real answer's JSON, cut in the middle, complete by its `Content-Length` and under its content type. */
        readonly name: "malformed-json";
      }
    | {
        /** The real body under another content type. A client goes by what it can parse and by the shape it needs. */
        readonly name: "content-type";
        readonly contentType: string;
      }
    | {
        /**
         * The real answer's JSON object with other members; in an array each object, and of anything else only these members.
         * A client survives what the description does not promise: an absent `expires_in`, strings of digits, odd `revo`.
         */
        readonly name: "fields";
        /** Null removes the member; anything else takes its place. */
        readonly fields: Readonly<Record<string, Json>>;
      }
    | {
        /**
         * Everything is done, and the connection is reset before a byte of the answer was sent. A code is spent, and a
         * refresh token may be rotated: neither is sent again. client_credentials is asked for again.
         */
        readonly name: "lost-answer";
      }
    | {
        /**
         * The host's page posts `host:auth-code` twice; in-process, `authorize` answers `posts: 2`. A plugin's page takes the
         * first and ignores the second: the code is good for one exchange attempt.
         */
        readonly name: "duplicate-auth-code";
        /** It strikes when the host answers a launch, and at no other moment. */
        readonly at?: undefined;
      }
    | {
        /** The real answer with a `Date` that is off. A client corrects its assertions by it up to a bound. */
        readonly name: "skewed-date";
        /** Milliseconds; negative is the past. */
        readonly byMs: number;
      }
  );

export type FaultName = Fault["name"];
export type FaultOf<Name extends FaultName> = Extract<Fault, { readonly name: Name }>;

/** What a timer takes: beyond it would fire at once. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1;
/** About a hundred years, so that the result is a valid date for any clock of a test. */
const FURTHEST_SKEW_MS = 3.2e12;
/** RFC 9110 section 5.6.2. */
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** The emulator writes them: what they say is the sending's, or another fault's. */
const OWN_HEADERS = /^(content-length|transfer-encoding|connection|date)$/i;

const headerValue = z.string().regex(/^[\x20-\x7e]*$/, "must be printable ASCII");
const headerName = z
  .string()
  .regex(HEADER_NAME, "must be a header's name")
  .refine((name) => !OWN_HEADERS.test(name), "is written by the emulator");
const json = z.custom<Json>(isJson, "must be a JSON value");

/** What each fault takes, and the moments at which it can strike, its default first. */
const kinds: Readonly<Record<FaultName, { at: readonly FaultMoment[]; fields: z.ZodRawShape }>> = {
  status: {
    at: ["before-token", "after-commit", "resource"],
    fields: {
      status: z.number().int().min(200).max(599),
      body: json.optional(),
      headers: z.record(headerName, headerValue).optional(),
    },
  },
  "rate-limited": {
    at: ["before-token", "resource"],
    fields: { retryAfter: z.union([z.number(), headerValue]).optional() },
  },
  reset: { at: ["before-token", "after-commit", "resource"], fields: {} },
  truncated: { at: ["after-commit", "resource"], fields: { bytes: z.number().int().min(0).optional() } },
  slow: {
    at: ["after-commit", "before-token", "resource"],
    fields: {
      bytesPerSecond: z.number().min(0.01).optional(),
      delayMs: z.number().min(0).max(LONGEST_TIMER_MS).optional(),
    },
  },
  "malformed-json": { at: ["after-commit", "resource"], fields: {} },
  "content-type": { at: ["after-commit", "resource"], fields: { contentType: headerValue } },
  fields: { at: ["after-commit", "resource"], fields: { fields: z.record(z.string(), json) } },
  "lost-answer": { at: ["after-commit", "resource"], fields: {} },
  "duplicate-auth-code": { at: [], fields: {} },
  "skewed-date": {
    at: ["after-commit", "resource"],
    fields: { byMs: z.number().min(-FURTHEST_SKEW_MS).max(FURTHEST_SKEW_MS) },
  },
};

export const FAULT_NAMES = Object.keys(kinds) as [FaultName, ...FaultName[]];

/** The moments at which each fault can strike, its default first; `duplicate-auth-code` has one of its own. */
export const faultMoments = Object.fromEntries(FAULT_NAMES.map((name) => [name, kinds[name].at])) as Readonly<
  Record<FaultName, readonly FaultMoment[]>
>;

/** By which a request is recognised, here and in the journal. */
export const faultMatchFields: { readonly [Name in keyof FaultMatch]-?: z.ZodType<FaultMatch[Name]> } = {
  tenantId: z.string().optional(),
  clientId: z.string().optional(),
  variant: z.enum(["A", "B"]).optional(),
  grant: z.enum(GRANTS).optional(),
  operation: z.string().optional(),
  method: z.string().optional(),
  path: z.string().startsWith("/").optional(),
};

/** The operation of both token endpoints; every other is a route's. */
const TOKEN_OPERATION = "requestToken";

const named = z.looseObject({ name: z.enum(FAULT_NAMES) });

export function faultSchema(name: FaultName): z.ZodType {
  return z
    .strictObject({
      name: z.literal(name),
      count: z.union([z.number().int().min(1), z.literal("always")]).optional(),
      match: z.strictObject(faultMatchFields).optional(),
      probability: z.number().gt(0).max(1).optional(),
      seed: z.number().int().optional(),
      at: momentSchema(kinds[name].at),
      ...kinds[name].fields,
    })
    .superRefine((fault, context) => {
      const [field, message] = conflict(fault as unknown as Fault) ?? [];
      if (field !== undefined) context.addIssue({ code: "custom", path: [field], message });
    });
}

/** When it strikes: as it says, or at the first of its moments that the operation it matches can reach. */
function momentOf({ name, at, match }: Fault): FaultMoment | "launch" {
  const moments = faultMoments[name];
  if (at !== undefined) return at;
  const isRoute = match?.operation !== undefined && match.operation !== TOKEN_OPERATION;
  return (isRoute ? moments.find((moment) => moment === "resource") : moments[0]) ?? "launch";
}

function momentSchema(moments: readonly FaultMoment[]): z.ZodType {
  const [first, ...others] = moments;
  const refusal = "must be left out: it strikes when the host answers a launch";
  if (first === undefined) return z.undefined(refusal).optional();
  return z.enum([first, ...others], `must be one of ${moments.join(", ")}`).optional();
}

/** What is wrong between two members: the one at fault, and why. */
function conflict(fault: Fault): readonly [field: string, why: string] | undefined {
  if (fault.seed !== undefined && fault.probability === undefined) return ["seed", "needs a probability"];
  const operation = fault.match?.operation;
  if (operation !== undefined && fault.name !== "duplicate-auth-code") {
    const isToken = operation === TOKEN_OPERATION;
    if (isToken === (momentOf(fault) === "resource")) {
      const others = kinds[fault.name].at
        .filter((moment) => isToken === (moment !== "resource"))
        .join(" or ");
      return ["at", `is never reached by ${operation}: it must be ${others}`];
    }
  }
  if (fault.name === "slow" && fault.at === "before-token") {
    if (fault.delayMs === undefined) return ["delayMs", "is what makes a request slow before the token"];
    if (fault.bytesPerSecond !== undefined) return ["bytesPerSecond", "is of an answer: there is none yet"];
  }
  if (fault.name === "status" && !canHaveContent(fault.status) && fault.body !== undefined) {
    return ["body", `an answer ${fault.status} has none`];
  }
  return undefined;
}

/** RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5. */
export function canHaveContent(status: number): boolean {
  return ![204, 205, 304].includes(status);
}

/** A fault that was armed. After a reset it refers to the old deployment. */
export interface FaultHandle {
  readonly id: string;
  /** How many requests it struck. */
  readonly fired: number;
  remove(): void;
}

/** An armed fault, with the seed that was drawn for it if it strikes by a draw. */
export interface FaultReport {
  readonly id: string;
  readonly fault: Fault;
  readonly fired: number;
  /** How many more requests it strikes. */
  readonly left: number | "always";
}

interface Armed extends Pick<FaultReport, "id" | "fault"> {
  fired: number;
  /** How often was drawn for it. */
  drawn: number;
}

/**
 * The faults of one emulator. A request is struck by at most one at each moment: the oldest armed one that matches.
 * A reset also ends the delay of slow answers: they are sent at once, from the old state.
 *
 * @example
 * emulator.faults.add({ name: "lost-answer", match: { grant: "refresh_token" } });
 * await expect(auth.getAccessToken()).rejects.toMatchObject({ code: "login_outcome_unknown" });
 */
export class EmulatorFaults {
  // Synchronous throughout, so that of concurrent requests exactly as many are struck as a fault's count says.
  readonly #random: RandomSource;
  readonly #operations: ReadonlySet<string>;
  readonly #armed = new Map<string, Armed>();
  /** Aborted when a reset replaces the deployment: nothing is slow from then on. @internal */
  readonly ended: AbortController = new AbortController();
  #added = 0;

  /** `operations`: every operation of the deployment. @internal */
  constructor(random: RandomSource, operations: readonly string[]) {
    this.#random = random;
    this.#operations = new Set(operations);
    // One listener for each delayed answer, and there may be many.
    setMaxListeners(0, this.ended.signal);
  }

  /** Arms a fault, from the next request on. @throws EmulatorError `option_invalid`, naming the fields at fault. */
  add(input: Fault): FaultHandle {
    const { name } = parseInput(named, input, "option_invalid", "fault");
    const accepted = parseInput(faultSchema(name), input, "option_invalid", `fault ${name}`) as Fault;
    // Later changes to the caller's object have no effect.
    const parsed = structuredClone(accepted);
    const operation = parsed.match?.operation;
    // A fault that waits for what never comes would be looked for in the code under test.
    if (operation !== undefined && !this.#operations.has(operation)) {
      const issue = `match.operation: must be one of ${[...this.#operations].join(", ")}`;
      throw new EmulatorError("option_invalid", `fault ${name}: ${issue}`, { issues: [issue] });
    }
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

  /** Those that are still armed, oldest first. */
  list(): FaultReport[] {
    return [...this.#armed.values()].map((armed) => {
      const { id, fault, fired } = armed;
      return { id, fault: structuredClone(fault), fired, left: leftOf(armed) };
    });
  }

  /** Disarms one; without effect if it is not armed any more. */
  remove(id: string): void {
    this.#armed.delete(id);
  }

  clear(): void {
    this.#armed.clear();
  }

  /** Whether any fault could strike at one of these moments. @internal */
  isArmedFor(...moments: readonly FaultMoment[]): boolean {
    return [...this.#armed.values()].some(({ fault }) => moments.some((one) => momentOf(fault) === one));
  }

  /** The fault that strikes this request at this moment; it counts as fired. @internal */
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

/** By the seed and by how many requests matched: the same in every run. */
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
