/** What the command line uses of the survey beside its entry. */
export { stateOf } from "./result.js";
export { mostCharacters } from "./since.js";
export { unfinished } from "./state-file.js";
export { usualConcurrency, usualCustomerTimeoutMs, wrongCustomers } from "./survey.js";
