// The token endpoints of the served variants: where they are, and what answers there.

import type { JsonAnswer } from "./http/json-answer.js";
import type { ReceivedRequest } from "./http/received-request.js";
import type { RequestNote } from "./journal.js";
import { TOKEN_PATH_A, TOKEN_PATH_B } from "./paths.js";
import type { RuleId } from "./rules.js";
import type { Deployment } from "./state.js";
import { answerTokenRequest } from "./variant-a/token-endpoint.js";
import { answerClientRequest } from "./variant-b/client-token-endpoint.js";
import type { GrantPlace } from "./variant-b/read-client-request.js";

/** Where a request to a token endpoint was posted to. */
interface PostedTo {
  /** Of the path, where the path names one. */
  readonly tenantId: string | undefined;
  /** The path left the version out, and the rule that says it must not is off. */
  readonly isUnversioned: boolean;
}

export interface TokenEndpoint {
  readonly variant: "A" | "B";
  /** With `{tenantId}` in Variant A. */
  readonly path: string;
  /** That its method is POST, and how its body is encoded. */
  readonly methodRule: RuleId;
  readonly encoding: "form" | "json";
  /** Answers one POST. */
  answer(
    deployment: Deployment,
    request: ReceivedRequest,
    note: RequestNote,
    postedTo: PostedTo,
  ): Promise<JsonAnswer>;
}

export function tokenEndpoints(served: {
  readonly variants: readonly ("A" | "B")[];
  readonly refreshPath: string;
}): readonly TokenEndpoint[] {
  const { variants, refreshPath } = served;
  const refreshesHere = refreshPath === TOKEN_PATH_B;
  const all = [
    endpointA,
    endpointB(TOKEN_PATH_B, refreshesHere ? "every grant" : "every grant but refresh"),
    ...(refreshesHere ? [] : [endpointB(refreshPath, "refresh")]),
  ];
  return all.filter(({ variant }) => variants.includes(variant));
}

const endpointA: TokenEndpoint = {
  variant: "A",
  path: TOKEN_PATH_A,
  methodRule: "token-request.method",
  encoding: "form",
  answer(deployment, request, note, { tenantId = "", isUnversioned }) {
    note.tenantId = tenantId;
    const path = isUnversioned ? TOKEN_PATH_A.replace("/v1", "") : TOKEN_PATH_A;
    return answerTokenRequest(deployment, tenantId, request, note, path);
  },
};

function endpointB(path: string, place: GrantPlace): TokenEndpoint {
  return {
    variant: "B",
    path,
    methodRule: "client-request.method",
    encoding: "json",
    answer: (deployment, request, note) => answerClientRequest(deployment, request, note, place),
  };
}
