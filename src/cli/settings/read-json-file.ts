/** A JSON file that is named on the command line and holds nothing secret. */
import { readFile } from "node:fs/promises";
import { ConfigurationError } from "../../errors.js";

/** @throws ConfigurationError `option_invalid`; it names the file, never its content */
export async function readJsonFile(path: string, option: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    const { code = "no code" } = cause as NodeJS.ErrnoException;
    throw new ConfigurationError(
      "option_invalid",
      `--${option}: the file cannot be read (${code}): ${path}`,
      { option },
    );
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new ConfigurationError("option_invalid", `--${option}: the file holds no JSON: ${path}`, {
      option,
    });
  }
}
