/** The cases as tests of vitest, jest, bun:test or node:test. */
import type { ContractResult } from "./case.js";
import { NotTried, requireOptions } from "./errors.js";
import {
  type ComparedResult,
  compareChosen,
  movementLines,
  onlyMoved,
} from "./reports/baseline.js";
import {
  type ContractOptions,
  checkAccess,
  contractCases,
  optionNames,
  prepareRun,
  runCase,
} from "./run.js";
import type { ContractTarget } from "./target.js";

type Define = (title: string, body: () => Promise<void>) => unknown;

/** What is used of a test runner. Those of vitest, jest, bun:test and node:test fit. */
export interface TestRunner {
  /** Groups the tests that `body` defines. */
  readonly describe: (title: string, body: () => void) => unknown;
  readonly test: Define & { readonly skip: Define };
}

/** The options of {@link describeContract}. */
export interface DescribeOptions extends ContractOptions {
  /**
   * The results of an earlier run, such as `parseBaseline` reads: a test also fails if its case
   * moved since.
   */
  readonly baseline?: readonly ComparedResult[] | undefined;
}

/**
 * Tries the cases, and then defines one test for each, and one before them that fails if the
 * deployment does not answer or refuses a credential. A test fails if its case breaks, or moved
 * since the baseline. A case that was not tried is skipped, and its title says why. Await it at the
 * top of the file: not every runner can skip a test that has begun.
 *
 * @throws ContractError `target_invalid`, `option_invalid`, `case_unknown` or `key_invalid`; the
 * reason of `signal`
 * @example
 * import { describe, test } from "vitest";
 *
 * await describeContract(
 *   { describe, test },
 *   { baseUrl, tenantId, plugin: { clientId, privateKey } },
 * );
 */
export async function describeContract(
  runner: TestRunner,
  target: ContractTarget,
  options: DescribeOptions = {},
): Promise<void> {
  requireOptions("a contract run", options, { ...optionNames, baseline: true });
  const { describe, test } = runner;
  const { baseline, ...ofRun } = options;
  const { cases, kit } = await prepareRun(target, ofRun);
  const refusal = await checkAccess(kit, cases).catch((error: unknown) => {
    if (error instanceof NotTried) return error;
    throw error;
  });
  const results: ContractResult[] = [];
  for (const definition of cases) results.push(await runCase(definition, kit, ofRun));
  const moved = onlyMoved(baseline && compareChosen(baseline, results, cases, contractCases));
  describe(`the contract of ${target.baseUrl}`, () => {
    test("the deployment answers, and accepts the credentials that were lent", async () => {
      if (refusal !== undefined) throw new Error(refusal.message);
    });
    for (const { id, says, result, observed, ...about } of results) {
      const movement = moved.find((one) => one.id === id && one.variant === about.variant);
      if (result === "not tried" && movement === undefined) {
        test.skip(`${id}: ${says} (${observed})`, async () => {});
        continue;
      }
      test(`${id}: ${says}`, async () => {
        const where = `(Variant ${about.variant}, section ${about.section}). ${says}`;
        if (result === "breaks")
          throw new Error(
            `${id} breaks ${where} Expected: ${about.expected} Observed: ${observed}`,
          );
        if (movement !== undefined)
          throw new Error(
            `${id} moved since the baseline ${where}\n${movementLines(movement).join("\n")}`,
          );
      });
    }
    for (const { id, kind } of moved)
      if (kind === "gone")
        test(`${id}: the case of the baseline is tried`, async () => {
          throw new Error(`${id} is gone: no case has this id. Make a new baseline.`);
        });
  });
}
