/** What the command line uses of the emulator without a server, and so without hono. */
export { EmulatorError, parseInput } from "./errors.js";
export { parseFile } from "./seed/parse-file.js";
