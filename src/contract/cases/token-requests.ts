/** Variant A's token request (section 4.1): its form, and what its refusals show (section 7.1). */
import { type CaseDefinition, defineCases } from "../case.js";
import { expectedAnswer, refusedByA } from "./judge.js";

/** A request that cannot be read or lacks a field is one or the other: see the unknown malformed-request-error. */
const malformed = ["invalid_grant", "invalid_request"];

export const tokenRequestCases: readonly CaseDefinition[] = defineCases("A", {
  "token-request.media-type": {
    rule: "token-request.media-type",
    section: "4.1",
    says: "A token request whose Content-Type is application/json is refused.",
    expected: expectedAnswer("token-request.media-type", malformed),
    needs: ["tenantId", "plugin"],
    costs: { requests: 2, slots: 2 },
    async run(kit) {
      await kit.tokenOfA();
      const headers = { "content-type": "application/json" };
      const answer = await kit.requestTokenOfA({ note: "a form declared as JSON", headers });
      return refusedByA(answer, "token-request.media-type", malformed);
    },
  },
});
