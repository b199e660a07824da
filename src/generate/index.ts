/** `bivariant/generate`: OpenAPI documents to generated code, and the check that the two agree. */

export type { DocumentPaths } from "./generate.js";
export { checkGenerated, type Drift, type GenerateOptions, generate } from "./generate.js";
export { GenerateError, type GenerateErrorCode, type GenerateErrorDetails } from "./generate-error.js";
