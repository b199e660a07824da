// The pages of both variants: the host application's sign-in and launches (section 5.3), and the
// authorization endpoint with its login and consent (section 5.8; RFC 6749 sections 3.1 and 4.1).
import type { RuleId } from "../../../src/emulator/index.js";
import { CALLBACK, FlowEnded } from "../deployment.js";
import type { FormBrowser } from "../form-browser.js";
import {
  type Answer,
  callbackError,
  loginError,
  page,
  redirect,
  refused,
  unstored,
} from "./answer.js";
import { accepting, group, type Request, type Row, refusing } from "./row.js";
import { PASSWORDS, shownBy, type World } from "./world.js";

const HOST = "/host/acme";
type Headers = Record<string, string>;

/** Opens the host application's page, and signs in the operator if one is named. */
async function openHost(world: World, userId?: string, password = ""): Promise<FormBrowser> {
  const browser = await world.open(HOST);
  return userId === undefined ? browser : (await submitted(browser, { userId, password })).follow();
}

function launch(host: FormBrowser, clientId = "planner", headers?: Headers): Promise<Response> {
  return host.ask(`${HOST}/launches`, { clientId }, headers);
}

async function launchedCode(host: FormBrowser, clientId?: string): Promise<string> {
  const response = await launch(host, clientId);
  if (!response.ok) throw new FlowEnded(`no launch: ${response.status}`);
  const { url } = (await response.json()) as { url: string };
  return new URL(url).searchParams.get("opaque_code") ?? "";
}

/** Sends the form that the browser shows. */
export async function submitted(browser: FormBrowser, fields: object): Promise<FormBrowser> {
  if (!browser.html.includes("<form")) throw new FlowEnded(`no form: ${browser.response.status}`);
  return browser.submit({ ...fields });
}

/** The host application's page of a signed-in operator. */
export const signedIn = (world: World): Promise<FormBrowser> => openHost(world, "bob");

const signIn =
  (fields: object): Request =>
  async (world) =>
    shownBy(await submitted(await world.open(HOST), { password: "", ...fields }));
const launching =
  (clientId: string, headers?: Headers): Request =>
  async (world) =>
    launch(await signedIn(world), clientId, headers);
/** Launches. `send` then posts the plugin's message, by default for this launch and host. */
const authorizing =
  (send: (ask: Authorize, host: FormBrowser, world: World) => Promise<Response>): Request =>
  async (world) => {
    const host = await signedIn(world);
    const launched = await launchedCode(host);
    const ask: Authorize = (changes, from = host) => {
      const challenge = world.pkce().codeChallenge;
      const fields = { clientId: "planner", opaque_code: launched, challenge, ...changes };
      return from.ask(`${HOST}/authorizations`, fields);
    };
    return send(ask, host, world);
  };
type Authorize = (changes?: object, from?: FormBrowser) => Promise<Response>;
const aged = (seconds: number) =>
  authorizing((ask, _, world) => {
    world.wait(seconds);
    return ask();
  });
const challenged = (challenge?: string) => authorizing((ask) => ask({ challenge }));
const breaks = (rule: RuleId, more: object = {}) => refusing(refused(rule), rule, more);
const signInFailed = page(`${HOST}/sign-in`, 403);
const remains = { remains: true } as const;
const ada = { userId: "ada", password: PASSWORDS.ada };

export const launches: readonly Row[] = [
  ...group(accepting(redirect(303, HOST, "emulator-host")), {
    "an operator with the right password": signIn(ada),
  }),
  ...group(refusing(signInFailed, "launch.signed-in"), {
    "an operator with a wrong password at the host": signIn({ userId: "ada", password: "x" }),
  }),
  ...group(refusing(signInFailed, "launch.signed-in", remains), {
    "an operator of another tenant at the host": signIn({ userId: "grace" }),
  }),
  ...group(refusing(redirect(303, HOST), "launch.form"), {
    "a sign-in sent by another site [9700 4.7]": signIn({ userId: "bob", form_token: "x" }),
  }),
  ...group(accepting(unstored({ url: "…", origin: "https://plugin.example" }, 201)), {
    "a launch by a signed-in operator": launching("planner"),
  }),
  ...group(breaks("launch.signed-in", remains), {
    "a launch without a sign-in": async (world) => launch(await openHost(world)),
  }),
  ...group(breaks("launch.form"), {
    "a launch asked for by another site [9700 4.7]": launching("planner", { "x-form-token": "x" }),
  }),
  ...group(breaks("launch.form", remains), {
    "a launch as a form [9700 4.7]": launching("planner", { "content-type": "text/plain" }),
  }),
  ...group(breaks("launch.plugin"), {
    "a launch of a disabled plugin": launching("off-page"),
    "a launch of an unknown plugin": launching("unknown"),
    "a plugin that was disabled after its launch": authorizing((ask, _, { emulator }) => {
      emulator.updatePlugin({ tenantId: "acme", clientId: "planner", enabled: false });
      return ask();
    }),
  }),
  ...group(accepting(unstored({ code: "…", state: "…", tenantId: "acme" })), {
    "the authorisation of a launch 600 s old, the last instant of its life": aged(600),
  }),
  ...group(breaks("launch.lifetime"), {
    "the authorisation of a launch 600.001 s old": aged(600.001),
  }),
  ...group(breaks("launch.known"), {
    "the opaque_code of another plugin's launch": authorizing(async (ask, host) =>
      ask({ opaque_code: await launchedCode(host, "viewer") }),
    ),
    "the opaque_code of another operator's launch": authorizing(async (ask, _, world) =>
      ask({}, await openHost(world, ada.userId, ada.password)),
    ),
  }),
  ...group(breaks("launch.unused"), {
    "the same opaque_code twice": authorizing(async (ask) => {
      await ask();
      return ask();
    }),
  }),
  ...group(breaks("launch.challenge"), {
    "a launch without a challenge": challenged(),
    "a challenge with padding [7636 4.2]": challenged(`${"c".repeat(43)}=`),
  }),
];

const authorize =
  (changes: object, more = ""): Request =>
  (world) =>
    world.send(world.authorizationPath({ ...changes }) + more);
const withUri = (redirect_uri: string | undefined) => authorize({ redirect_uri });
/** An authorization request of a client that has another redirect URI. */
const registered =
  (uri: string, redirect_uri: string): Request =>
  (world) => {
    world.emulator.updateApiClient({ clientId: "portal", redirectUris: [uri] });
    return world.send(world.authorizationPath({ redirect_uri }));
  };
/** An authorization request whose query has this many characters. */
const long =
  (length: number): Request =>
  (world) => {
    const rest = (world.authorizationPath({ state: "" }).split("?")[1] ?? "").length;
    return world.send(world.authorizationPath({ state: "s".repeat(length - rest) }));
  };
const loginPage = page("/v1/auth/login", 200, "emulator-login");
/** Only a page shows the error, because the redirect URI is not to be trusted. */
const onPage = (rule: RuleId, more: object = {}) => refusing(loginError(rule), rule, more);
const atCallback = (rule: RuleId) => refusing(callbackError(rule), rule);
const loopback = "http://127.0.0.1/callback";
const otherPort = "http://127.0.0.1:51004";
const [cb, otherCb] = ["http://localhost:3000/cb", "http://localhost:3001/cb"] as const;

export const authorizations: readonly Row[] = [
  ...group(accepting(loginPage), {
    "an authorization request": authorize({}),
    "an authorization request of 4096 characters": long(4096),
    "another port of a loopback redirect_uri [8252 7.3]": withUri(`${otherPort}/callback`),
    "no port although one is registered": registered(`${otherPort}/callback`, loopback),
    "another port of a redirect_uri without a path": registered("http://127.0.0.1", otherPort),
  }),
  ...group(onPage("authorization.length"), {
    "an authorization request of 4097 characters [9110 15.5.15]": long(4097),
  }),
  ...group(onPage("authorization.duplicate-parameter"), {
    "client_id twice in an authorization request [6749 3.1]": authorize({}, "&client_id=portal"),
    "redirect_uri twice [6749 3.1]": authorize({}, "&redirect_uri=https%3A%2F%2Fevil.example"),
  }),
  ...group(onPage("authorization.client"), {
    "an absent client_id in an authorization request": authorize({ client_id: undefined }),
  }),
  ...group(onPage("authorization.redirect-uri"), {
    "a redirect_uri with an added query": withUri(`${CALLBACK}?x=1`),
    "an absent redirect_uri in an authorization request": withUri(undefined),
    "another loopback address in redirect_uri": withUri("http://[::1]/callback"),
    "https in a loopback redirect_uri": withUri("https://127.0.0.1/callback"),
    "a loopback port above 65535": withUri("http://127.0.0.1:65536/callback"),
    "a loopback redirect_uri with a longer host": withUri("http://127.0.0.1.evil.example/callback"),
    "another port of a redirect_uri at localhost [8252 8.3]": registered(cb, otherCb),
    "another path of a loopback redirect_uri [8252 7.3]": withUri(`${otherPort}/other`),
  }),
  ...group(atCallback("authorization.response-type"), {
    "an absent response_type [6749 4.1.1]": authorize({ response_type: undefined }),
  }),
  ...group(atCallback("authorization.challenge-method"), {
    "an absent code_challenge_method [7636 4.3]": authorize({ code_challenge_method: undefined }),
  }),
  ...group(atCallback("authorization.challenge"), {
    "a code_challenge of 42 characters": authorize({ code_challenge: "c".repeat(42) }),
  }),
  ...group(atCallback("authorization.scope"), {
    "a scope that the client does not have [6749 3.3]": authorize({ scope: "schedules:execute" }),
  }),
];

export const atLogin = (world: World): Promise<FormBrowser> =>
  world.open(world.authorizationPath());
const bobsLogin = { userId: "bob", password: "", decision: "login" };
export async function atConsent(world: World): Promise<FormBrowser> {
  return (await submitted(await atLogin(world), bobsLogin)).follow();
}
const logIn =
  (fields: object): Request =>
  async (world) =>
    shownBy(await submitted(await atLogin(world), { ...bobsLogin, ...fields }));
const decide =
  (fields: object, seconds = 0): Request =>
  async (world) => {
    const browser = await atConsent(world);
    world.wait(seconds);
    return shownBy(await submitted(browser, fields));
  };
const allow = { decision: "allow" };
const failedLogin: Answer = page("/v1/auth/login", 403);
const consentPage = redirect(303, "/v1/auth/consent?request=…", "emulator-login");

export const logins: readonly Row[] = [
  ...group(accepting(consentPage), { "a login with the right password": logIn(ada) }),
  ...group(refusing(failedLogin, "login.credentials"), {
    "a login with a wrong password": logIn({ userId: "ada", password: "x" }),
  }),
  ...group(refusing(failedLogin, "login.credentials", remains), {
    "a login of an operator of another tenant": logIn({ userId: "grace" }),
  }),
  ...group(onPage("login.form"), {
    "a login sent by another site [9700 4.7]": logIn({ form_token: "x" }),
    "a login without the cookie of the browser [9700 4.7]": async (world) => {
      const browser = await atLogin(world);
      browser.cookies.clear();
      return shownBy(await submitted(browser, bobsLogin));
    },
    "a consent sent by another site [9700 4.7]": decide({ ...allow, form_token: "x" }),
  }),
  ...group(accepting(redirect(303, `${CALLBACK}?code=…&state=…`)), {
    "the consent to a login 599 s old": decide(allow, 599),
  }),
  ...group(refusing(callbackError("login.consent", 303), "login.consent"), {
    "a person who denies": decide({ decision: "deny" }),
  }),
  ...group(onPage("login.pending"), {
    "the consent to a login 600 s old": decide(allow, 600),
    "the consent to a login that was decided before": async (world) => {
      const browser = await atConsent(world);
      const { html } = browser;
      await submitted(browser, allow);
      browser.html = html;
      return shownBy(await submitted(browser, allow));
    },
  }),
  ...group(onPage("login.pending", remains), {
    "an unknown login": (world) => world.send("/v1/auth/login?request=x"),
  }),
];
