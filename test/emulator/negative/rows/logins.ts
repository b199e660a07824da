// The authorization endpoint of Variant B and its pages (section 5.8; RFC 6749 sections 3.1 and 4.1).
import type { RuleId } from "../../../../src/emulator/index.js";
import type { FormBrowser } from "../../form-browser.js";
import { type Answer, loginError, page, redirect, SECRET, toldCallback } from "../answer.js";
import type { Row } from "../row.js";
import { CALLBACK, shownBy, type World } from "../world.js";

const COOKIE = "emulator-login";
const loginPage = page("Log in", { cookie: COOKIE });
const failedLogin = page("Log in", {
  status: 403,
  complaint: "User id and password do not belong together.",
});
const toConsent = redirect(303, `/v1/auth/consent?request=${SECRET}`, COOKIE);
const allowed = redirect(303, `${CALLBACK}?code=${SECRET}&state=${SECRET}`);

function asked(name: string, rules: readonly RuleId[], changes: object, answer: Answer): Row {
  return { name, rules, request: (world) => world.send(world.authorizationUrl({ ...changes })), answer };
}
/** The client must not be told. */
function untold(name: string, rule: RuleId, changes: object, more: Partial<Row> = {}): Row {
  return { ...asked(name, [rule], changes, loginError(rule)), ...more };
}
/** The client is told by its callback. */
function told(name: string, rule: RuleId, changes: object): Row {
  return asked(name, [rule], changes, toldCallback(rule));
}

/** A request whose query has exactly so many characters, by a long state. */
function long(length: number, more: Pick<Row, "rules" | "answer">): Row {
  return {
    name: `9110 15.5.15: a query of ${length} characters`,
    request(world) {
      const rest = new URL(world.authorizationUrl({ state: "" }), "http://h").search.length - 1;
      return world.send(world.authorizationUrl({ state: "s".repeat(length - rest) }));
    },
    ...more,
  };
}

const URI = "authorization.redirect-uri";
const requests: readonly Row[] = [
  asked("an authorization request shows the login page", [], {}, loginPage),
  {
    ...untold("6749 3.1: client_id twice", "authorization.duplicate-parameter", {}),
    request: (world) => world.send(`${world.authorizationUrl()}&client_id=portal`),
  },
  long(4096, { rules: [], answer: loginPage }),
  long(4097, { rules: ["authorization.length"], answer: loginError("authorization.length") }),
  untold("client_id that nobody registered", "authorization.client", { client_id: "nobody" }),
  untold("client_id that is absent", "authorization.client", { client_id: undefined }),
  untold("client_id of a service account", "authorization.client", { client_id: "worker" }),
  untold("F2 ensure-registered-redirect-uri: another host", URI, {
    redirect_uri: "https://evil.example/callback",
  }),
  untold("OC redirect-uri-query-added", URI, { redirect_uri: `${CALLBACK}?x=1` }),
  untold("OC redirect-uri-regfrag: a fragment added", URI, { redirect_uri: `${CALLBACK}#x` }),
  untold("9700 4.1: a path below the registered one", URI, { redirect_uri: `${CALLBACK}/more` }),
  untold("9700 4.1: a slash at the end", URI, { redirect_uri: `${CALLBACK}/` }),
  untold("9700 4.1: the host in upper case", URI, { redirect_uri: CALLBACK.toUpperCase() }),
  untold("redirect_uri that is absent", URI, { redirect_uri: undefined }),
  asked(
    "8252 7.3: another port of the loopback",
    [],
    { redirect_uri: "http://127.0.0.1:51004/callback" },
    loginPage,
  ),
  untold("8252 7.3: another path of the loopback", URI, { redirect_uri: "http://127.0.0.1:51004/other" }),
  untold("8252 8.3: localhost for 127.0.0.1", URI, { redirect_uri: "http://localhost:51004/callback" }),
  untold("a redirect URI that is none", URI, { redirect_uri: "callback" }),
  told("6749 4.1.1: response_type token", "authorization.response-type", { response_type: "token" }),
  told("6749 4.1.1: response_type that is absent", "authorization.response-type", {
    response_type: undefined,
  }),
  told("F2 par-plain-pkce-rejected: method plain", "authorization.challenge-method", {
    code_challenge_method: "plain",
  }),
  told("7636 4.3: no method, which means plain", "authorization.challenge-method", {
    code_challenge_method: undefined,
  }),
  told("F2 par-ensure-pkce-required: no challenge", "authorization.challenge", { code_challenge: undefined }),
  told("7636 4.2: a challenge of 42 characters", "authorization.challenge", {
    code_challenge: "c".repeat(42),
  }),
  told("7636 4.2: a challenge of 44 characters", "authorization.challenge", {
    code_challenge: "c".repeat(44),
  }),
  told("6749 3.3: a scope that the client does not have", "authorization.scope", {
    scope: "schedules:execute",
  }),
  told("6749 3.3: a scope in another form", "authorization.scope", { scope: "openid" }),
  asked("a scope that the client has", [], { scope: "devices:read" }, loginPage),
];

/** As far as the login page. */
const atLogin = async (world: World, changes: object = {}): Promise<FormBrowser> =>
  world.browser().open(world.authorizationUrl({ ...changes }));
async function atConsent(world: World): Promise<FormBrowser> {
  const browser = await atLogin(world);
  return (await browser.submit({ userId: "bob", password: "", decision: "login" })).follow();
}

function logIn(
  name: string,
  rules: readonly RuleId[],
  fields: object,
  answer: Answer,
  more: Partial<Row> = {},
): Row {
  return {
    name,
    rules,
    request: async (world) =>
      shownBy(await (await atLogin(world)).submit({ password: "", decision: "login", ...fields })),
    answer,
    ...more,
  };
}
function decided(name: string, rules: readonly RuleId[], fields: object, answer: Answer): Row {
  return {
    name,
    rules,
    request: async (world) => shownBy(await (await atConsent(world)).submit({ ...fields })),
    answer,
  };
}

const logins: readonly Row[] = [
  logIn("an operator logs in", [], { userId: "ada", password: "difference" }, toConsent),
  logIn(
    "an operator with another password",
    ["login.credentials"],
    { userId: "ada", password: "x" },
    failedLogin,
  ),
  logIn(
    "an operator of a tenant that is not the client's",
    ["login.credentials"],
    { userId: "grace" },
    failedLogin,
  ),
  logIn("somebody whom nobody registered", ["login.credentials"], { userId: "eve" }, failedLogin, {
    remains: true,
  }),
  logIn(
    "9700 4.7: a login that another site sends",
    ["login.form"],
    { userId: "bob", form_token: "x" },
    loginError("login.form"),
  ),
  {
    ...logIn("9700 4.7: a login without the browser's cookie", ["login.form"], {}, loginError("login.form")),
    async request(world) {
      const browser = await atLogin(world);
      browser.cookies.clear();
      return shownBy(await browser.submit({ userId: "bob", password: "", decision: "login" }));
    },
  },
];

const decisions: readonly Row[] = [
  decided("a person who allows", [], { decision: "allow" }, allowed),
  decided(
    "F2 user-rejects-authentication: a person who denies",
    ["login.consent"],
    { decision: "deny" },
    toldCallback("login.consent", 303),
  ),
  decided(
    "9700 4.7: a consent that another site sends",
    ["login.form"],
    { decision: "allow", form_token: "x" },
    loginError("login.form"),
  ),
  {
    name: "a login that was decided before",
    rules: ["login.pending"],
    async request(world) {
      const browser = await atConsent(world);
      const { html } = browser;
      await browser.submit({ decision: "allow" });
      browser.html = html;
      return shownBy(await browser.submit({ decision: "allow" }));
    },
    answer: loginError("login.pending"),
  },
  {
    name: "a login of ten minutes but a second",
    rules: [],
    async request(world) {
      const browser = await atConsent(world);
      world.wait(599);
      return shownBy(await browser.submit({ decision: "allow" }));
    },
    answer: allowed,
  },
  {
    name: "a login of ten minutes",
    rules: ["login.pending"],
    async request(world) {
      const browser = await atConsent(world);
      world.wait(600);
      return shownBy(await browser.submit({ decision: "allow" }));
    },
    answer: loginError("login.pending"),
  },
  {
    name: "a login that nobody began",
    rules: ["login.pending"],
    remains: true,
    request: (world) => world.send("/v1/auth/login?request=x"),
    answer: loginError("login.pending"),
  },
];

export const loginRows: readonly Row[] = [...requests, ...logins, ...decisions];
