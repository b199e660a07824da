/**
 * The settings file: what was learnt about a deployment, for client, emulator and command line
 * alike.
 */
import { type DeploymentSettings, deploymentSettings } from "../contract/internal.js";
import { EmulatorError, parseFile, parseInput } from "../emulator/internal.js";
import { invalidFlag, readJsonOf } from "./arguments.js";

/**
 * Reads the file that --settings names. `check` may refuse more, with an EmulatorError that names
 * the member.
 *
 * @throws ConfigurationError `option_invalid`: each mistake with its line and its member, and
 * without its value
 */
export async function readSettingsFile(
  path: string,
  signal: AbortSignal,
  check: (settings: DeploymentSettings) => unknown = () => {},
): Promise<DeploymentSettings> {
  const { text } = await readJsonOf("--settings", path, signal);
  try {
    return parseFile(text, path, (content) => {
      const settings = parseInput(deploymentSettings, content, path);
      check(settings);
      return settings;
    });
  } catch (error) {
    if (!(error instanceof EmulatorError)) throw error;
    throw invalidFlag("--settings", `names a file with mistakes:\n${error.issues.join("\n")}`);
  }
}
