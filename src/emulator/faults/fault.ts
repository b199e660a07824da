// What can be made to go wrong, by name, and for which requests.

import { z } from "zod";
import { isJson, parseInput } from "../errors.js";
import { GRANTS, type Grant } from "../oauth.js";

/** A value of JSON. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/**
 * When a fault strikes: before the token endpoint looks at anything (nothing is spent, not even a slot of the rate
 * limit); after it did its work, whatever it answers (a code is spent, a token minted, a refresh token rotated); or on
 * a route of the API.
 */
export type FaultMoment = "before-token" | "after-commit" | "resource";

/** Which requests a fault strikes. */
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

/** An answer of a gateway or a broken server in the place of the real one. */
export interface StatusFault {
  /**
   * A client may retry a 5xx of a client_credentials request, each time with a new assertion, or of an idempotent call,
   * and nothing else: at "after-commit" a code or a refresh token is spent although the answer says 504. A redirect of
   * a token request is a refusal, never followed.
   */
  readonly name: "status";
  /** 200 to 599. */
  readonly status: number;
  /** Sent as JSON; but a string as it is where `headers` name a content type that is not JSON. Default: no body. */
  readonly body?: Json | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A 429 with an empty body, as the token endpoint's (description, section 8), without any limit that was hit. */
export interface RateLimitedFault {
  /**
   * A client waits as long as `Retry-After` says, and all of its requests with it; without one, or with one that cannot
   * be read, "a schedule of a few seconds, doubling, with random jitter" (section 8).
   */
  readonly name: "rate-limited";
  /** Seconds, the date a second from now (rounded up), no header, or any other string as it is. Default: 1. */
  readonly retryAfter?: number | "date" | "absent" | (string & {}) | undefined;
}

/** The connection is reset (TCP RST) before anything was done; in-process the fetch rejects as undici's does. */
export interface ResetFault {
  /**
   * A client cannot tell it from a `lost-answer`: it may repeat what may be repeated (client_credentials, a GET), and
   * treats a code or a refresh token as perhaps spent.
   */
  readonly name: "reset";
}

/** The real answer, whose body ends before its `Content-Length`: the connection is closed. */
export interface TruncatedFault {
  /** The answer cannot be used, not even if what came reads well. What it carried is as good as lost: see `lost-answer`. */
  readonly name: "truncated";
  /** How many bytes of the body are sent, always less than all. Default: half of them. */
  readonly bytes?: number | undefined;
}

/** The real answer, late or dripping. At "before-token" the request is late, and dropped if the caller has left. */
export interface SlowFault {
  /**
   * A client limits the time of the whole exchange, from sending to the last byte, and treats an answer that it no
   * longer waits for as lost.
   */
  readonly name: "slow";
  /** Of the body. Default: 10, unless `delayMs` is given; then as fast as it goes. */
  readonly bytesPerSecond?: number | undefined;
  /** Before the first byte of the answer, in real milliseconds. Default: 0. */
  readonly delayMs?: number | undefined;
}

/** The real answer's JSON, cut in the middle, complete by its `Content-Length` and under its content type. */
export interface MalformedJsonFault {
  /** An unexpected response, and no refusal: a client says so, and quotes nothing of a body that may hold a token. */
  readonly name: "malformed-json";
}

/** The real body under another content type, for instance that of a login page some proxy put in between. */
export interface ContentTypeFault {
  /** A client goes by what it can parse and by the shape it needs; a body that is not JSON is an unexpected response. */
  readonly name: "content-type";
  readonly contentType: string;
}

/** The real answer's JSON object with other members; in an array each object, and of anything else only these members. */
export interface FieldsFault {
  /** A client survives what the description does not promise: an absent `expires_in`, strings of digits, odd `revo`. */
  readonly name: "fields";
  /** Null removes the member; anything else takes its place. */
  readonly fields: Readonly<Record<string, Json>>;
}

/** Everything is done, and the connection is reset before a byte of the answer was sent. */
export interface LostAnswerFault {
  /**
   * A code that was sent is spent: launch or log in anew. A refresh token may be rotated: it is not sent again, and the
   * state is "outcome unknown". client_credentials is asked for again.
   */
  readonly name: "lost-answer";
}

/** The host's page posts `host:auth-code` twice; in-process, `authorize` answers `posts: 2`. */
export interface DuplicateAuthCodeFault {
  /** A plugin's page takes the first and ignores the second: the code is good for one exchange attempt. */
  readonly name: "duplicate-auth-code";
  /** It strikes when the host answers a launch, and at no other moment. */
  readonly at?: undefined;
}

/** The real answer with a `Date` that is off. */
export interface SkewedDateFault {
  /** A client that corrects its assertions by `Date` does so beyond a bound, verifies the correction, and reports it. */
  readonly name: "skewed-date";
  /** Milliseconds; negative is the past. */
  readonly byMs: number;
}

/** A fault, and which requests it strikes. */
export type Fault = FaultTarget &
  (
    | StatusFault
    | RateLimitedFault
    | ResetFault
    | TruncatedFault
    | SlowFault
    | MalformedJsonFault
    | ContentTypeFault
    | FieldsFault
    | LostAnswerFault
    | DuplicateAuthCodeFault
    | SkewedDateFault
  );

export type FaultName = Fault["name"];
export type FaultOf<Name extends FaultName> = Extract<Fault, { readonly name: Name }>;

/** The moments at which each fault can strike, its default first; `duplicate-auth-code` has one of its own. */
export const faultMoments: Readonly<Record<FaultName, readonly FaultMoment[]>> = {
  status: ["before-token", "after-commit", "resource"],
  "rate-limited": ["before-token", "resource"],
  reset: ["before-token", "after-commit", "resource"],
  truncated: ["after-commit", "resource"],
  slow: ["after-commit", "before-token", "resource"],
  "malformed-json": ["after-commit", "resource"],
  "content-type": ["after-commit", "resource"],
  fields: ["after-commit", "resource"],
  "lost-answer": ["after-commit", "resource"],
  "duplicate-auth-code": [],
  "skewed-date": ["after-commit", "resource"],
};

/** What a timer takes: beyond it would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;
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

const target = {
  count: z.union([z.number().int().min(1), z.literal("always")]).optional(),
  match: z
    .strictObject({
      tenantId: z.string().optional(),
      clientId: z.string().optional(),
      variant: z.enum(["A", "B"]).optional(),
      grant: z.enum(GRANTS).optional(),
      operation: z.string().optional(),
      method: z.string().optional(),
      path: z.string().startsWith("/").optional(),
    })
    .optional(),
  probability: z.number().gt(0).max(1).optional(),
  seed: z.number().int().optional(),
};

const own: Readonly<Record<FaultName, z.ZodRawShape>> = {
  status: {
    status: z.number().int().min(200).max(599),
    body: json.optional(),
    headers: z.record(headerName, headerValue).optional(),
  },
  "rate-limited": { retryAfter: z.union([z.number(), headerValue]).optional() },
  reset: {},
  truncated: { bytes: z.number().int().min(0).optional() },
  slow: {
    bytesPerSecond: z.number().min(0.01).optional(),
    delayMs: z.number().min(0).max(LONGEST_MS).optional(),
  },
  "malformed-json": {},
  "content-type": { contentType: headerValue },
  fields: { fields: z.record(z.string(), json) },
  "lost-answer": {},
  "duplicate-auth-code": {},
  "skewed-date": { byMs: z.number().min(-FURTHEST_SKEW_MS).max(FURTHEST_SKEW_MS) },
};

/** The operation of both token endpoints; every other is a route's. */
const TOKEN_OPERATION = "requestToken";

const FAULT_NAMES = Object.keys(faultMoments) as [FaultName, ...FaultName[]];
const named = z.looseObject({ name: z.enum(FAULT_NAMES) });

/** A copy, so that what becomes of the caller's object does not matter. @throws EmulatorError `option_invalid` */
export function parseFault(input: unknown): Fault {
  const { name } = parseInput(named, input, "option_invalid", "fault");
  return structuredClone(parseInput(faultSchema(name), input, "option_invalid", `fault ${name}`)) as Fault;
}

export function faultSchema(name: FaultName): z.ZodType {
  const at = { at: momentSchema(faultMoments[name]) };
  return z
    .strictObject({ name: z.literal(name), ...target, ...at, ...own[name] })
    .superRefine((fault, context) => {
      const message = conflict(fault as Fault);
      if (message !== undefined)
        context.addIssue({ code: "custom", path: [message[0]], message: message[1] });
    });
}

/** When it strikes: as it says, or at the first of its moments that the operation it matches can reach. */
export function momentOf({ name, at, match }: Fault): FaultMoment | "launch" {
  const moments = faultMoments[name];
  if (at !== undefined) return at;
  const isRoute = match?.operation !== undefined && match.operation !== TOKEN_OPERATION;
  return (isRoute ? moments.find((moment) => moment === "resource") : moments[0]) ?? "launch";
}

function momentSchema(moments: readonly FaultMoment[]): z.ZodType {
  const [first, ...others] = moments;
  if (first === undefined)
    return z.undefined("must be left out: it strikes when the host answers a launch").optional();
  return z.enum([first, ...others], `must be one of ${moments.join(", ")}`).optional();
}

/** What is wrong between two fields: the one at fault, and why. */
function conflict(fault: Fault): readonly [field: string, why: string] | undefined {
  if (fault.seed !== undefined && fault.probability === undefined) return ["seed", "needs a probability"];
  const operation = fault.match?.operation;
  if (operation !== undefined && fault.name !== "duplicate-auth-code") {
    const isToken = operation === TOKEN_OPERATION;
    const moments = faultMoments[fault.name];
    if (isToken === (momentOf(fault) === "resource")) {
      const others = moments.filter((moment) => isToken === (moment !== "resource")).join(" or ");
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
const WITHOUT_CONTENT = [204, 205, 304];

export function canHaveContent(status: number): boolean {
  return !WITHOUT_CONTENT.includes(status);
}
