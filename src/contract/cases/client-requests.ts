import type { CaseDefinition } from "../case.js";

export const clientRequestCases: readonly CaseDefinition[] = [];
