// A change that is refused typed, tells no secret, and leaves everything as it is.
import { inspect } from "node:util";
import { expect } from "vitest";
import { type Emulator, EmulatorError } from "../../src/emulator/index.js";

export interface RefusedChange {
  readonly code: string;
  /** Of the one issue. */
  readonly issue?: RegExp | undefined;
  /** What must not be told. */
  readonly secret: string;
}

export function expectNothingChanged(
  emulator: Emulator,
  change: () => void,
  { code, issue, secret }: RefusedChange,
): void {
  const before = emulator.snapshot();
  let thrown: unknown;
  try {
    change();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(EmulatorError);
  expect(thrown).toMatchObject({
    code,
    issues: issue === undefined ? expect.anything() : [expect.stringMatching(issue)],
  });
  expect(inspect(thrown)).not.toContain(secret);
  expect(emulator.snapshot()).toEqual(before);
}
