/** The request body, from an argument or a file. */
import { readFile } from "node:fs/promises";
import { ConfigurationError } from "../../errors.js";

/** @throws ConfigurationError `option_invalid`; it shows nothing of the body */
export async function readJsonBody({
  data,
  dataFile,
}: {
  readonly data?: string;
  readonly dataFile?: string;
}): Promise<unknown> {
  if (data !== undefined && dataFile !== undefined)
    throw refused("--data", "--data and --data-file are both given; leave one out");
  if (dataFile !== undefined) return parse(await read(dataFile), "--data-file");
  return data === undefined ? undefined : parse(data, "--data");
}

async function read(path: string): Promise<string> {
  try {
    return (await readFile(path, "utf8")).replace(/^\ufeff/, "");
  } catch (fault) {
    const { code } = fault as NodeJS.ErrnoException;
    throw refused("--data-file", `--data-file cannot be read (${code ?? "no code"}): ${path}`);
  }
}

function parse(text: string, option: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message would quote the text.
    throw refused(option, `${option} is no JSON`);
  }
}

function refused(option: string, why: string): ConfigurationError {
  return new ConfigurationError("option_invalid", `${why}.`, { option });
}
