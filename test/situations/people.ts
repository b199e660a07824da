// Logins by what the browser brings back, launches by what the page hands over, and the ends of both.
import type { Expected, Row } from "./situation.js";

const refused: Expected = "LoginRequiredError login_refused";
const mismatch: Expected = "LoginRequiredError state_mismatch";
const launchRefused: Expected = "RelaunchRequiredError launch_refused";
const badOption: Expected = "ConfigurationError option_invalid";

/** A login whose callback is changed on its way. Nothing is sent if the callback already says that it failed. */
function login(name: string, callback: (url: string) => unknown, expected: Expected, more: object = {}): Row {
  const { says, issuer } = more as { says?: RegExp; issuer?: string };
  const credential = { callback, ...(issuer !== undefined && { issuer }) };
  const sent = { code: expected === "works" ? 1 : 0 };
  return { name, way: "completeLogin", credential, expected, sent, ...(says !== undefined && { says }) };
}
const query =
  (change: (query: URLSearchParams) => void) =>
  (url: string): string => {
    const changed = new URL(url);
    change(changed.searchParams);
    return changed.href;
  };
const setting = (name: string, value: string) => query((all) => all.set(name, value));
const without = (name: string) => query((all) => all.delete(name));
const adding = (name: string, value: string) => query((all) => all.append(name, value));
const failing = (error: string, more: Record<string, string> = {}) =>
  query((all) => {
    all.delete("code");
    for (const [name, value] of Object.entries({ error, ...more })) all.set(name, value);
  });

const issuer = "https://issuer.example";
const callbacks: readonly Row[] = [
  login("a callback", (url) => url, "works"),
  login("a callback as a URL object", (url) => new URL(url), "works"),
  login("a callback with other parameters", setting("session_state", "x"), "works"),
  login("a callback with iss that nobody checks", setting("iss", issuer), "works"),
  login("a callback with the issuer", setting("iss", issuer), "works", { issuer }),
  login("a callback with another issuer", setting("iss", "https://evil.example"), refused, { issuer }),
  login("a callback without the issuer", (url) => url, refused, { issuer }),
  login("a callback behind another address", (url) => url.replace("portal.", "inside."), "works"),
  login("a callback without state", without("state"), mismatch),
  login("a callback with an empty state", setting("state", ""), mismatch),
  login("a callback with another state", setting("state", "other"), mismatch),
  login("a callback with two states", adding("state", "other"), mismatch),
  login("a callback in the fragment", (url) => url.replace("?", "#"), mismatch),
  login("a callback without a query", (url) => url.replace(/\?.*/, ""), mismatch),
  login("a denied login", failing("access_denied"), "LoginRequiredError login_denied"),
  login("a denied login without state", (url) => url.replace(/\?.*/, "?error=access_denied"), mismatch),
  ...["server_error", "temporarily_unavailable", "invalid_scope", "login_required"].map((error) =>
    login(`the error ${error}`, failing(error), refused, { says: new RegExp(error) }),
  ),
  login("an error with a loud text", failing("server_error", { error_description: "\r\n<script>" }), refused),
  login("an error beside a code", setting("error", "server_error"), refused),
  login("a callback without a code", without("code"), refused),
  login("an empty code", setting("code", ""), refused),
  login("two codes", adding("code", "other"), refused),
  login("a code outside ASCII", setting("code", "côde"), refused),
  login("a code of 5,000 characters", setting("code", "c".repeat(5_000)), refused),
  { ...login("a code of nobody", setting("code", "unknown"), refused), sent: { code: 1 } },
  login("a callback that is no URL", () => "/callback?code=1", badOption),
  login("a callback that is undefined", () => undefined, badOption),
];

const launch = (name: string, given: object, expected: Expected, code = 0): Row => {
  return { name, way: "redeemLaunch", credential: { given }, expected, sent: { code } };
};
const launches: readonly Row[] = [
  launch("a launch", {}, "works", 1),
  launch("a code of nobody", { code: "unknown" }, launchRefused, 1),
  launch("another verifier", { codeVerifier: "w".repeat(43) }, launchRefused, 1),
  launch("a short verifier", { codeVerifier: "v" }, badOption),
  launch("no verifier", { codeVerifier: undefined }, badOption),
  launch("an empty code", { code: "" }, badOption),
  launch("no code", { code: undefined }, badOption),
  launch("a code as a number", { code: 7 }, badOption),
  launch("a code with a line break", { code: "a\nb" }, badOption),
  launch("a code of 5,000 characters", { code: "c".repeat(5_000) }, badOption),
];

const hour = { ageMs: 3_600_000 };
const lost = { status: 500, isUnspent: true };
const unknown: Expected = "LoginRequiredError login_outcome_unknown";
const resending = { resendLostRefresh: true };

/** The host is not there for the first refresh, so nothing is sent. */
let isAway = true;
const fetchLater = (url: string, init?: RequestInit): Promise<Response> => {
  if (!isAway || !String(init?.body).includes('"grant_type":"refresh_token"')) return fetch(url, init);
  isAway = false;
  return Promise.reject(Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNREFUSED" } }));
};
const withoutRefreshToken = { with: { refresh_token: undefined } };
const expired = "LoginRequiredError login_expired";
const away = { expected: "TransportError network_failed", later: "works", sent: { refresh: 1 } } as const;
const ends: readonly Row[] = [
  {
    name: "a launch after an hour",
    way: "redeemLaunch",
    ...hour,
    expected: "RelaunchRequiredError launch_expired",
  },
  { name: "a login after an hour", way: "completeLogin", ...hour, expected: "works", sent: { refresh: 1 } },
  {
    name: "a login without refresh",
    way: "completeLogin",
    ...hour,
    answers: withoutRefreshToken,
    expected: expired,
  },
  {
    name: "a plugin after an hour",
    way: "createAuth, Variant A",
    ...hour,
    expected: "works",
    sent: { token: 2 },
  },
  {
    name: "an account after an hour",
    way: "createAuth, Variant B",
    ...hour,
    expected: "works",
    sent: { token: 2 },
  },
  { name: "a refresh", way: "resumeAuth", expected: "works", later: "works", sent: { refresh: 1 } },
  { name: "a refresh without a network", way: "resumeAuth", options: { fetch: fetchLater }, ...away },
  {
    name: "a lost refresh",
    way: "resumeAuth",
    answers: [lost],
    expected: unknown,
    later: unknown,
    sent: { refresh: 1 },
  },
  {
    ...{ name: "a lost refresh with resendLostRefresh", way: "resumeAuth", credential: resending },
    ...{ answers: [lost], expected: unknown, later: "works", sent: { refresh: 2 } },
  },
];

export const people: readonly Row[] = [...callbacks, ...launches, ...ends];
