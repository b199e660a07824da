// People of a world, each with a browser: they launch the plugin or log in, come back, use two
// tabs, and log out.
import { TestBrowser } from "../backend/test-browser.js";
import { personHeader, tenantHeader, type World } from "./network.js";
import type { CustomerPlan, Plan } from "./plan.js";
import type { SimulatedProcess } from "./process.js";
import { OWN } from "./service.js";

interface Session {
  /** The token of a page, or the CSRF token if the session is in a cookie. */
  readonly token: string;
  readonly variant: "A" | "B";
  readonly startedAt: number;
  /** When its sign-in began, before which its token cannot have been issued. */
  readonly begunAt: number;
  /** Whether its process was suspended meanwhile. The time limits of the store then were over. */
  readonly isInterrupted: boolean;
  /** The process that it began in, which alone knows it if processes share no store. */
  readonly process: SimulatedProcess;
  usedAt: number;
}

/** The most logins of one browser that the backend keeps. A session may have a cookie too. */
const mostLogins = 5;

/** The codes with which a session ends. */
const endings = /session_(?:unknown|expired|missing)|(?:relaunch|login)_required/;

export class Person {
  readonly #world: World;
  readonly #customer: CustomerPlan;
  readonly userId: string;
  readonly #cookies = new Map<string, string>();
  /** When each cookie ends, by its Max-Age. */
  readonly #cookieEnds = new Map<string, number>();
  #session: Session | undefined;
  /** The session that a logout ends or has ended, perhaps beside a visit. */
  #loggedOut: Session | undefined;
  #logins = 0;
  /** Sign-ins that are not over. The cookie of one replaces that of another tab. */
  #signingIn = 0;

  constructor(world: World, customer: CustomerPlan, name: string) {
    this.#world = world;
    this.#customer = customer;
    this.userId = `${name}-of-${customer.tenantId}`;
  }

  /** The number of cookies that have not ended. */
  get cookies(): number {
    return this.#liveCookies().size;
  }

  #liveCookies(): Map<string, string> {
    for (const [name, end] of this.#cookieEnds)
      if (end <= this.#world.scheduler.now) this.#cookies.delete(name);
    return this.#cookies;
  }

  get hasSession(): boolean {
    return this.#session !== undefined;
  }

  #browser({ backend }: SimulatedProcess): TestBrowser {
    const browser = new TestBrowser(async (request) => {
      const answer = await backend(request);
      for (const line of answer.headers.getSetCookie()) {
        const { name = "", seconds = Infinity } =
          /^(?<name>[^=]*).*; Max-Age=(?<seconds>\d+)/.exec(line)?.groups ?? {};
        this.#cookieEnds.set(name, this.#world.scheduler.now + 1_000 * Number(seconds));
      }
      return answer;
    }, OWN);
    Object.defineProperty(browser, "cookies", { value: this.#liveCookies() });
    return browser;
  }

  /**
   * Signs in by launch or by login. Resolves with whether there is a session. An impatient browser
   * sends its code again, to another process.
   */
  async signIn(at: SimulatedProcess, again?: SimulatedProcess): Promise<boolean> {
    this.#signingIn++;
    try {
      return await this.#newSession(at, again);
    } finally {
      this.#signingIn--;
    }
  }

  async #newSession(at: SimulatedProcess, again?: SimulatedProcess): Promise<boolean> {
    const { service, note } = this.#world;
    const variant = service.variantOf(this.#customer);
    const begunAt = this.#world.scheduler.now;
    const suspendedMs = () => at.suspendedMs + (again?.suspendedMs ?? 0);
    const suspendedBefore = suspendedMs();
    note(`${this.userId} ${variant === "A" ? "launches" : "logs in"} at ${at.name}`);
    const answer = variant === "A" ? await this.#launch(at, again) : await this.#login(at, again);
    if (answer === undefined || answer.status !== 200) {
      note(`${this.userId} gets no session: ${answer && (await codeIn(answer))}`);
      return false;
    }
    const body = (await answer.json()) as Record<string, string>;
    const { session, csrf, operator } = body as {
      session?: string;
      csrf?: string;
      operator?: { userId: string };
    };
    if (session !== undefined) this.#world.rules.secret(session);
    const shownUser = operator?.userId ?? this.userId;
    if (shownUser !== this.userId)
      this.#world.rules.break(
        "person isolation",
        `${this.userId} gets the session of ${shownUser}`,
      );
    // Of two tabs that sign in at once the cookie of the later answer counts, for both.
    const isReplaced = answer.headers.getSetCookie().some((line) => {
      const [, name = "", value] = /^([^=]*session)=([^;]+)/.exec(line) ?? [];
      return value !== undefined && this.#cookies.get(name) !== value;
    });
    if (isReplaced) return true;
    const now = this.#world.scheduler.now;
    this.#session = {
      token: session ?? csrf ?? "",
      variant,
      startedAt: now,
      begunAt,
      isInterrupted: suspendedMs() > suspendedBefore,
      usedAt: now,
      process: at,
    };
    note(`${this.userId} has a session`);
    return true;
  }

  async #launch(at: SimulatedProcess, again?: SimulatedProcess): Promise<Response | undefined> {
    const { service, rules } = this.#world;
    const approval = service.launch(this.#customer, this.userId);
    if (approval.variant !== "A") return undefined;
    rules.secret(approval.code, this.userId);
    return this.#sent(at, again, (browser) => browser.post("/auth/launch", approval.body));
  }

  /**
   * Sends a request, and again to another process, and once more when both have failed. Resolves
   * with the answer that is a success, if one is.
   */
  async #sent(
    at: SimulatedProcess,
    again: SimulatedProcess | undefined,
    send: (browser: TestBrowser) => Promise<Response>,
  ): Promise<Response | undefined> {
    const both = [at, ...(again ? [again] : [])].map((one) => send(this.#browser(one)));
    const isSuccess = ({ status, headers }: Response) =>
      status < 400 && !(headers.get("location") ?? "").includes("login_error");
    const answers = await Promise.all(both);
    const success = answers.find(isSuccess);
    if (success !== undefined || again === undefined) return success ?? answers[0];
    const reloaded = await send(this.#browser(again));
    return isSuccess(reloaded) ? reloaded : answers[0];
  }

  async #login(at: SimulatedProcess, again?: SimulatedProcess): Promise<Response | undefined> {
    const { service, rules } = this.#world;
    const browser = this.#browser(at);
    const { tenantId } = this.#customer;
    const isAlone = this.#signingIn === 1;
    const mark = `${this.userId}-${this.#logins++}`;
    const returnTo = encodeURIComponent(`/page?bivariant_login=${mark}`);
    const begun = await browser.get(`/auth/login?tenant=${tenantId}&return_to=${returnTo}`);
    if (begun.status !== 302) return begun;
    // Logins that begin at once do not see each other's cookies. The next one drops the oldest.
    if (isAlone && mark.endsWith(`-${this.#logins - 1}`) && this.cookies > mostLogins + 1)
      rules.break(
        "nothing grows",
        `${this.userId} has ${this.cookies} cookies after a login began`,
      );
    const approval = service.login(begun.headers.get("location") ?? "", this.userId);
    if (approval.variant !== "B") return undefined;
    rules.secret(approval.code, this.userId);
    const back = await this.#sent(at, again, (one) => one.get(approval.callbackUrl));
    if (!(back?.headers.get("location") ?? "").endsWith(mark)) return back;
    return browser.post("/auth/session", { tenant: tenantId, login: mark });
  }

  /** Has the backend make a call. Resolves with whether it succeeded. */
  async visit(at: SimulatedProcess): Promise<boolean> {
    const { note, rules, scheduler, service } = this.#world;
    const session = this.#session;
    // A session that began before the customer moved is of no use any more.
    if (session?.variant !== service.variantOf(this.#customer)) return this.signIn(at);
    const { tenantId } = this.#customer;
    const name = `${at.name} visit of ${this.userId}`;
    try {
      const headers = this.#headers(session);
      const client = await at.backend.connect(
        this.#browser(at).request("GET", "/devices", { headers }),
      );
      const path = session.variant === "A" ? `api/v1/${tenantId}/devices` : "v1/devices";
      const response = await client.fetch(path, {
        headers: { [tenantHeader]: tenantId, [personHeader]: this.userId },
      });
      note(`${name} is ${response.ok ? "answered" : `refused ${response.status}`}`);
      if (response.ok) session.usedAt = scheduler.now;
      // By a clock that was set back a launch lasts too long: its person opens the plugin again.
      if (response.status === 401 && this.#session === session) this.#session = undefined;
      return response.ok;
    } catch (error) {
      rules.shown(error);
      const { status, code, reason } = await answerIn(at.backend.answer(error));
      note(`${name} fails: ${code}${reason ? ` (${reason})` : ""}`);
      if (status === 401 && endings.test(code) && this.#session === session) {
        this.#session = undefined;
        const why = `${code} ${reason ?? ""}`;
        if (
          !/outcome_unknown/.test(why) &&
          this.#loggedOut !== session &&
          !this.#isExcused(session)
        )
          rules.break("sessions last", `${this.userId} loses a session: ${why.trim()}`);
      }
      return false;
    }
  }

  /** Whether the store, the process, the clock or the service explains the end of a session. */
  #isExcused(session: Session): boolean {
    const { startedAt, begunAt, isInterrupted, usedAt, variant, process } = session;
    const { plan, scheduler, rules } = this.#world;
    const { now } = scheduler;
    if (plan.hasCookies && this.#signingIn > 0) return true;
    if (isInterrupted || (!sharesSessions(plan) && process.isDead)) return true;
    const lifetimeMs = 1_000 * plan.lifetimeSeconds;
    if (variant === "A" && now > begunAt + lifetimeMs - rules.slackMs) return true;
    // A session ends an hour after its last use, which is written once a minute, by clocks that may
    // be wrong.
    if (now > usedAt + 3_500_000 - rules.slackMs) return true;
    return rules.isForgotten(this.userId, startedAt);
  }

  #headers({ token }: Session): Record<string, string> {
    return this.#world.plan.hasCookies
      ? { "x-bivariant-csrf": token, origin: OWN }
      : { authorization: `Bearer ${token}` };
  }

  async logOut(at: SimulatedProcess): Promise<boolean> {
    const session = this.#session;
    if (session === undefined) return true;
    this.#loggedOut = session;
    const answer = await this.#browser(at).post("/auth/logout", {}, this.#headers(session));
    this.#world.note(`${this.userId} logs out at ${at.name}: ${answer.status}`);
    // Whether it ended or not, it may have ended. The cookie of a later session is dropped too.
    const names = [...this.#cookies.keys()];
    const isDropped = this.#world.plan.hasCookies && !names.some((name) => /session$/.test(name));
    if (this.#session === session || isDropped) this.#session = undefined;
    return answer.status === 204;
  }

  /** Two tabs of one browser: both come at once, and without a session both sign in. */
  async twoTabs(at: SimulatedProcess, other: SimulatedProcess): Promise<boolean> {
    const visits = await Promise.all([this.visit(at), this.visit(other)]);
    return visits.every(Boolean);
  }
}

export const sharesSessions = ({ store }: Plan): boolean => store === "shared" || store === "redis";

async function codeIn(answer: Response): Promise<string> {
  const location = answer.headers.get("location");
  return location ? location.replace(/.*#/, "") : (await answerIn(answer)).code;
}

async function answerIn(
  answer: Response,
): Promise<{ status: number; code: string; reason?: string }> {
  const { error = "", reason } = (await answer.json().catch(() => ({}))) as {
    error?: string;
    reason?: string;
  };
  return { status: answer.status, code: error, ...(reason && { reason }) };
}
