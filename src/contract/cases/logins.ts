import type { CaseDefinition } from "../case.js";

export const loginCases: readonly CaseDefinition[] = [];
