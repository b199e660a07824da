// The table of negative requests, by topic.
import { algorithms, claims, forms, keys, replays, times } from "./assertions.js";
import { bearers, routes, shapes } from "./calls.js";
import { codesA, codesB, refreshes } from "./codes.js";
import { authorizations, launches, logins } from "./pages.js";
import type { Row } from "./row.js";
import { bodiesA, bodiesB, fieldsA, fieldsB, rateLimits } from "./token-requests.js";

export const topics: readonly { readonly topic: string; readonly rows: readonly Row[] }[] = [
  { topic: "the algorithm of a client assertion", rows: algorithms },
  { topic: "the keys and header parameters of a client assertion", rows: keys },
  { topic: "the form of a client assertion", rows: forms },
  { topic: "the claims of a client assertion", rows: claims },
  { topic: "the times of a client assertion", rows: times },
  { topic: "the replay of a client assertion", rows: replays },
  { topic: "the body of a token request of Variant A", rows: bodiesA },
  { topic: "the fields and the plugin of a token request of Variant A", rows: fieldsA },
  { topic: "the rate limit", rows: rateLimits },
  { topic: "the codes of Variant A", rows: codesA },
  { topic: "the host application", rows: launches },
  { topic: "the body of a token request of Variant B", rows: bodiesB },
  { topic: "the fields and the client of a token request of Variant B", rows: fieldsB },
  { topic: "the authorization endpoint", rows: authorizations },
  { topic: "the login and consent pages", rows: logins },
  { topic: "the codes of Variant B", rows: codesB },
  { topic: "refresh tokens", rows: refreshes },
  { topic: "bearer tokens", rows: bearers },
  { topic: "the routes of the API", rows: routes },
  { topic: "paths, envelopes and shapes", rows: shapes },
];

export const table: readonly Row[] = topics.flatMap(({ rows }) => rows);
