/** `bivariant/generate`: OpenAPI documents to generated code, and the check that the two agree. */
export { checkGenerated, type Drift } from "./check-generated.js";
export { type GenerateOptions, generate } from "./generate.js";
export { GenerateError, type GenerateErrorCode, type GenerateErrorDetails } from "./generate-error.js";
export type { DocumentPaths } from "./render.js";
