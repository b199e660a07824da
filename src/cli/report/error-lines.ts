/** An error as a person should see it: its code, what happened, the likely causes with their remedies, what is next. */

import { personRequired } from "../../client/refused-call.js";
import { EmulatorError } from "../../emulator/index.js";
import {
  isApiError,
  isBivariantError,
  isConfigurationError,
  isLoginRequiredError,
  isRateLimitedError,
  isTokenRequestError,
  isUnexpectedResponseError,
  isVariantError,
} from "../../errors.js";
import { GenerateError } from "../../generate/generate-error.js";
import type { Paint } from "../paint.js";
import { whereToSet } from "../settings/setting-table.js";
import { evidenceLines } from "./evidence-lines.js";
import { printableJson } from "./printable-json.js";

/** `body`: of a refused call, once it is known to hold no secret. */
export function errorLines(error: unknown, paint: Paint, body?: unknown): string[] {
  if (error instanceof EmulatorError)
    return [head(error, paint), ...systemLines(error), ...list(untold(error))];
  if (error instanceof GenerateError) return [head(error, paint)];
  if (!isBivariantError(error)) return faultLines(error, paint);
  const lines = [head(error, paint)];
  if (isConfigurationError(error)) {
    const where = whereToSet(error);
    if (where !== undefined) lines.push(`  ${where}`);
  }
  if (isLoginRequiredError(personRequired(error))) lines.push("  Run bivariant login.");
  if (isUnexpectedResponseError(error)) lines.push(...list(error.issues));
  if (isTokenRequestError(error) || isApiError(error)) lines.push(...causeLines(error.causes ?? [], paint));
  if (isVariantError(error) || isUnexpectedResponseError(error)) {
    const { detection } = error;
    if (detection !== undefined) lines.push("  Evidence:", ...evidenceLines(detection.evidence, paint));
  }
  if (body !== undefined) lines.push(`  The answer: ${printableJson(body)}`);
  if (isTokenRequestError(error) || isRateLimitedError(error) || isApiError(error))
    lines.push(...retryLines(error.retryAt));
  return lines;
}

function head({ code, message }: { readonly code: string; readonly message: string }, paint: Paint): string {
  return `${paint("red", "error")} ${paint("bold", code)}: ${message}`;
}

function causeLines(
  causes: readonly { summary: string; evidence: string; remedy: string }[],
  paint: Paint,
): string[] {
  if (causes.length === 0) return [];
  return [
    causes.length === 1 ? "  Likely cause:" : "  Likely causes, the likeliest first:",
    ...causes.flatMap(({ summary, evidence, remedy }, index) => [
      `  ${index + 1}. ${paint("bold", summary)}`,
      `     evidence: ${evidence}`,
      `     remedy:   ${remedy}`,
    ]),
  ];
}

function retryLines(retryAt: number | undefined): string[] {
  return retryAt === undefined ? [] : [`  No sooner than ${new Date(retryAt).toISOString()}.`];
}

/** Most messages of the emulator hold their issues already. */
function untold({ message, issues }: EmulatorError): string[] {
  return issues.filter((issue) => !message.includes(issue));
}

function list(issues: readonly string[]): string[] {
  return issues.map((issue) => `  - ${issue}`);
}

/** Why the system did not let a server listen. */
function systemLines({ cause }: EmulatorError): string[] {
  const code = (cause as { code?: unknown } | undefined)?.code;
  return typeof code === "string" && /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? [`  ${code}`] : [];
}

/** A fault of this program. Its message stays behind: nobody knows what it quotes. */
function faultLines(error: unknown, paint: Paint): string[] {
  const { name, stack } = (error instanceof Error ? error : {}) as { name?: string; stack?: string };
  const frames = (stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  return [
    `${paint("red", "error")} ${paint("bold", "internal")}: a fault of this program (${name ?? "no error"}). Please report it with these lines:`,
    ...frames.slice(0, 10),
  ];
}
