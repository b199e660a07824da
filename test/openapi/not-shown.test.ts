// Everything that the description leaves open is marked in the documents with x-not-shown, and nothing else is.
import { describe, expect, test } from "vitest";
import { unknowns } from "../../generated/unknowns.js";

/** A passage of the description, verbatim, with the ids of the marks that stand for it. */
interface Passage {
  readonly section: string;
  readonly quote: string;
  readonly ids: readonly string[];
}

/** How often the description says "not shown". */
const NOT_SHOWN_COUNT = 20;

/** The passages that say "not shown", in the order of the description. */
const NOT_SHOWN: readonly Passage[] = [
  {
    section: "1",
    quote: "Business functions of the service beyond authentication and device listing: not shown.",
    ids: ["business-functions"],
  },
  { section: "2.4", quote: "Other launch parameters: not shown.", ids: ["launch-parameters"] },
  {
    section: "2.5",
    quote:
      "The fields of these records and of the other resources (devices, schedules, tenant settings) are not shown beyond the names above.",
    ids: ["variant-b-record-fields", "other-resource-fields"],
  },
  { section: "3", quote: "Transitions: not shown.", ids: ["registration-transitions"] },
  { section: "4.2", quote: "Other response fields: not shown.", ids: ["variant-b-token-fields"] },
  {
    section: "4.2",
    quote: "Exchange of a refresh_token for a new access token (path and body): not shown.",
    ids: ["refresh-request"],
  },
  {
    section: "4.2",
    quote:
      "Path, parameters and response of the authorization endpoint to which the user is sent with a PKCE challenge: not shown.",
    ids: ["authorization-endpoint"],
  },
  {
    section: "4.3",
    quote:
      "| A | GET {base_url}/api/v1/{tenantId}/devices | Authorization: Bearer <ACCESS_TOKEN> | JSON; body shape not shown |",
    ids: ["device-body"],
  },
  {
    section: "4.3",
    quote:
      "| B | GET {base_url}/v1/devices | Authorization: Bearer <ACCESS_TOKEN> | JSON; body shape not shown |",
    ids: ["device-body"],
  },
  {
    section: "4.3",
    quote:
      "The optional request header X-Envelope selects a wrapped shape (its values and the wrapped shape are not shown).",
    ids: ["envelope"],
  },
  {
    section: "4.3",
    quote: "The list of plugin-enabled routes, with the scope of each: not shown.",
    ids: ["plugin-routes"],
  },
  {
    section: "4.3",
    quote:
      "All other endpoints (devices detail, schedules, tenant settings, SignalR and MQTT access): not shown.",
    ids: ["other-endpoints"],
  },
  {
    section: "5",
    quote: "Which variant is current, and whether both are served: not shown.",
    ids: ["current-variant"],
  },
  {
    section: "6",
    quote: "Exact field names inside plugin:pkce-init: not shown.",
    ids: ["pkce-init-fields"],
  },
  {
    section: "6",
    quote: "Webhooks, SignalR events, MQTT topics and any other events emitted by operations: not shown.",
    ids: ["other-events"],
  },
  {
    section: "7.2",
    quote:
      "A token presented on a route that does not accept plugin tokens is refused. The status code: not shown.",
    ids: ["plugin-token-refusal-status"],
  },
  { section: "7.3", quote: "Error codes and bodies of Variant B: not shown.", ids: ["variant-b-errors"] },
  {
    section: "8",
    quote: "The numeric size of the rate limit and of its window: not shown.",
    ids: ["rate-limit-numbers"],
  },
  {
    section: "8",
    quote: "Rate limits of other endpoints and any other quotas or size limits: not shown.",
    ids: ["other-limits"],
  },
  {
    section: "9",
    quote: "Version policy, deprecation rules and a version header: not shown.",
    ids: ["version-policy"],
  },
];

/** Passages that leave something open without the words "not shown". */
const LEFT_OPEN: readonly Passage[] = [
  {
    section: "2.3",
    quote: "The object key the service is the literal field name in the response.",
    ids: ["revo-spelling"],
  },
  {
    section: "2.5",
    quote: "A client_credentials token is scoped to the role of the service account in the tenant.",
    ids: ["role-reach"],
  },
  { section: "4.2", quote: "JSON body, authorization code exchange:", ids: ["code-exchange-secret"] },
  {
    section: "6",
    quote: "| host:auth-code | host to plugin page | code, state, tenantId |",
    ids: ["message-name-key", "state-origin"],
  },
  {
    section: "7.1",
    quote: "error_description is always the same fixed text, The token request was rejected.",
    ids: ["error-description-full-stop"],
  },
];

const PASSAGES = [...NOT_SHOWN, ...LEFT_OPEN];

describe("the marks of the documents", () => {
  test.each(PASSAGES)("are complete for section $section: $quote", ({ section, ids }) => {
    for (const id of ids) expect(unknowns).toContainEqual(expect.objectContaining({ id, section }));
  });

  test("each stand for a passage", () => {
    const known = new Set(PASSAGES.flatMap((passage) => passage.ids));
    expect(unknowns.filter(({ id }) => !known.has(id))).toEqual([]);
  });

  test("have the same id in both documents for the same passage", () => {
    const shared = unknowns.filter(({ variants }) => variants.length === 2).map(({ id }) => id);
    expect(shared.sort()).toEqual([
      "business-functions",
      "current-variant",
      "device-body",
      "envelope",
      "other-endpoints",
      "other-events",
      "other-limits",
      "other-resource-fields",
      "version-policy",
    ]);
  });
});

test('the table has every passage that says "not shown", and each says it once', () => {
  const counts = NOT_SHOWN.map(({ quote }) => quote.split("not shown").length - 1);
  expect(counts).toEqual(NOT_SHOWN.map(() => 1));
  expect(NOT_SHOWN).toHaveLength(NOT_SHOWN_COUNT);
});
