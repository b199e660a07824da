/**
 * Which variants are served, and whether a right request gets the token response of the
 * description.
 */
import { breaks, type CaseDefinition, type CaseRow, defineCases, holds, learnt } from "../case.js";
import { askServed, shownAnswer, type Variant } from "../kit.js";

function current(variant: Variant): CaseRow {
  return {
    section: "5.11",
    says: `A token request without a client shows whether Variant ${variant} is served.`,
    expected: "Served or not: the description does not show it.",
    async run(kit) {
      const { isServed, observed } = await askServed(kit, variant);
      const how = isServed ? "served" : "not served, as far as its token endpoint shows";
      return learnt(`Variant ${variant} is ${how} (${observed}).`, {
        variants: isServed ? [variant] : [],
      });
    },
  };
}

export const servedCases: readonly CaseDefinition[] = [
  ...defineCases(
    "A",
    { needs: ["tenantId"], costs: { requests: 1, slots: 1 } },
    {
      "current-variant.a": current("A"),
      "token-response.a": {
        section: "2.3",
        says:
          "A service plugin gets access_token, token_type Bearer, expires_in as an integer and " +
          "revo.tenant, without revo.user.",
        expected: "A success with the fields of section 2.3.",
        needs: ["plugin"],
        async run(kit) {
          const { fields = {}, status } = await kit.granted("A");
          const revo = fields.revo as Record<string, unknown> | undefined;
          const tenant = revo?.tenant ?? fields["revo.tenant"];
          const user = revo?.user ?? fields["revo.user"] ?? undefined;
          const problems = [
            !/^bearer$/i.test(String(fields.token_type)) && "token_type is not Bearer",
            !Number.isInteger(fields.expires_in) && "expires_in is not an integer",
            typeof tenant !== "string" && "revo.tenant is not a string",
            user !== undefined && "revo.user is there, although no operator is",
          ].filter((one) => one !== false);
          return problems.length > 0
            ? breaks(`${problems.join("; ")}.`)
            : holds(`${status} with the fields of section 2.3.`);
        },
      },
    },
  ),
  ...defineCases(
    "B",
    { costs: { requests: 1 } },
    {
      "current-variant.b": current("B"),
      "token-response.b": {
        section: "4.2",
        says: "A service account gets a JSON object with access_token.",
        expected: "A success with access_token.",
        needs: ["serviceAccount"],
        async run(kit) {
          return holds(`${(await kit.granted("B")).status} with access_token.`);
        },
      },
    },
  ),
];

/**
 * A refusal proves nothing if everything is refused by then, for example because the client was
 * locked out.
 */
function stillAccepted(variant: Variant): CaseRow {
  return {
    section: "4",
    says: "After all refusals a right token request still succeeds.",
    expected: "A success, as for the first one.",
    async run(kit) {
      if (!kit.accepted.has(variant)) await kit.granted(variant);
      const answer = await kit.askControl(variant);
      if (answer.accessToken !== undefined) return holds(`${answer.status} with an access token.`);
      return breaks(`${shownAnswer(answer)}. The refusals before it may prove nothing.`);
    },
  };
}

export const lastCases: readonly CaseDefinition[] = [
  ...defineCases(
    "A",
    { needs: ["tenantId", "plugin"], costs: { requests: 2, slots: 2 } },
    { "credential-still-accepted.a": stillAccepted("A") },
  ),
  ...defineCases(
    "B",
    { needs: ["serviceAccount"], costs: { requests: 2 } },
    { "credential-still-accepted.b": stillAccepted("B") },
  ),
];
