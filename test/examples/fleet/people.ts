// The people and machines that use the fleet. Each tenant has one device with its own name, so that an answer shows whose
// token it was made with.
import { setTimeout as sleep } from "node:timers/promises";
import type { Emulator } from "../../../src/emulator/index.js";
import { TestBrowser } from "../../backend/test-browser.js";
import { newPkce } from "../../emulator/signing-key.js";

/** No answer may take longer. The lock of a replica that dies while it renews a login is free after 15 s. */
const longestMs = 45_000;
/** The time that the replicas may need to connect again after Redis is back. */
const reconnectMs = 3_000;

interface Answer {
  readonly status: number;
  readonly location: string;
  /** The stable code of an error, and its reason. */
  readonly code: string;
  readonly body: { error?: string; reason?: string; session?: string; 0?: { id: string } };
}

/** What is used, the counts, and what must not have happened. */
export class World {
  readonly emulator: Emulator;
  /** Of the proxy. */
  readonly url: string;
  readonly over: AbortSignal;
  readonly counts: Map<string, number> = new Map();
  readonly wrong: string[] = [];
  /** Infinite while Redis is down. */
  redisBackAt = 0;
  killedAt = 0;
  /** When Redis was killed and came back, in epoch milliseconds. */
  readonly outages: [number, number][] = [];

  constructor(emulator: Emulator, url: string, over: AbortSignal) {
    this.emulator = emulator;
    this.url = url;
    this.over = over;
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.over }).catch(() => {});
  }

  browser(): TestBrowser {
    const limited = () => ({ redirect: "manual", signal: AbortSignal.timeout(longestMs) }) as const;
    return new TestBrowser((request) => fetch(request, limited()), this.url);
  }

  /** Counts an answer, and checks that it may happen. */
  async ask(what: string, sent: Promise<Response>): Promise<Answer> {
    const sentAt = Date.now();
    try {
      const { status, headers, ...response } = await sent.then(async (answer) => {
        return { status: answer.status, headers: answer.headers, text: await answer.text() };
      });
      const location = headers.get("location") ?? "";
      const body: Answer["body"] = response.text === "" ? {} : JSON.parse(response.text);
      const [, loginError] = /#login_error=(\w+)/.exec(location) ?? [];
      const code = [body.error, body.reason, loginError].filter(Boolean).join(" ");
      // Of a login, only the last step is counted.
      if (location === "" || code !== "") this.count(`${what}: ${status} ${code}`);
      const mayBeDown = sentAt < this.redisBackAt + reconnectMs;
      const isExcused = code === "replica_lost" || (code === "store_unavailable" && mayBeDown);
      if (status >= 500 && !isExcused) this.wrong.push(`${what}: ${status} ${code}`);
      return { status, location, code, body };
    } catch (error) {
      this.wrong.push(`${what}: no answer after ${Date.now() - sentAt} ms (${error})`);
      return { status: 0, location: "", code: "", body: {} };
    }
  }

  /** Asks for the devices of a tenant. */
  async list(what: string, tenantId: string, sent: Promise<Response>): Promise<number> {
    const { status, body } = await this.ask(what, sent);
    if (status === 200 && body[0]?.id !== tenantId) this.wrong.push(`${what}: an answer for ${body[0]?.id}`);
    return status;
  }
}

export async function driveMachine(world: World, tenantId: string): Promise<void> {
  while (!world.over.aborted) {
    await world.list("machine", tenantId, world.browser().get(`/machine/${tenantId}`));
    await world.pause(200 + 200 * Math.random());
  }
}

export async function drivePerson(world: World, tenantId: string, way: "login" | "launch"): Promise<void> {
  while (!world.over.aborted) {
    const browser = world.browser();
    const session = await (way === "login" ? logIn : launch)(world, browser, tenantId);
    if (session !== undefined) await useSession(world, browser, tenantId, session);
    await world.pause(500);
  }
}

/** Variant B, as a browser does it. */
async function logIn(world: World, browser: TestBrowser, tenantId: string): Promise<string | undefined> {
  const begun = await world.ask("login", browser.get(`/auth/login?tenant=${tenantId}&return_to=/`));
  if (begun.status !== 302) return undefined;
  const { callbackUrl } = world.emulator.login({ url: begun.location, tenantId, userId: tenantId });
  const back = await world.ask("login", browser.get(callbackUrl));
  if (back.status !== 303 || back.code !== "") return undefined;
  return (await world.ask("login", browser.post("/auth/session"))).body.session;
}

/** Variant A: the emulator is the host, and this is the page in its iframe. */
async function launch(world: World, browser: TestBrowser, tenantId: string): Promise<string | undefined> {
  const { codeChallenge, codeVerifier } = newPkce();
  const launched = world.emulator.launch({ tenantId, clientId: "planner", userId: tenantId });
  const { code } = launched.authorize({ codeChallenge });
  const body = { code, codeVerifier, tenantId, hostOrigin: world.emulator.publicUrl };
  return (await world.ask("launch", browser.post("/auth/launch", body))).body.session;
}

/** Calls until the session is over, for whatever reason. */
async function useSession(world: World, browser: TestBrowser, tenantId: string, session: string) {
  const headers = { authorization: `Bearer ${session}` };
  const openedAt = Date.now();
  let hasOutlived = false;
  for (let isLoggedOut = false; !world.over.aborted; ) {
    await world.pause(200 + 200 * Math.random());
    const { killedAt } = world;
    const what = isLoggedOut ? "person, logged out" : "person";
    const status = await world.list(what, tenantId, browser.get("/api/devices", headers));
    if (status === 401) return;
    if (status === 200 && isLoggedOut) world.wrong.push("a session was answered after its logout");
    if (status === 200 && !hasOutlived && openedAt < killedAt) {
      hasOutlived = true;
      world.count("sessions that outlived a kill");
    }
    if (isLoggedOut || Math.random() > 0.01) continue;
    isLoggedOut = (await world.ask("logout", browser.post("/auth/logout", {}, headers))).status === 204;
  }
}
