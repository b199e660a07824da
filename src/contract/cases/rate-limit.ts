import type { CaseDefinition } from "../case.js";

export const rateLimitCases: readonly CaseDefinition[] = [];
