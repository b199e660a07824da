import type { CaseDefinition } from "../case.js";

export const assertionCases: readonly CaseDefinition[] = [];
