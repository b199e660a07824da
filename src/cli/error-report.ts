/** How an error ends the program: its exit code, its lines for people and its JSON for scripts. */
import { getSystemErrorMap } from "node:util";
import {
  type Cause,
  isApiError,
  isBivariantError,
  isConfigurationError,
  isLoginRequiredError,
  isRateLimitedError,
  isStoreError,
  isTokenRequestError,
  isTransportError,
  isUnexpectedResponseError,
  isVariantError,
} from "../errors.js";
import { personRequired } from "../internal.js";
import { evidenceLines, type Output, type Paint, printableJson, printableText } from "./output.js";
import { whereToSet } from "./settings.js";

export const exitCodes = {
  done: 0,
  checkSaidNo: 1,
  configuration: 2,
  tokenRefused: 3,
  variant: 4,
  network: 5,
  apiRefused: 6,
  /**
   * A fault of this program. EX_SOFTWARE of sysexits.h, so that no script takes it for a check that
   * said no.
   */
  fault: 70,
  /** 128 plus the number of SIGPIPE: the reader of the output has gone. */
  outputClosed: 141,
} as const;

/** Of a command that a signal ended: 128 plus the number of the signal, as in shells. */
export const signalExitCodes = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 } as const;

export type SignalName = keyof typeof signalExitCodes;
export type ExitCode =
  | (typeof exitCodes)[keyof typeof exitCodes]
  | (typeof signalExitCodes)[SignalName];

export const exitCodesHelp: string = `Exit codes:
  0  done
  1  a check said no
  2  usage or configuration
  3  token refused, rate limited past the deadline, or login over
  4  variant not served or unknown
  5  network: no answer, or an answer that the description does not know
  6  API call refused`;

/**
 * An unexpected response counts as network, because usually another server answered at a wrong
 * address.
 */
export function exitCodeOf(error: unknown): ExitCode {
  if (isConfigurationError(error) || isStoreError(error) || isToolError(error))
    return exitCodes.configuration;
  // An API error too can mean that the login is over.
  if (
    isTokenRequestError(error) ||
    isRateLimitedError(error) ||
    personRequired(error) !== undefined
  )
    return exitCodes.tokenRefused;
  if (isVariantError(error)) return exitCodes.variant;
  if (isTransportError(error) || isUnexpectedResponseError(error)) return exitCodes.network;
  return isApiError(error) ? exitCodes.apiRefused : exitCodes.fault;
}

/**
 * Checks the name, because importing the classes would load the emulator and the generator every
 * time.
 */
function isToolError(error: unknown): error is Error & ToolError {
  return (
    error instanceof Error &&
    ["EmulatorError", "GenerateError", "ContractError", "SurveyError"].includes(error.name)
  );
}

interface ToolError {
  readonly code: string;
  readonly issues?: readonly string[];
  readonly document?: string;
  readonly pointer?: string;
  /** Of an error of several mistakes each of them, else the error itself. */
  readonly errors?: readonly (Error & ToolError)[];
}

export function reportError(output: Output, error: unknown, body?: unknown): void {
  if (output.json) output.value(errorJson(error, body));
  else output.say(errorLines(error, output.paintNote, body).join("\n"));
}

/** Describes an error for people. `body` is that of a refused call, checked to hold no secret. */
export function errorLines(error: unknown, paint: Paint, body?: unknown): string[] {
  if (isToolError(error)) {
    // They may quote a file from another person.
    const message = printableText(error.message);
    const issues = (error.issues ?? []).map(printableText);
    const reason = reasonOf(error);
    return [
      head(error.code, message, paint),
      ...(reason === undefined ? [] : [`  ${reason}`]),
      ...list(issues.filter((issue) => !message.includes(issue))),
    ];
  }
  if (!isBivariantError(error)) {
    // A fault of this program. Its message is not shown, because it may quote anything.
    const { name, stack = "" } = error instanceof Error ? error : { name: "not an Error" };
    const frames = stack.split("\n").filter((line) => /^\s+at /.test(line));
    const message = `a fault of this program (${name}). Please report it with these lines:`;
    return [head("internal", message, paint), ...frames.slice(0, 10)];
  }
  const { code } = error;
  const causes = isTokenRequestError(error) || isApiError(error) ? (error.causes ?? []) : [];
  // The causes are listed below, so the message need not repeat the first.
  const message = error.message.replace(/ Most likely: .*$/s, "");
  const lines = [head(code, message, paint)];
  const hint = hintOf(error);
  if (hint !== undefined) lines.push(`  ${hint}`);
  if (isUnexpectedResponseError(error)) lines.push(...list(error.issues));
  lines.push(...causeLines(causes, paint));
  // The message of a VariantError contains the evidence.
  if (isUnexpectedResponseError(error) && error.detection !== undefined)
    lines.push("  Evidence:", ...evidenceLines(error.detection.evidence, paint));
  if (body !== undefined) lines.push(`  The answer: ${printableJson(body)}`);
  const { retryAt } = error as { retryAt?: number };
  // The pause after a refused token request holds only for the same process.
  const instant =
    retryAt === undefined || isTokenRequestError(error) ? "" : new Date(retryAt).toISOString();
  if (!message.includes(instant)) lines.push(`  Try again after ${instant}.`);
  return lines;
}

/**
 * What to do about an error on the command line, which its message, written for programs, does not
 * say.
 */
function hintOf(error: unknown): string | undefined {
  if (isConfigurationError(error)) return whereToSet(error);
  return isLoginRequiredError(personRequired(error)) ? "Run bivariant login." : undefined;
}

/** The reason of the system, such as `EADDRINUSE: address already in use`. */
function reasonOf({ cause }: ToolError & Error): string | undefined {
  const { errno = 0 } = (cause ?? {}) as Partial<NodeJS.ErrnoException>;
  return getSystemErrorMap().get(errno)?.join(": ");
}

function head(code: string, message: string, paint: Paint): string {
  return `${paint("red", "error")} ${paint("bold", code)}: ${message}`;
}

const list = (issues: readonly string[]) => issues.map((issue) => `  - ${issue}`);

function causeLines(causes: readonly Cause[], paint: Paint): string[] {
  if (causes.length === 0) return [];
  return [
    causes.length === 1 ? "  Likely cause:" : "  Likely causes, most likely first:",
    ...causes.flatMap(({ summary, evidence, remedy }, index) => [
      `  ${index + 1}. ${paint("bold", summary)}`,
      `     evidence  ${evidence}`,
      `     remedy    ${remedy}`,
    ]),
  ];
}

/**
 * Describes an error for scripts, with the public fields of its class and its hint; `retryAt` in
 * epoch milliseconds.
 */
export function errorJson(
  error: unknown,
  body?: unknown,
): { readonly error: Record<string, unknown> } {
  return { error: { ...fieldsOf(error), body, exitCode: exitCodeOf(error) } };
}

function fieldsOf(error: unknown): object {
  if (isBivariantError(error)) return { ...error.toJSON(), hint: hintOf(error) };
  const name = error instanceof Error ? error.name : "not an Error";
  if (!isToolError(error))
    return { code: "internal", message: `A fault of this program (${name}).` };
  const { code, message, issues, document, pointer, errors = [error] } = error;
  const several = errors.length > 1 && { errors: errors.map(fieldsOf) };
  const reason = reasonOf(error);
  return { code, message, name, reason, issues, document, pointer, ...several };
}
