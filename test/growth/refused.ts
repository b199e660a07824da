// Work on bytes from outside ends well or with an error of ours. Any other error is a fault of the
// test or of the product.
import { EmulatorError } from "../../src/emulator/errors.js";
import { GenerateError } from "../../src/generate/index.js";
import { isBivariantError } from "../../src/index.js";
import { PageError } from "../../src/page/page-error.js";
import { SurveyError } from "../../src/survey/index.js";

/** Returns `done` or the code of the error. */
export function refusedOrDone(task: () => unknown): () => Promise<string> {
  return async () => {
    try {
      await task();
      return "done";
    } catch (error) {
      const isOurs = [EmulatorError, GenerateError, PageError, SurveyError].some(
        (kind) => error instanceof kind,
      );
      const isMisuse = String(error).includes("is not an option of");
      if (isMisuse || !(isOurs || isBivariantError(error))) throw error;
      return `${Object(error).code} ${error}`;
    }
  };
}
