// The host application of Variant A: its sign-in, and what its page asks of its server (section 5.3).
import type { RuleId } from "../../../../src/emulator/index.js";
import type { FormBrowser } from "../../form-browser.js";
import { newPkce } from "../../pkce.js";
import { type Answer, page, redirect, refusedByHost, SECRET } from "../answer.js";
import type { Row } from "../row.js";
import { shownBy, type World } from "../world.js";

const HOST = "/host/acme";
const JSON_HEADERS = { "cache-control": "no-store", "content-type": "application/json" };
const launched: Answer = {
  status: 201,
  headers: JSON_HEADERS,
  body: { url: SECRET, origin: "https://plugin.example" },
};
const authorized: Answer = {
  status: 200,
  headers: JSON_HEADERS,
  body: { code: SECRET, state: SECRET, tenantId: "acme" },
};

/** The host's page as its script has it. */
class HostPage {
  readonly browser: FormBrowser;
  readonly #formToken: string;

  constructor(browser: FormBrowser) {
    this.browser = browser;
    this.#formToken = /(?:data-form-token="|name="form_token" value=")([^"]+)/.exec(browser.html)?.[1] ?? "";
  }

  static async of(world: World, userId?: string, password = ""): Promise<HostPage> {
    const browser = await world.browser().open(HOST);
    if (userId !== undefined) await (await browser.submit({ userId, password })).follow();
    return new HostPage(browser);
  }

  ask(path: string, fields: object, headers: Record<string, string> = {}): Promise<Response> {
    return this.browser.request(HOST + path, {
      method: "POST",
      headers: { "content-type": "application/json", "x-form-token": this.#formToken, ...headers },
      body: JSON.stringify(fields),
    });
  }

  launch(clientId = "planner", headers?: Record<string, string>): Promise<Response> {
    return this.ask("/launches", { clientId }, headers);
  }

  async opaqueCode(clientId = "planner"): Promise<string> {
    const { url } = (await (await this.launch(clientId)).json()) as { url: string };
    return new URL(url).searchParams.get("opaque_code") ?? "";
  }

  authorize(opaque_code: unknown, changes: object = {}): Promise<Response> {
    const challenge = newPkce().codeChallenge;
    return this.ask("/authorizations", { clientId: "planner", opaque_code, challenge, ...changes });
  }
}

function row(name: string, rules: readonly RuleId[], request: Row["request"], accepted = authorized): Row {
  return { name, rules, request, answer: rules[0] === undefined ? accepted : refusedByHost(rules[0]) };
}

function signIn(userId: string, password: string): Row["request"] {
  return async (world) => shownBy(await (await world.browser().open(HOST)).submit({ userId, password }));
}
/** Read already by the browser: what counts is status and headers, and the page it showed. */
const signedIn = redirect(303, HOST, "emulator-host");
const signInFailed = page("Host application", {
  status: 403,
  complaint: "This is not the operator's password.",
});

const signIns: readonly Row[] = [
  { name: "an operator signs in", rules: [], request: signIn("ada", "difference"), answer: signedIn },
  {
    name: "an operator with another password",
    rules: ["launch.signed-in"],
    request: signIn("ada", "x"),
    answer: signInFailed,
  },
  {
    name: "an operator of another tenant",
    rules: ["launch.signed-in"],
    remains: true,
    request: signIn("grace", ""),
    answer: signInFailed,
  },
  {
    name: "9700 4.7: a sign-in that another site sends",
    rules: ["launch.form"],
    async request(world) {
      const browser = await world.browser().open(HOST);
      return shownBy(await browser.submit({ userId: "bob", form_token: "x" }));
    },
    answer: redirect(303, HOST),
  },
];

const launching: readonly Row[] = [
  row(
    "a launch by who is signed in",
    [],
    async (world) => (await HostPage.of(world, "bob")).launch(),
    launched,
  ),
  row("a launch by nobody", ["launch.signed-in"], async (world) => (await HostPage.of(world)).launch()),
  row("9700 4.7: a launch that another site asks for", ["launch.form"], async (world) =>
    (await HostPage.of(world, "bob")).launch("planner", { "x-form-token": "x" }),
  ),
  row("9700 4.7: a launch that another site asks for by a form's type", ["launch.form"], async (world) =>
    (await HostPage.of(world, "bob")).launch("planner", { "content-type": "text/plain" }),
  ),
  row("a launch of a disabled plugin", ["launch.plugin"], async (world) =>
    (await HostPage.of(world, "bob")).launch("off-page"),
  ),
  row("a launch of a service plugin", ["launch.plugin"], async (world) =>
    (await HostPage.of(world, "bob")).launch("reporter"),
  ),
  row("a launch of a plugin that nobody registered", ["launch.plugin"], async (world) =>
    (await HostPage.of(world, "bob")).launch("nobody"),
  ),
];

function authorizing(
  name: string,
  rules: readonly RuleId[],
  ask: (page: HostPage, opaqueCode: string, world: World) => Promise<Response>,
): Row {
  return row(name, rules, async (world) => {
    const host = await HostPage.of(world, "bob");
    return ask(host, await host.opaqueCode(), world);
  });
}
const aged = (seconds: number) => (host: HostPage, opaqueCode: string, world: World) => {
  world.wait(seconds);
  return host.authorize(opaqueCode);
};
const authorizations: readonly Row[] = [
  authorizing("a code for a launch", [], (host, opaqueCode) => host.authorize(opaqueCode)),
  authorizing("opaque_code that nobody knows", ["launch.known"], (host) => host.authorize("x".repeat(43))),
  authorizing("opaque_code that is absent", ["launch.known"], (host) => host.authorize(undefined)),
  authorizing("opaque_code of another plugin's launch", ["launch.known"], async (host) =>
    host.authorize(await host.opaqueCode("viewer")),
  ),
  authorizing("opaque_code of another operator's launch", ["launch.known"], async (_, opaqueCode, world) =>
    (await HostPage.of(world, "ada", "difference")).authorize(opaqueCode),
  ),
  authorizing("opaque_code twice", ["launch.unused"], async (host, opaqueCode) => {
    await host.authorize(opaqueCode);
    return host.authorize(opaqueCode);
  }),
  authorizing("a launch of ten minutes, the last instant of its life", [], aged(600)),
  authorizing("a launch of ten minutes and a millisecond", ["launch.lifetime"], aged(600.001)),
  authorizing(
    "F2 par-ensure-pkce-required: challenge that is absent",
    ["launch.challenge"],
    (host, opaqueCode) => host.authorize(opaqueCode, { challenge: undefined }),
  ),
  authorizing("7636 4.2: a challenge of 42 characters", ["launch.challenge"], (host, opaqueCode) =>
    host.authorize(opaqueCode, { challenge: "c".repeat(42) }),
  ),
  authorizing("F2 par-plain-pkce-rejected: a plain challenge", ["launch.challenge"], (host, opaqueCode) =>
    host.authorize(opaqueCode, { challenge: "v".repeat(64) }),
  ),
  authorizing("7636 4.2: a challenge with padding", ["launch.challenge"], (host, opaqueCode) =>
    host.authorize(opaqueCode, { challenge: `${"c".repeat(43)}=` }),
  ),
  authorizing("a plugin that was disabled after its launch", ["launch.plugin"], (host, opaqueCode, world) => {
    world.emulator.updatePlugin({ tenantId: "acme", clientId: "planner", enabled: false });
    return host.authorize(opaqueCode);
  }),
];

export const launches: readonly Row[] = [...signIns, ...launching, ...authorizations];
