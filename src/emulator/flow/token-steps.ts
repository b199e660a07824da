// The steps at a token endpoint that belong to a launch or a login: the request, and its answer.
import type { Deployment } from "../deployment.js";
import type { JsonAnswer } from "../http/json-answer.js";
import type { Refusal } from "../refusal.js";
import type { RuleId } from "../rules.js";
import type { MalformedRequest, TokenRequest } from "../variant-a/read-token-request.js";
import type { ClientRequest } from "../variant-b/read-client-request.js";

/** Hands on the answer once it is recorded. */
type Answered = (answer: JsonAnswer, refused?: RuleId) => JsonAnswer;

/** What belongs to no flow is not looked at. */
export function recordTokenRequest(
  { flows, clock }: Deployment,
  read: TokenRequest | ClientRequest | MalformedRequest | Refusal,
): Answered {
  const code = "code" in read ? read.code : undefined;
  const flow = flows.find(code ?? ("refreshToken" in read ? read.refreshToken : undefined));
  if (flow === undefined) return (answer) => answer;
  const name = code === undefined ? "Refresh" : "Code exchange";
  flow.add({ at: clock(), name, from: "client", to: "token", fields: wireFields(read) });
  return (answer, refused) => {
    const fields = JSON.parse(answer.body) as Readonly<Record<string, unknown>>;
    const { error, error_description, refresh_token } = fields as Readonly<Record<string, string>>;
    flow.know(error, error_description);
    const verdict = refused === undefined ? "Token response" : "Refused";
    const step = { at: clock(), name: `${verdict}, ${answer.status}`, from: "token", to: "client" } as const;
    flow.add({ ...step, fields, ...(refused !== undefined && { refused }) }, refresh_token);
    return answer;
  };
}

/** By their names on the wire: Variant B's code exchange has no grant_type (description, section 4.2). */
function wireFields({ ...read }: object): Record<string, unknown> {
  const named = Object.entries(read).map(([name, value]) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value,
  ]);
  const { grant, ...fields } = Object.fromEntries(named) as Record<string, unknown>;
  return grant === "refresh_token" ? { grant_type: grant, ...fields } : fields;
}
