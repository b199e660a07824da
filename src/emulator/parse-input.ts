// Checks what the caller of the emulator's own API passes in, and turns a mistake into an EmulatorError.
import type { z } from "zod";
import { EmulatorError, type EmulatorErrorCode } from "./emulator-error.js";

/** The path that an issue begins with: "plugins.0.scopes.1: must be …". A part of it that is no name is "…". */
export const ISSUE_PATH: RegExp = /^([\w.…-]+): /;
/** A forgotten space makes a key of a secret (`clientSecret:hunter2`): names have no digits, and no other characters. */
const NAME = /^[A-Za-z_.-]{1,40}$/;

/** The parsed value, or an `EmulatorError` that names the fields at fault and none of their values. */
export function parseInput<Output>(
  schema: z.ZodType<Output>,
  input: unknown,
  code: EmulatorErrorCode,
  what: string,
): Output {
  const parsed = safeParse(schema, input);
  if (parsed === undefined)
    throw new EmulatorError(code, `${what}: cannot be read`, { issues: ["cannot be read"] });
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) =>
    issue.path.length === 0
      ? messageOf(issue)
      : `${issue.path.map(shownMember).join(".")}: ${messageOf(issue)}`,
  );
  throw new EmulatorError(code, `${what}: ${issues.join("; ")}`, { issues });
}

/** Undefined: reading it throws, as by a getter of its own or where it holds itself. */
function safeParse<Output>(
  schema: z.ZodType<Output>,
  input: unknown,
): z.ZodSafeParseResult<Output> | undefined {
  try {
    return schema.safeParse(input);
  } catch {
    return undefined;
  }
}

/** Whether a member's name may be told. */
export function isName(member: string): boolean {
  return NAME.test(member);
}

function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code !== "unrecognized_keys") return issue.message;
  const { keys } = issue;
  return `Unrecognized key${keys.length === 1 ? "" : "s"}: ${keys.map((key) => (isName(key) ? `"${key}"` : "…")).join(", ")}`;
}

function shownMember(member: PropertyKey): string {
  return typeof member === "number" || isName(String(member)) ? String(member) : "…";
}
