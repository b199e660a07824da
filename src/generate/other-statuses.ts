/** Names the types that hold every registered status a set of responses does not document. */

import { VARIANTS } from "./document.js";
import type { OperationLists, Response } from "./list-operations.js";
import { REGISTERED_STATUSES } from "./registered-statuses.js";

export interface OtherStatuses {
  readonly declarations: string;
  nameFor(responses: readonly Response[]): string;
}

/** One alias per distinct set, so that a thousand operations share a handful of unions. */
export function otherStatuses(lists: OperationLists): OtherStatuses {
  const names = new Map<string, string>();
  for (const variant of VARIANTS) {
    for (const { responses } of lists[variant]) {
      const union = unionOf(responses);
      if (!names.has(union)) names.set(union, `OtherStatus${names.size + 1}`);
    }
  }
  return {
    declarations: [...names].map(([union, name]) => `type ${name} =\n${union};\n`).join("\n"),
    nameFor: (responses) => names.get(unionOf(responses)) ?? "never",
  };
}

function unionOf(responses: readonly Response[]): string {
  const documented = new Set(responses.flatMap((response) => response.statuses));
  const others = REGISTERED_STATUSES.filter((status) => !documented.has(status));
  return others.length === 0 ? "  never" : others.map((status) => `  | ${status}`).join("\n");
}
