/** The JWKS that the customer registered, from a file. What is wrong in it is for the examination to say. */
import { readFile } from "node:fs/promises";
import { ConfigurationError } from "../../errors.js";
import type { RegisteredJwks } from "./patient.js";

/** @throws ConfigurationError `option_invalid` when there is no such file */
export async function readJwks(path: string): Promise<RegisteredJwks> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    const { code = "no code" } = cause as NodeJS.ErrnoException;
    throw new ConfigurationError("option_invalid", `--jwks: the file cannot be read (${code}): ${path}`, {
      option: "jwks",
    });
  }
  try {
    return { value: JSON.parse(text.replace(/^\ufeff/, "")) };
  } catch {
    return { isNoJson: true };
  }
}
