/** Variant B's authorization endpoint (section 5.8), which is not shown: what it refuses, and a person's refusal. */
import type { RuleId } from "../../emulator/rules.js";
import { breaks, type CaseDefinition, defineCases, holds, learnt, type Verdict } from "../case.js";
import { NotTried } from "../errors.js";
import type { Answer } from "../exchange.js";
import type { Fields, Kit } from "../kit.js";
import { authorizationUrl, callbackOf, randomText, sharedSession } from "../person.js";

/** What an authorization endpoint did with a request. */
interface Shown {
  /** It sent the browser to the redirect URI of the request, or to the registered one. */
  readonly isCallback: boolean;
  /** An error page (4xx), or a redirect with an error. */
  readonly isRefused: boolean;
  /** A 5xx is no refusal. */
  readonly isFault: boolean;
  /** What the answers to two right requests have in common: the status, and where a redirect leads. */
  readonly likeness: string;
  /** In few words. */
  readonly observed: string;
}

function shownBy(kit: Kit, { status, headers }: Answer, redirectUri: string): Shown {
  const registered = kit.need("apiClient");
  const location = headers.get("location") ?? "";
  if (status < 300 || status > 399 || !URL.canParse(location, registered.authorizationEndpoint)) {
    const observed = `${status} and a page`;
    const isRefused = status >= 400 && status < 500;
    return { isCallback: false, isRefused, isFault: status >= 500, likeness: observed, observed };
  }
  const { href, origin, pathname, searchParams, hash } = new URL(location, registered.authorizationEndpoint);
  const isCallback = [redirectUri, registered.redirectUri].some(
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

/** Requests that break one rule, by what they have other than a right one. */
const broken = {
  "a query of 12 000 characters": { state: "s".repeat(12_000) },
  "a made-up client_id": { client_id: `bivariant-${randomText()}` },
  "another response_type": { response_type: "token" },
  "code_challenge_method=plain": { code_challenge_method: "plain" },
  "no code_challenge_method": { code_challenge_method: undefined },
  "no code_challenge": { code_challenge: undefined, code_challenge_method: undefined },
  "a scope of another form": { scope: "bivariant:contract" },
} satisfies Record<string, Fields>;

/** Opens the page as a browser does. Nobody logs in. */
async function open(kit: Kit, note: string, changes: Fields = {}, more = ""): Promise<Shown> {
  const { redirectUri } = kit.need("apiClient");
  const url = (await authorizationUrl(kit, randomText(), changes)).href + more;
  const headers = { accept: "text/html" };
  const answer = await kit.send(async () => ({ note, method: "GET", url, headers }));
  return shownBy(kit, answer, changes.redirect_uri ?? redirectUri);
}

/** A right request, which must show a login page if a refusal is to prove anything. */
async function control(kit: Kit): Promise<Shown> {
  const shown = await kit.share("authorization", () => open(kit, "a right authorization request"));
  if (!shown.isRefused) return shown;
  throw new NotTried(`The right authorization request is refused: ${shown.observed}.`);
}

/** Opens the page with a request that breaks a rule. What leads elsewhere than a right request is refused too. */
async function openWith(kit: Kit, name: string, changes?: Fields, more?: string): Promise<Shown> {
  const right = await control(kit);
  return kit.share(`authorization with ${name}`, async () => {
    const shown = await open(kit, `an authorization request with ${name}`, changes, more);
    const isElsewhere = shown.likeness !== right.likeness && !shown.isCallback && !shown.isFault;
    return { ...shown, isRefused: shown.isRefused || isElsewhere };
  });
}

/** By RFC 6749 section 4.1.2.1: an error page, or the redirect URI with an error. */
function refused({ isRefused, observed }: Shown): Verdict {
  return (isRefused ? holds : breaks)(`${observed}.`);
}

/** With a wrong client or redirect URI there "MUST NOT" be a redirect to it (RFC 6749 section 4.1.2.1). */
function notRedirected(shown: Shown): Verdict {
  return shown.isCallback ? breaks(`${shown.observed}.`) : refused(shown);
}

interface Row {
  readonly rule: RuleId;
  readonly section: string;
  readonly name: keyof typeof broken;
}

function row({ rule, section, name }: Row): Parameters<typeof defineCases>[1][string] {
  const mayRedirect = rule !== "authorization.client";
  return {
    rule,
    section,
    says: `An authorization request with ${name} is refused. Nobody logs in.`,
    expected: `An error page${mayRedirect ? ", or the redirect URI with an error" : " and no redirect"}.`,
    needs: ["apiClient"],
    costs: { requests: 2 },
    run: async (kit) => (mayRedirect ? refused : notRedirected)(await openWith(kit, name, broken[name])),
  };
}

export const loginCases: readonly CaseDefinition[] = defineCases("B", {
  "authorization.length": row({
    rule: "authorization.length",
    section: "not shown (RFC 9110 section 15.5.15)",
    name: "a query of 12 000 characters",
  }),
  "authorization.duplicate-parameter": {
    rule: "authorization.duplicate-parameter",
    section: "not shown (RFC 6749 section 3.1)",
    says: "An authorization request with two values of state is refused. Nobody logs in.",
    expected: "An error page, or the redirect URI with an error.",
    needs: ["apiClient"],
    costs: { requests: 2 },
    async run(kit) {
      return refused(await openWith(kit, "two values of state", {}, "&state=second"));
    },
  },
  "authorization.client": row({
    rule: "authorization.client",
    section: "2.5, 5.8 (RFC 6749 section 4.1.2.1)",
    name: "a made-up client_id",
  }),
  "authorization.redirect-uri": {
    rule: "authorization.redirect-uri",
    section: "5.8 (RFC 9700 section 2.1)",
    says: "An authorization request whose redirect_uri is the registered one with a longer path is refused.",
    expected: "An error page and no redirect.",
    needs: ["apiClient"],
    costs: { requests: 2 },
    async run(kit) {
      const redirect_uri = `${kit.need("apiClient").redirectUri}/bivariant-contract`;
      return notRedirected(await openWith(kit, "another redirect_uri", { redirect_uri }));
    },
  },
  "authorization.response-type": row({
    rule: "authorization.response-type",
    section: "5.8 (RFC 6749 section 4.1.1)",
    name: "another response_type",
  }),
  "authorization.challenge-method.plain": row({
    rule: "authorization.challenge-method",
    section: "5.8 (RFC 7636 section 4.3)",
    name: "code_challenge_method=plain",
  }),
  "authorization.challenge-method.absent": row({
    rule: "authorization.challenge-method",
    section: "5.8 (RFC 7636 section 4.3)",
    name: "no code_challenge_method",
  }),
  "authorization.challenge": row({
    rule: "authorization.challenge",
    section: "5.8 (RFC 7636 section 4.2)",
    name: "no code_challenge",
  }),
  "authorization.scope": row({
    rule: "authorization.scope",
    section: "not shown (RFC 6749 section 3.3)",
    name: "a scope of another form",
  }),
  "authorization-endpoint.parameters": {
    unknown: "authorization-endpoint",
    section: "4.2",
    says: "Authorization requests show whether the parameters of RFC 6749 and RFC 7636 suffice, and which are needed.",
    expected: "Any answer: the description does not show the endpoint.",
    needs: ["apiClient"],
    costs: { requests: 4 },
    async run(kit) {
      const { observed } = await control(kit);
      const names = ["another response_type", "no code_challenge", "no code_challenge_method"] as const;
      const needed: string[] = [];
      for (const name of names)
        if ((await openWith(kit, name, broken[name])).isRefused) needed.push(name.replace(/^\w+ /, ""));
      const insists = needed.length === 0 ? "none of the others" : needed.join(", ");
      return learnt(`The standard parameters suffice (${observed}). It insists on ${insists}.`);
    },
  },
  "authorization-endpoint.issuer": {
    unknown: "authorization-endpoint",
    section: "4.2",
    says: "The callback of a login shows whether it carries iss (RFC 9207).",
    expected: "With iss or without: the description does not show the response.",
    needs: ["apiClient", "login"],
    costs: { requests: 3, logins: 2 },
    async run(kit) {
      const issuerInCallback = (await sharedSession(kit)).callback.has("iss");
      return learnt(`The callback carries ${issuerInCallback ? "iss" : "no iss"}.`, { issuerInCallback });
    },
  },
  "login.consent": {
    rule: "login.consent",
    section: "5.8 (RFC 6749 section 4.1.2.1)",
    says: "A login that the person refuses ends at the redirect URI with an error and without a code.",
    expected: "A callback with error and without code.",
    needs: ["apiClient", "denyLogin"],
    costs: { logins: 1 },
    async run(kit) {
      const callback = await callbackOf(kit, "denyLogin", await authorizationUrl(kit, randomText()));
      const error = callback.get("error") ?? "";
      const shown = /^[\w.:-]{1,60}$/.test(error) ? error : "no error";
      if (callback.has("code")) return breaks("A callback with a code.");
      return (error === "" ? breaks : holds)(`A callback with ${shown}.`);
    },
  },
});
