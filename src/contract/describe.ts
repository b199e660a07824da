/** The cases as tests of vitest, jest or node:test. */
import { type ContractOptions, chooseCases, type PreparedRun, prepareRun } from "./run.js";
import { type ContractTarget, needed } from "./target.js";

type Define = (
  title: string,
  body: (...context: { readonly skip?: (reason: string) => void }[]) => Promise<void>,
) => unknown;

/** What is used of a test runner. Those of vitest, jest and node:test fit. */
export interface TestRunner {
  readonly describe: (title: string, body: () => void) => unknown;
  readonly test: Define & { readonly skip?: Define };
}

/**
 * Defines one test for each case. A test fails if its case breaks. A case for which the target lacks something is
 * skipped, and its title says what it needs. The tests share their requests and must not run concurrently.
 *
 * @throws ContractError `case_unknown`
 * @example
 * import { describe, test } from "vitest";
 * describeContract({ describe, test }, { baseUrl, tenantId, plugin });
 */
export function describeContract(
  { describe, test }: TestRunner,
  target: ContractTarget,
  options: ContractOptions = {},
): void {
  let prepared: Promise<PreparedRun> | undefined;
  describe(`the contract of ${target.baseUrl}`, () => {
    for (const definition of chooseCases(options)) {
      const { id, says, needs, expected } = definition;
      const missing = needs.filter((name) => target[name] === undefined).map((name) => needed[name]);
      if (missing.length > 0 && test.skip !== undefined) {
        test.skip(`${id}: ${says} (needs ${missing.join(", ")})`, async () => {});
        continue;
      }
      // It declares no parameter, because jest would then wait for it to be called.
      test(`${id}: ${says}`, async (...[context]: { readonly skip?: (reason: string) => void }[]) => {
        prepared ??= prepareRun(target, options);
        const { result, observed } = await (await prepared).run(definition);
        if (result === "breaks") throw new Error(`${id} breaks. Expected: ${expected} Observed: ${observed}`);
        if (result === "not tried") context?.skip?.(observed);
      });
    }
  });
}
