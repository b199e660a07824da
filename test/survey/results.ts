// A result of each kind, with text of hostile servers and rows in every place that can have some.
import type { Evidence } from "../../src/index.js";
import type { SurveyResult } from "../../src/survey/index.js";

export const hostile = `<script>alert(1)</script>"'&\u202e\u0000</style>`;

const at = Date.UTC(2026, 0, 2, 3, 4, 5);
const evidence: Evidence = {
  variant: "A",
  question: "token endpoint",
  status: 400,
  says: "yes",
  url: `https://a.example/${hostile}`,
  reason: `an answer ${hostile}`,
};
const failure = { evidence: hostile, remedy: hostile, code: "token_refused" };
const works: SurveyResult = {
  tenantId: "acme",
  baseUrl: "https://a.example",
  variant: "A",
  works: true,
  called: true,
  served: { A: "yes", B: "no" },
  evidence: [evidence],
  at,
  durationMs: 12,
  line: 2,
  findings: [{ check: "detection", verdict: "pass", evidence: "Variant A is served." }],
  aClientId: hostile,
  other: { region: "=1+1", [hostile]: hostile },
};

const north = { region: "north" };

export const results: readonly [SurveyResult, SurveyResult, SurveyResult, SurveyResult] = [
  works,
  { ...works, tenantId: "umbrella", called: false, variant: "B", line: 3, other: north },
  {
    ...works,
    tenantId: "initech",
    works: false,
    code: "token_refused",
    line: 4,
    variant: "B",
    problem: `The token was refused ${hostile}`,
    remedy: `Ask for it ${hostile}`,
    findings: [{ check: "token", verdict: "fail", ...failure }],
    changes: ["broke", "moved"],
  },
  {
    tenantId: null,
    baseUrl: "https://down.example",
    variant: null,
    works: false,
    called: false,
    code: "network_failed",
    problem: "No answer.",
    remedy: "Check the network.",
    line: 5,
    served: { A: "unknown", B: "unknown" },
    evidence: [],
    findings: [],
    at,
    durationMs: 7,
    other: { constructor: "-2", code: "of the row" },
    changes: ["new"],
  },
];
