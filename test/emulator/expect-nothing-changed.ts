// A change that is refused: typed, without a secret in its error, and without an effect.
import { inspect } from "node:util";
import { expect } from "vitest";
import { type Emulator, EmulatorError } from "../../src/emulator/index.js";

export interface RefusedChange {
  readonly code: string;
  /** Of the one issue. */
  readonly issue?: RegExp | undefined;
  /** Must not appear in the error. */
  readonly secret: string;
}

const PAGES = ["plugins", "clients", "operators", "accounts"].map((name) => `/_emulator/${name}`);

async function registrations(emulator: Emulator): Promise<string[]> {
  return Promise.all(PAGES.map(async (path) => (await emulator.fetch(path)).text()));
}

export async function expectNothingChanged(
  emulator: Emulator,
  change: () => void,
  { code, issue, secret }: RefusedChange,
): Promise<void> {
  const before = await registrations(emulator);
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
  expect(await registrations(emulator)).toEqual(before);
}
