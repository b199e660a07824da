// The emulator's own error: it was set up or used in-process wrongly. Refused requests are answers, never errors.

/** What was wrong with the set-up; stable, lower snake case. */
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
  | "journal_timeout";

/**
 * Thrown by `createEmulator`, the `register…`, `update…` and `unregister…` methods, `listen`, `faults.add` and the journal when they are
 * called wrongly, by `journal.waitFor` when nothing came, and by `launch` and `login` where a page would refuse the
 * person; `issues` then names the broken rule. Otherwise it names the fields at fault; it never holds their values,
 * because a registration holds secrets.
 *
 * @example
 * try { emulator.registerPlugin(sheet); } catch (error) {
 *   if (error instanceof EmulatorError && error.code === "key_invalid") console.error(error.issues);
 * }
 */
export class EmulatorError extends Error {
  readonly code: EmulatorErrorCode;
  readonly issues: readonly string[];

  constructor(
    code: EmulatorErrorCode,
    message: string,
    options: { issues?: string[]; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "EmulatorError";
    this.code = code;
    this.issues = options.issues ?? [];
  }
}
