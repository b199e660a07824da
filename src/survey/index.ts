/**
 * `bivariant/survey`: which of many customers runs which variant, and which of them work.
 * @packageDocumentation
 */
export type { Finding } from "../doctor/finding.js";
export { resultsCsv } from "./csv.js";
export {
  type CheckOptions,
  type Customer,
  type ReadCustomers,
  type ReadCustomersOptions,
  readCustomers,
} from "./customers.js";
export { SurveyError, type SurveyErrorCode } from "./errors.js";
export { type PageAbout, resultsPage } from "./page.js";
export { type PlannedRequests, plannedRequests } from "./planned-requests.js";
export type { Change, State, SurveyResult } from "./result.js";
export type { WrongRow } from "./rows.js";
export { type Comparison, compareWith, type EarlierResult, parseResults } from "./since.js";
export { type SurveyOptions, survey } from "./survey.js";
