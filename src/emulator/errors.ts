// The emulator's own error, for a wrong set-up or in-process call. Refused requests are answers,
// never errors.
import { z } from "zod";
import { isName, unknownMembers } from "../option-names.js";

/** The kind of mistake. Codes are stable and in lower snake case. */
export type EmulatorErrorCode =
  | "option_invalid"
  | "seed_invalid"
  | "registration_invalid"
  | "key_invalid"
  | "already_registered"
  | "not_registered"
  | "route_conflict"
  | "launch_refused"
  | "login_refused"
  | "already_listening"
  | "listen_failed"
  | "journal_timeout"
  | "sleep_timeout";

/**
 * Thrown when the emulator is called wrongly, by `journal.waitFor` and `clock.skipSleep` when
 * nothing came, and by `launch` and `login` where a page would refuse the person; `issues` then
 * names the broken rule. Otherwise it names the fields at fault; it never holds their values,
 * because a registration holds secrets.
 *
 * @example
 * try {
 *   emulator.registerPlugin({
 *     clientId: "reporter",
 *     tenantId: "acme",
 *     type: "service",
 *     jwks: { keys: [] },
 *   });
 * } catch (error) {
 *   if (error instanceof EmulatorError && error.code === "key_invalid")
 *     console.error(error.issues);
 * }
 */
export class EmulatorError extends Error {
  readonly code: EmulatorErrorCode;
  readonly issues: readonly string[];

  constructor(
    code: EmulatorErrorCode,
    message: string,
    details: { issues?: string[]; cause?: unknown } = {},
  ) {
    const { issues = [], ...cause } = details;
    super(message, cause);
    this.name = "EmulatorError";
    this.code = code;
    this.issues = issues;
  }
}

/** Returns an error with one issue; the message says before it where the issue is. */
export function issueError(code: EmulatorErrorCode, issue: string, where = ""): EmulatorError {
  return new EmulatorError(code, where + issue, { issues: [issue] });
}

/**
 * The path that an issue begins with: "plugins.0.scopes.1: must be …". A part that may be a secret
 * is "…".
 */
export const ISSUE_PATH: RegExp = /^([\w.…-]+): /;

/**
 * Returns the parsed value, or throws an `EmulatorError` that names the fields at fault and none of
 * their values.
 */
export function parseInput<Output>(
  schema: z.ZodType<Output>,
  input: unknown,
  what: string,
  code: EmulatorErrorCode = "option_invalid",
): Output {
  let issues = ["cannot be read"];
  try {
    const parsed = schema.safeParse(input, { error: unknownMembers });
    if (parsed.success) return parsed.data;
    issues = parsed.error.issues.map(({ path, message }) =>
      [path.map(shownMember).join("."), message].filter((part) => part !== "").join(": "),
    );
  } catch {
    // A getter of the input throws, or the input contains itself.
  }
  throw new EmulatorError(code, `${what}: ${issues.join("; ")}`, { issues });
}

function shownMember(member: PropertyKey): string {
  return typeof member === "number" || isName(String(member)) ? String(member) : "…";
}

/** A copy of a JSON value, so that later changes to the caller's object have no effect. */
export const jsonSchema: z.ZodType<unknown> = z
  .custom(isJson, "must be JSON")
  .transform((value) => structuredClone(value));

export function isJson(value: unknown): boolean {
  try {
    // An object that contains itself throws here; the parser would never end.
    JSON.stringify(value);
  } catch {
    return false;
  }
  return z.json().safeParse(value).success;
}
