import type { CaseDefinition } from "../case.js";

export const codeCases: readonly CaseDefinition[] = [];
