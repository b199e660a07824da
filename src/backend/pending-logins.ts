/**
 * Keeps logins of Variant B until their pages fetch a session. Each has its own cookie, for several
 * tabs. The cookie holds the login itself, sealed, because anyone can begin one. After the code was
 * exchanged, the store holds it.
 */
import type { PendingLogin } from "../people.js";
import type { Settings } from "./backend-options.js";
import { Refusal } from "./error-answer.js";
import { LoginSeal } from "./login-seal.js";
import { isSubject, type SessionSubject } from "./person-auths.js";
import { areEqual, Records, randomToken } from "./records.js";
import { cookieHeader, cookieName, cookieNames, isSecure, readCookie } from "./request-checks.js";

export interface StartedLogin {
  readonly login: PendingLogin;
  readonly tenantId: string;
  readonly baseUrl: string;
}

/**
 * `started` is present in a cookie until the callback comes, and `completed` in the store after it.
 */
interface LoginRecord {
  readonly returnTo: string;
  /** When the time for the current step ends, in epoch milliseconds. */
  readonly expiresAt: number;
  readonly started?: StartedLogin;
  readonly completed?: SessionSubject;
}

/**
 * The person has this long at the authorization server, as a code lives at most (RFC 6749), and
 * then the page to fetch its session.
 */
const stepMs = 600_000;
/**
 * A login is remembered longer than it is valid, so that a late callback still leads back to its
 * page.
 */
const rememberedMs = 2 * stepMs;
/** The most logins of one browser at a time. If it starts another one, the oldest is forgotten. */
const mostLogins = 5;
/**
 * Browsers keep cookies of up to 4096 bytes. Servers accept request headers of 8 or 16 kB in all.
 */
const mostCookieBytes = 3_900;
const mostBytes = 6_000;
/**
 * The most cookies that one answer removes. HTTP/2 ends the connection if the answer has too many
 * headers.
 */
const mostRemoved = 10;

interface WantedLogin {
  /** The mark that bivariant/page added to the address to which its login returns. */
  readonly mark: string | null | undefined;
  readonly tenantId: string | null | undefined;
}

interface FoundLogin extends LoginRecord {
  readonly cookieName: string;
  /** The sealed login, or the token of its record. */
  readonly cookieValue: string;
}

export interface TakenLogin extends StartedLogin {
  readonly returnTo: string;
  readonly isLate: boolean;
  /** Returns the `Set-Cookie` values after which this browser cannot complete the login again. */
  end(): Promise<readonly string[]>;
  /** Stores who logged in, once. Returns the `Set-Cookie` values for fetching the session. */
  complete(subject: SessionSubject): Promise<readonly string[]>;
}

export class PendingLogins {
  readonly #settings: Settings;
  readonly #seal: LoginSeal;
  readonly #records: Records<LoginRecord>;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#seal = new LoginSeal(settings);
    this.#records = new Records(
      settings,
      "login",
      ({ returnTo, expiresAt, completed }) =>
        URL.canParse(returnTo ?? "") &&
        Number.isFinite(expiresAt) &&
        (completed === undefined || isSubject(completed)),
    );
  }

  /** Returns the `Set-Cookie` values that keep a login in the browser. */
  async start(
    request: Request,
    started: StartedLogin,
    returnTo: string,
  ): Promise<readonly string[]> {
    const sealed = { returnTo, expiresAt: this.#settings.clock.now() + stepMs, started };
    const cookie = this.#newName(request);
    const value = await this.#sealed(cookie, sealed);
    if (value.length > mostCookieBytes) throw new Refusal("return_to_refused");
    let bytes = value.length;
    const dropped = this.#namesOf(request)
      .toReversed()
      .filter((name, newer) => {
        if (newer + 1 >= mostLogins) return true;
        bytes += readCookie(request, name)?.length ?? 0;
        return bytes > mostBytes;
      });
    const removed = dropped.slice(0, mostRemoved).map((name) => this.#setCookie(request, name));
    return [this.#setCookie(request, cookie, value), ...removed];
  }

  /**
   * Returns this browser's login (RFC 6749 section 10.12), else the page of another, for an error.
   */
  async take(
    request: Request,
    state: string | undefined,
  ): Promise<TakenLogin | string | undefined> {
    const found = await this.#loginsOf(request);
    if (found.length === 0 && this.#namesOf(request).length > 0)
      this.#settings.reportUnknown("login_unknown");
    const own = found.find(({ started }) => started && areEqual(state ?? "", started.login.state));
    if (own?.started === undefined) return found.at(-1)?.returnTo;
    const { cookieName: cookie, started, returnTo, expiresAt } = own;
    return {
      ...started,
      returnTo,
      isLate: this.#settings.clock.now() >= expiresAt,
      end: async () => {
        const value = await this.#sealed(cookie, { returnTo, expiresAt });
        return [this.#setCookie(request, cookie, value)];
      },
      complete: async (completed) => {
        const now = this.#settings.clock.now();
        const record = { returnTo, expiresAt: now + stepMs };
        const options = { ifVersion: null, expiresAt: now + rememberedMs };
        // A copy of the cookie can complete the login with another code. Only the first one counts.
        if (!(await this.#records.write(started.login.state, record, options)))
          throw new Refusal("state_mismatch");
        // The id is new, because an attacker who planted the cookie could fetch the session. So is
        // the name, because the answer to a second callback may still replace the old cookie.
        const value = randomToken();
        await this.#records.write(value, { ...record, completed }, options);
        return [
          this.#setCookie(request, this.#newName(request), value),
          this.#setCookie(request, cookie),
        ];
      },
    };
  }

  /** Passes a completed login to `handOver` once. If that fails, the login stays. */
  async fetch(
    request: Request,
    wanted: WantedLogin,
    handOver: (subject: SessionSubject) => Promise<Response>,
  ): Promise<Response | undefined> {
    for (let tries = 0; tries < mostLogins; tries++) {
      const found = await this.#completedOf(request, wanted);
      if (found === undefined) return undefined;
      const { cookieName, cookieValue: id } = found;
      const response = await this.#records.lock(id, async () => {
        const completed = (await this.#records.read(id))?.value.completed;
        if (completed === undefined) return undefined;
        const handedOver = await handOver(completed);
        // The session is open by now, and the one before it has ended: the browser must get it.
        await this.#records.delete(id).catch(this.#settings.report);
        return handedOver;
      });
      // Another request fetched this login meanwhile, but the browser may have a second one.
      if (response === undefined) continue;
      response.headers.append("set-cookie", this.#setCookie(request, cookieName));
      return response;
    }
    return undefined;
  }

  /**
   * Returns the names of the login cookies with the oldest first, as browsers send them (RFC 6265
   * section 5.4).
   */
  #namesOf(request: Request): readonly string[] {
    const prefix = this.#cookiePrefix(request);
    return cookieNames(request).filter(
      (name) => name.startsWith(prefix) && /^[\w-]{8}$/.test(name.slice(prefix.length)),
    );
  }

  #cookiePrefix(request: Request): string {
    return `${cookieName("login", request, this.#settings)}-`;
  }

  #newName(request: Request): string {
    return this.#cookiePrefix(request) + randomToken().slice(0, 8);
  }

  #sealed(cookie: string, login: LoginRecord): Promise<string> {
    return this.#seal.seal(cookie, login, this.#settings.clock.now() + rememberedMs);
  }

  async #loginsOf(request: Request): Promise<readonly FoundLogin[]> {
    // No more are read, so that a request with many made-up cookies does not cost many reads.
    const names = this.#namesOf(request).slice(-mostLogins);
    const found = await Promise.all(
      names.map(async (cookieName) => {
        const cookieValue = readCookie(request, cookieName) ?? "";
        const login = cookieValue.includes(".")
          ? ((await this.#seal.open(cookieName, cookieValue)) as LoginRecord | undefined)
          : (await this.#records.read(cookieValue))?.value;
        return login && { ...login, cookieName, cookieValue };
      }),
    );
    return found.filter((login) => login !== undefined);
  }

  /**
   * Returns the login with the page's mark, or without a mark the latest login, if all are of one
   * tenant.
   */
  async #completedOf(
    request: Request,
    { mark, tenantId }: WantedLogin,
  ): Promise<FoundLogin | undefined> {
    const now = this.#settings.clock.now();
    const logins = (await this.#loginsOf(request)).filter(
      ({ returnTo, expiresAt, completed }) =>
        completed !== undefined &&
        now < expiresAt &&
        [undefined, null, new URL(returnTo).searchParams.get("bivariant_login")].includes(mark) &&
        (tenantId ?? completed.tenantId) === completed.tenantId,
    );
    const targets = logins.map(({ completed }) => `${completed?.baseUrl} ${completed?.tenantId}`);
    if (new Set(targets).size !== 1) return undefined;
    return logins.sort((one, other) => one.expiresAt - other.expiresAt).at(-1);
  }

  /** Without a value, the browser removes the cookie. */
  #setCookie(request: Request, name: string, value = ""): string {
    const attributes = `; SameSite=Lax${isSecure(request, this.#settings) ? "; Secure" : ""}`;
    return cookieHeader(name, value, rememberedMs, attributes);
  }
}
