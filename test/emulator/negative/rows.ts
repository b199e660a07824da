// All rows, by topic.
import type { Row } from "./row.js";
import { apiCalls } from "./rows/api-calls.js";
import { assertionClaims } from "./rows/assertion-claims.js";
import { assertionKeys } from "./rows/assertion-keys.js";
import { assertionTimes } from "./rows/assertion-times.js";
import { codesA } from "./rows/codes-a.js";
import { codesB } from "./rows/codes-b.js";
import { launches } from "./rows/launches.js";
import { loginRows } from "./rows/logins.js";
import { pathsAndEnvelopes } from "./rows/paths-and-envelopes.js";
import { rateLimits } from "./rows/rate-limits.js";
import { refreshes } from "./rows/refreshes.js";
import { tokenRequestsA } from "./rows/token-requests-a.js";
import { tokenRequestsB } from "./rows/token-requests-b.js";

export const topics: Readonly<Record<string, readonly Row[]>> = {
  "the times of an assertion": assertionTimes,
  "the claims of an assertion": assertionClaims,
  "the algorithm, the keys and the form of an assertion": assertionKeys,
  "a token request of Variant A": tokenRequestsA,
  "a code of Variant A": codesA,
  "the host application": launches,
  "the rate limit": rateLimits,
  "a token request of Variant B": tokenRequestsB,
  "a login": loginRows,
  "a code of Variant B": codesB,
  "a refresh": refreshes,
  "a call of the API": apiCalls,
  "paths, envelopes and shapes": pathsAndEnvelopes,
};

export const rows: readonly Row[] = Object.values(topics).flat();
