/** The cases as tests of vitest, jest or node:test. */
import { type ContractOptions, prepareRun } from "./run.js";
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
 * Defines one test for each case, and one before them that fails if the deployment does not answer or refuses a
 * credential, because the others are skipped then. A test fails if its case breaks. A case for which the target lacks
 * something is skipped, and its title says what it needs. The tests share their requests and must not run concurrently.
 *
 * @throws ContractError `target_invalid`, `option_invalid` or `case_unknown`
 * @example
 * import { describe, test } from "vitest";
 * describeContract({ describe, test }, { baseUrl, tenantId, plugin });
 */
export function describeContract(
  { describe, test }: TestRunner,
  target: ContractTarget,
  options: ContractOptions = {},
): void {
  const { cases, importKeys, checkAccess, run } = prepareRun(target, options);
  describe(`the contract of ${target.baseUrl}`, () => {
    test("the deployment answers, and accepts the credentials that were lent", async () => {
      await importKeys();
      await checkAccess();
    });
    for (const definition of cases) {
      const { id, says, needs, expected, variant, section } = definition;
      const missing = needs.filter((name) => target[name] === undefined).map((name) => needed[name]);
      if (missing.length > 0 && test.skip !== undefined) {
        test.skip(`${id}: ${says} (needs ${missing.join(", ")})`, async () => {});
        continue;
      }
      // It declares no parameter, because jest would then wait for it to be called.
      test(`${id}: ${says}`, async (...[context]: { readonly skip?: (reason: string) => void }[]) => {
        const { result, observed } = await run(definition);
        if (result === "breaks") {
          const about = `${id} breaks (Variant ${variant}, section ${section}). ${says}`;
          throw new Error(`${about} Expected: ${expected} Observed: ${observed}`);
        }
        if (result === "not tried") context?.skip?.(observed);
      });
    }
  });
}
