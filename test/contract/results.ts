/** Results of every kind, with what a hostile server could put into them. */
import type { ContractResult, Exchange } from "../../src/contract/index.js";
import type { RunAbout } from "../../src/contract/reports/summary.js";

export const about: RunAbout = {
  baseUrl: "https://customer.example",
  tenantId: "acme",
  startedAt: Date.UTC(2026, 0, 2, 3, 4, 5),
  requests: 3,
  seconds: 1.25,
};

const exchange: Exchange = {
  note: "a right token request of the service plugin",
  method: "POST",
  url: "https://customer.example/api/v1/acme/external-plugin/oauth/token",
  fields: ["grant_type", "client_id", "client_assertion_type", "client_assertion"],
  status: 400,
  contentType: "application/json",
  headers: ["cache-control", "content-type", "date"],
  body:
    '{ error: "x", "<script>alert(1)</script>\u202e\u0007": ' +
    "string, averylongnamethatneverendsandhasnoplacetobreakatall: null }",
  milliseconds: 12,
};

const result = (changes: Partial<ContractResult>): ContractResult => ({
  id: "assertion.kid.missing",
  variant: "A",
  rule: "assertion.key-id",
  section: "2.2",
  says: "An assertion without a kid is refused.",
  expected: "The request is refused with 400 invalid_client.",
  result: "holds",
  observed: "400 invalid_client.",
  evidence: [exchange],
  ...changes,
});

const person = {
  result: "not tried",
  observed: "It needs a person who logs in.",
  evidence: [],
} as const;

export const results: readonly ContractResult[] = [
  result({}),
  result({ id: "assertion.replay", result: "breaks", observed: "200 with an access token." }),
  result({
    id: "assertion.kid.wrong",
    unknown: "wrong-kid",
    result: "learnt",
    observed: "A wrong kid is accepted.",
    settings: { requireKid: false },
  }),
  result({ id: "code.single-use", variant: "B", ...person, reason: "needs" }),
  result({ id: "refresh.rotation", variant: "B", ...person, reason: "needs" }),
];
