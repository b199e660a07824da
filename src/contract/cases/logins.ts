/**
 * Variant B's authorization endpoint (section 5.8), which is not shown: what it refuses, and a
 * person's refusal.
 */
import {
  accepts,
  breaks,
  type CaseDefinition,
  defineCases,
  holds,
  learnt,
  verdict,
} from "../case.js";
import { NotTried } from "../errors.js";
import type { Answer } from "../exchange.js";
import type { Fields, Kit } from "../kit.js";
import {
  authorizationUrl,
  callbackOf,
  otherRedirectUri,
  randomText,
  sharedSession,
} from "../person.js";
import { refusals } from "./judge.js";

/** What an authorization endpoint did with a request. */
interface Shown {
  /** It sent the browser to the redirect URI of the request, or to the registered one. */
  readonly isCallback: boolean;
  /** An error page (4xx), or a redirect with an error. */
  readonly isRefused: boolean;
  /** A 5xx is not a refusal. */
  readonly isFault: boolean;
  /**
   * What the answers to two right requests have in common: the status, and where a redirect leads.
   */
  readonly likeness: string;
  /** In few words. */
  readonly observed: string;
}

function shownBy(kit: Kit, { status, headers }: Answer, redirectUri: string | undefined): Shown {
  const registered = kit.need("apiClient");
  const location = headers.get("location") ?? "";
  if (status < 300 || status > 399 || !URL.canParse(location, registered.authorizationEndpoint)) {
    const observed = `${status} and a page`;
    const isRefused = status >= 400 && status < 500;
    return { isCallback: false, isRefused, isFault: status >= 500, likeness: observed, observed };
  }
  const { href, origin, pathname, searchParams, hash } = new URL(
    location,
    registered.authorizationEndpoint,
  );
  const isCallback = [redirectUri ?? registered.redirectUri, registered.redirectUri].some(
    (uri) => isAt(location, uri) || (URL.canParse(uri) && isAt(href, new URL(uri).href)),
  );
  const error = searchParams.get("error") ?? new URLSearchParams(hash.slice(1)).get("error");
  const named = error !== null && /^[\w.:-]{1,60}$/.test(error) ? ` with ${error}` : "";
  const observed = `${status} to ${isCallback ? "the redirect URI" : "another page"}${named}`;
  // What follows the first segment may name the login in progress.
  const likeness = `${observed} ${origin}/${pathname.split("/")[1]}`;
  return { isCallback, isRefused: error !== null, isFault: false, likeness, observed };
}

/** Whether a URL is the other one, but for what was added to its query or fragment. */
function isAt(url: string, other: string): boolean {
  return url.startsWith(other) && /^([?&#]|$)/.test(url.slice(other.length));
}

/** Opens the page as a browser does, without logging in. */
async function visit(kit: Kit, note: string, changes: Fields = {}, more = "") {
  const url = (await authorizationUrl(kit, randomText(), changes)).href + more;
  const headers = { accept: "text/html" };
  const answer = await kit.send({ note, method: "GET", url, headers });
  return shownBy(kit, answer, changes.redirect_uri);
}

/** A right request, which must show a login page if a refusal is to prove anything. */
async function control(kit: Kit) {
  const shown = await kit.share("authorization", () => visit(kit, "a right authorization request"));
  if (!shown.isRefused) return shown;
  throw new NotTried(
    `The right authorization request of the API client is refused: ${shown.observed}.`,
    "refused",
  );
}

/**
 * An authorization request that is right but for a change. What leads elsewhere than a right one is
 * refused too.
 */
function request(what: string, change: Fields | ((kit: Kit) => Fields), more?: string) {
  const send = async (kit: Kit, note: string, right: Shown) => {
    const shown = await visit(kit, note, typeof change === "function" ? change(kit) : change, more);
    const isElsewhere = shown.likeness !== right.likeness && !shown.isCallback && !shown.isFault;
    return { ...shown, isRefused: shown.isRefused || isElsewhere };
  };
  return { note: `an authorization request ${what}`, send };
}

const needs = ["apiClient"] as const;
const ofTheClient = { needs, costs: { requests: 2 }, control };

const requestRules = refusals(
  "B",
  {
    ...ofTheClient,
    judge: ({ isRefused, isFault, observed }: Shown) =>
      (isRefused ? holds : isFault ? breaks : accepts)(`${observed}.`),
    expected: "An error page, or the redirect URI with an error (RFC 6749 section 4.1.2.1).",
  },
  {
    // More than common servers read, and less than Node's parser does.
    "authorization.length": request("of 12 000 characters", { state: "s".repeat(12_000) }),
    "authorization.duplicate-parameter": request("with two values of state", {}, "&state=second"),
    "authorization.response-type": request("with another response_type", {
      response_type: "token",
    }),
    "authorization.challenge-method.plain": request("with code_challenge_method=plain", {
      code_challenge_method: "plain",
    }),
    "authorization.challenge-method.absent": request("without code_challenge_method", {
      code_challenge_method: undefined,
    }),
    "authorization.challenge": request("without code_challenge", {
      code_challenge: undefined,
      code_challenge_method: undefined,
    }),
    "authorization.scope": request("with a scope of another form", { scope: "bivariant:contract" }),
  },
);

const clientRules = refusals(
  "B",
  {
    ...ofTheClient,
    judge: ({ isRefused, isCallback, observed }: Shown) =>
      verdict(isRefused && !isCallback, `${observed}.`),
    expected:
      'An error page: the server "MUST NOT" redirect to the client (RFC 6749 section 4.1.2.1).',
  },
  {
    "authorization.client": request("with a made-up client_id", { client_id: randomText() }),
    "authorization.redirect-uri": request(
      "with a longer redirect_uri than the registered",
      otherRedirectUri,
    ),
  },
);

const facts = defineCases(
  "B",
  { needs },
  {
    "authorization-endpoint.parameters": {
      says:
        "A right authorization request shows whether the parameters of RFC 6749 and RFC " +
        "7636 suffice.",
      costs: { requests: 1 },
      run: async (kit) =>
        learnt(`The standard parameters suffice: ${(await control(kit)).observed}.`),
    },
    "authorization-endpoint.issuer": {
      says: "The callback of a login shows whether it carries iss (RFC 9207).",
      needs: ["login"],
      costs: { requests: 3, logins: 2 },
      async run(kit) {
        const issuerInCallback = (await sharedSession(kit)).callback.has("iss");
        return learnt(`The callback carries ${issuerInCallback ? "iss" : "no iss"}.`, {
          issuerInCallback,
        });
      },
    },
    "login.consent": {
      says:
        "A login that the person refuses ends at the redirect URI with an error and " +
        "without a code.",
      expected: "A callback with error and without code.",
      needs: ["denyLogin"],
      costs: { logins: 1 },
      async run(kit) {
        const url = await authorizationUrl(kit, randomText());
        const callback = await callbackOf(kit, "denyLogin", url);
        if (callback.has("code")) return accepts("A callback with a code.");
        const isTold = callback.has("error");
        return verdict(isTold, `A callback ${isTold ? "with" : "without"} error.`);
      },
    },
  },
);

export const loginCases: readonly CaseDefinition[] = [...requestRules, ...clientRules, ...facts];
