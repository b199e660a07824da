// Logins by what the browser brings back, launches by what the page hands over, and the ends of
// both.
import type { Answer } from "./honest-server.js";
import type { Expected, Row, Way } from "./situation.js";

const refused: Expected = "LoginRequiredError login_refused";
const denied: Expected = "LoginRequiredError login_denied";
const mismatch: Expected = "LoginRequiredError state_mismatch";
const launchRefused: Expected = "RelaunchRequiredError launch_refused";
const badOption: Expected = "ConfigurationError option_invalid";

type Change = (url: string) => unknown;
/** A login whose callback is changed. Nothing is sent if the callback says that it failed. */
function login(name: string, callback: Change, expected: Expected, more: object = {}): Row {
  const sent = { code: expected === "works" ? 1 : 0 };
  return { name, way: "completeLogin", credential: { callback, ...more }, expected, sent };
}
const query =
  (change: (query: URLSearchParams) => void): Change =>
  (url) => {
    const changed = new URL(url);
    change(changed.searchParams);
    return changed.href;
  };
const setting = (name: string, value: string) => query((all) => all.set(name, value));
const without = (name: string) => query((all) => all.delete(name));
const adding = (name: string, value: string) => query((all) => all.append(name, value));
const failing = (error: string, description = "") =>
  query((all) => {
    all.delete("code");
    all.set("error", error);
    all.set("error_description", description);
  });

const issuer = "https://issuer.example";
const inFragment: Change = (url) => url.replace("?", "#");
const deniedWithoutState: Change = (url) => url.replace(/\?.*/, "?error=access_denied");
const moved: Change = (url) => url.replace("portal.", "inside.");
const callbacks: readonly Row[] = [
  login("a callback as a URL object", (url) => new URL(url), "works"),
  login("a callback with other parameters", setting("session_state", "x"), "works"),
  login("a callback with an iss that is not checked", setting("iss", issuer), "works"),
  login("a callback with the issuer", setting("iss", issuer), "works", { issuer }),
  login("a callback with another issuer", setting("iss", "https://evil"), refused, { issuer }),
  login("a callback without the issuer", (url) => url, refused, { issuer }),
  login("a callback behind another address", moved, "works"),
  login("a callback without state", without("state"), mismatch),
  login("a callback with an empty state", setting("state", ""), mismatch),
  login("a callback with another state", setting("state", "other"), mismatch),
  login("a callback with two states", adding("state", "other"), mismatch),
  login("a callback in the fragment", inFragment, mismatch),
  login("a denied login", failing("access_denied"), denied),
  login("a denied login without state", deniedWithoutState, mismatch),
  { ...login("another error", failing("invalid_scope"), refused), says: /invalid_scope/ },
  login("an error with a loud text", failing("server_error", "\r\n<script>"), refused),
  login("an error beside a code", setting("error", "server_error"), refused),
  login("a callback without a code", without("code"), refused),
  login("an empty code", setting("code", ""), refused),
  login("two codes", adding("code", "other"), refused),
  login("a code outside ASCII", setting("code", "côde"), refused),
  login("a code of 5,000 characters", setting("code", "c".repeat(5_000)), refused),
  { ...login("an unknown code", setting("code", "unknown"), refused), sent: { code: 1 } },
  login("a callback that is not a URL", () => "/callback?code=1", badOption),
  login("a callback that is undefined", () => undefined, badOption),
];

const launch = (name: string, given: object, expected: Expected, code = 0): Row => {
  return { name, way: "redeemLaunch", credential: { given }, expected, sent: { code } };
};
const verifier = "v".repeat(43);
const launches: readonly Row[] = [
  launch("an unknown code", { code: "unknown" }, launchRefused, 1),
  launch("another verifier", { codeVerifier: "w".repeat(43) }, launchRefused, 1),
  launch("a verifier of 42 characters", { codeVerifier: "v".repeat(42) }, badOption),
  launch("a verifier of 129 characters", { codeVerifier: "v".repeat(129) }, badOption),
  launch("a verifier with a plus", { codeVerifier: `${verifier}+` }, badOption),
  launch("no verifier", { codeVerifier: undefined }, badOption),
  launch("an empty code", { code: "" }, badOption),
  launch("a code as a number", { code: 7 }, badOption),
  launch("a code with a line break", { code: "a\nb" }, badOption),
  launch("a code of 5,000 characters", { code: "c".repeat(5_000) }, badOption),
];

const unknown: Expected = "LoginRequiredError login_outcome_unknown";
const network: Expected = "TransportError network_failed";
const launchExpired: Expected = "RelaunchRequiredError launch_expired";
const loginExpired: Expected = "LoginRequiredError login_expired";

/** The host is away for the first refresh, so nothing is sent. */
let isAway = true;
const fetchLater = (url: string, init?: RequestInit): Promise<Response> => {
  const isRefresh = String(init?.body).includes('"grant_type":"refresh_token"');
  if (!isAway || !isRefresh) return fetch(url, init);
  isAway = false;
  const cause = { code: "ECONNREFUSED" };
  return Promise.reject(Object.assign(new TypeError("fetch failed"), { cause }));
};

type Sent = NonNullable<Row["sent"]>;
const anHourLater = (way: Way, expected: Expected, sent: Sent, answers?: Answer): Row => {
  const name = answers === undefined ? "an hour later" : "an hour later without a refresh token";
  return { name, way, expected, sent, ageMs: 3_600_000, ...(answers !== undefined && { answers }) };
};
const refresh = (name: string, expected: Expected, more: Partial<Row>): Row => {
  return { name, way: "resumeAuth", expected, ...more };
};
const away = { options: { fetch: fetchLater }, later: "works", sent: { refresh: 1 } } as const;
const lost = { answers: [{ status: 500, isUnspent: true }], sent: { refresh: 1 } };
const resending = { ...lost, credential: { resendLostRefresh: true }, sent: { refresh: 2 } };
const ends: readonly Row[] = [
  anHourLater("redeemLaunch", launchExpired, { code: 1, call: 0 }),
  anHourLater("completeLogin", "works", { code: 1, refresh: 1 }),
  anHourLater("completeLogin", loginExpired, { code: 1 }, { with: { refresh_token: null } }),
  anHourLater("createAuth, Variant A", "works", { token: 2 }),
  anHourLater("createAuth, Variant B", "works", { token: 2 }),
  refresh("a refresh", "works", { later: "works", sent: { refresh: 1 } }),
  refresh("no network", network, away),
  refresh("a lost answer", unknown, { ...lost, later: unknown }),
  refresh("a lost answer with resendLostRefresh", unknown, { ...resending, later: "works" }),
];

export const people: readonly Row[] = [...callbacks, ...launches, ...ends];
