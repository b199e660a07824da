// The people and machines that use the fleet. Each tenant has one device with its own name, so that
// an answer shows whose token it was made with.
import { setTimeout as sleep } from "node:timers/promises";
import type { Emulator } from "../../../src/emulator/index.js";
import { TestBrowser } from "../../backend/test-browser.js";
import { newPkce } from "../../emulator/signing-key.js";

/**
 * No answer may take longer. The lock of a replica that dies while it renews a login is free after
 * 15 s.
 */
const longestMs = 45_000;
/** The time that the replicas may need to connect again after Redis is back. */
const reconnectMs = 3_000;

interface Answer {
  readonly status: number;
  readonly location?: string;
  readonly session?: string;
}

/** What is used, and what happened. */
export class World {
  readonly emulator: Emulator;
  readonly url: string;
  readonly over: AbortSignal;
  readonly counts: Map<string, number> = new Map();
  /** What must not happen. */
  readonly wrong: string[] = [];
  /** When something was killed last, and when Redis came back: never, as long as it is down. */
  killedAt = 0;
  redisBackAt = 0;
  /** When the last answer arrived that was a failure of the store. */
  lastFailedAt = 0;
  /** How long the slowest answer took of those that were asked for after a kill. */
  slowestMs = 0;

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

  /** Counts an answer, and checks that it may happen: devices must be those of the tenant. */
  async ask(what: string, sending: Promise<Response>, tenantId: string): Promise<Answer> {
    const sentAt = Date.now();
    try {
      const response = await sending;
      const { status } = response;
      const location = response.headers.get("location") ?? "";
      const [, loginError] = /#login_error=(\w+)/.exec(location) ?? [];
      const body = JSON.parse((await response.text()) || "{}");
      const code = [body.error, body.reason, loginError].filter(Boolean).join(" ");
      // Of a login, only the last step is counted.
      if (location === "" || code !== "") this.count(`${what}: ${status} ${code}`);
      const isExcused =
        code === "replica_lost" ||
        (code === "store_unavailable" && sentAt < this.redisBackAt + reconnectMs);
      if (this.killedAt > 0) this.slowestMs = Math.max(this.slowestMs, Date.now() - sentAt);
      if (code === "store_unavailable") this.lastFailedAt = Date.now();
      if (status >= 500 && !isExcused) this.wrong.push(`${what}: ${status} ${code}`);
      if (Array.isArray(body) && body[0].id !== tenantId)
        this.wrong.push(`${what}: the answer of another`);
      return code === "" ? { status, location, session: body.session } : { status };
    } catch (error) {
      this.wrong.push(`${what}: no answer after ${Date.now() - sentAt} ms (${error})`);
      return { status: 0 };
    }
  }
}

export async function driveMachine(world: World, tenantId: string): Promise<void> {
  while (!world.over.aborted) {
    await world.ask("machine", world.browser().get(`/machine/${tenantId}`), tenantId);
    await world.pause(200 + 200 * Math.random());
  }
}

export async function drivePerson(
  world: World,
  tenantId: string,
  way: "login" | "launch",
): Promise<void> {
  while (!world.over.aborted) {
    const browser = world.browser();
    const session = await (way === "login" ? logIn : launch)(world, browser, tenantId);
    if (session !== undefined) await useSession(world, browser, tenantId, session);
    await world.pause(500);
  }
}

/** Variant B, as a browser does it. */
async function logIn(
  world: World,
  browser: TestBrowser,
  tenantId: string,
): Promise<string | undefined> {
  const path = `/auth/login?tenant=${tenantId}&return_to=/`;
  const { location: url } = await world.ask("login", browser.get(path), tenantId);
  if (!url) return undefined;
  const { callbackUrl } = world.emulator.login({ url, tenantId, userId: tenantId });
  const { location } = await world.ask("login", browser.get(callbackUrl), tenantId);
  if (!location) return undefined;
  return (await world.ask("login", browser.post("/auth/session"), tenantId)).session;
}

/** Variant A: the emulator is the host, and this is the page in its iframe. */
async function launch(
  world: World,
  browser: TestBrowser,
  tenantId: string,
): Promise<string | undefined> {
  const { codeChallenge, codeVerifier } = newPkce();
  const launched = world.emulator.launch({ tenantId, clientId: "planner", userId: tenantId });
  const { code } = launched.authorize({ codeChallenge });
  const body = { code, codeVerifier, tenantId, hostOrigin: world.emulator.publicUrl };
  return (await world.ask("launch", browser.post("/auth/launch", body), tenantId)).session;
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
    const { status } = await world.ask(what, browser.get("/api/devices", headers), tenantId);
    if (status === 401) return;
    if (status === 200 && isLoggedOut) world.wrong.push("a session was answered after its logout");
    if (status === 200 && !hasOutlived && openedAt < killedAt) {
      hasOutlived = true;
      world.count("sessions that outlived a kill");
    }
    if (isLoggedOut || Math.random() > 0.01) continue;
    const left = await world.ask("logout", browser.post("/auth/logout", {}, headers), tenantId);
    isLoggedOut = left.status === 204;
  }
}
