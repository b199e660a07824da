/** Emits the types of the statuses that an operation does not document. */

import { VARIANTS } from "./document.js";
import type { OperationLists, Response } from "./list-operations.js";
import { REGISTERED_STATUSES } from "./registered-statuses.js";

export interface OtherStatuses {
  readonly declarations: string;
  nameFor(responses: readonly Response[]): string;
}

/** One alias per distinct set of documented statuses, so that a thousand operations share a handful of unions. */
export function otherStatuses(lists: OperationLists): OtherStatuses {
  const declarations = new Map<string, string>();
  for (const variant of VARIANTS) {
    for (const { responses } of lists[variant]) {
      const documented = responses.flatMap((response) => response.statuses);
      if (documented.length === 0) continue;
      const name = nameFor(responses);
      declarations.set(name, `export type ${name} = Exclude<HttpStatus, ${documented.join(" | ")}>;\n`);
    }
  }
  const all = REGISTERED_STATUSES.map((status) => `\n  | ${status}`).join("");
  return {
    declarations: [
      `/** Every status of the IANA HTTP Status Code Registry. */\nexport type HttpStatus =${all};\n`,
      ...declarations.values(),
    ].join("\n"),
    nameFor,
  };
}

/** An editor shows it, so it says which statuses it leaves out: `StatusOtherThan200And4XX`. */
function nameFor(responses: readonly Response[]): string {
  const keys = responses.map(({ key }) => key.toUpperCase()).filter((key) => key !== "DEFAULT");
  return keys.length === 0 ? "HttpStatus" : `StatusOtherThan${keys.sort().join("And")}`;
}
