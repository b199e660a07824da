import type { CaseDefinition } from "../case.js";

export const callCases: readonly CaseDefinition[] = [];
