// Checks a fault that somebody wants to arm.
import { z } from "zod";
import { isJson, parseInput } from "../errors.js";
import { GRANTS } from "../grant.js";
import { canHaveContent } from "./content.js";
import { type Fault, type FaultMoment, type FaultName, faultMoments, type Json } from "./fault.js";

/** What a timer takes: beyond it would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;
/** Some hundred years, so that any clock of a test gives a date. */
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
