/** Keeps logins of Variant B until their pages fetch a session. Each has its own cookie, for several tabs. */
import type { PendingLogin } from "../people.js";
import type { Settings } from "./backend-options.js";
import { isSubject, type SessionSubject } from "./person-auths.js";
import { areEqual, Records, randomToken } from "./records.js";
import { cookieHeader, cookieName, cookieNames, isSecure, readCookie } from "./request-checks.js";

export interface StartedLogin {
  readonly login: PendingLogin;
  readonly tenantId: string;
  readonly baseUrl: string;
}

/** `started` is present until the callback comes. `completed` is present after the code was exchanged. */
interface LoginRecord {
  readonly returnTo: string;
  /** When the time for the current step ends, in epoch milliseconds. */
  readonly expiresAt: number;
  readonly started?: StartedLogin;
  readonly completed?: SessionSubject;
}

/** The person has this long at the authorization server, and then the page has it to fetch its session. */
const stepMs = 600_000;
/** A login is remembered longer than it is valid, so that a late callback still leads back to its page. */
const rememberedMs = 2 * stepMs;
/** The most logins of one browser at a time. If it starts another one, the oldest is forgotten. */
const mostLogins = 5;

interface WantedLogin {
  /** The mark that bivariant/page added to the address to which its login returns. */
  readonly mark: string | null | undefined;
  readonly tenantId: string | null | undefined;
}

interface LoginCookie {
  readonly name: string;
  readonly id: string;
}

interface FoundLogin extends LoginRecord {
  readonly cookie: LoginCookie;
  readonly version: string;
}

export interface TakenLogin extends StartedLogin {
  readonly returnTo: string;
  readonly isLate: boolean;
  /** Stores who logged in, and returns the `Set-Cookie` with which the page can fetch the session. */
  complete(subject: SessionSubject): Promise<string>;
}

export class PendingLogins {
  readonly #settings: Settings;
  readonly #records: Records<LoginRecord>;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#records = new Records(
      { store: settings.loginStore, report: settings.report },
      "login",
      ({ returnTo, expiresAt, started, completed }) =>
        URL.canParse(returnTo ?? "") &&
        Number.isFinite(expiresAt) &&
        (started === undefined || typeof started.login.state === "string") &&
        (completed === undefined || isSubject(completed)),
    );
  }

  /** Remembers a login, and returns the `Set-Cookie` values that bind it to the browser. */
  async start(request: Request, started: StartedLogin, returnTo: string): Promise<readonly string[]> {
    const oldest = this.#cookiesOf(request).slice(0, -(mostLogins - 1));
    const cookie = { name: this.#cookiePrefix(request) + randomToken().slice(0, 8), id: randomToken() };
    await this.#write(cookie.id, { returnTo, expiresAt: this.#settings.now() + stepMs, started });
    for (const { id } of oldest) await this.#records.delete(id);
    return [
      this.#setCookie(request, cookie),
      ...oldest.map(({ name }) => this.#setCookie(request, { name })),
    ];
  }

  /** Returns this browser's login once (RFC 6749 section 10.12), else the page of another, for an error. */
  async take(request: Request, state: string | undefined): Promise<TakenLogin | string | undefined> {
    const found = await this.#loginsOf(request);
    const own = found.find(({ started }) => started && areEqual(state ?? "", started.login.state));
    if (own?.started === undefined) return found.at(-1)?.returnTo;
    const { cookie, version, started, returnTo, expiresAt } = own;
    // If two callbacks come at once, only one can replace the version that both read.
    if (!(await this.#write(cookie.id, { returnTo, expiresAt }, version))) return returnTo;
    return {
      ...started,
      returnTo,
      isLate: this.#settings.now() >= expiresAt,
      complete: async (completed) => {
        // The id is new, because an attacker who planted the old one could fetch the session.
        const id = randomToken();
        await this.#write(id, { returnTo, expiresAt: this.#settings.now() + stepMs, completed });
        await this.#records.delete(cookie.id);
        return this.#setCookie(request, { name: cookie.name, id });
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
      const { id, name } = (await this.#completedOf(request, wanted))?.cookie ?? {};
      if (id === undefined || name === undefined) return undefined;
      const response = await this.#records.lock(id, async () => {
        const completed = (await this.#records.read(id))?.value.completed;
        if (completed === undefined) return undefined;
        const handedOver = await handOver(completed);
        await this.#records.delete(id);
        return handedOver;
      });
      // Another request fetched this login meanwhile, but the browser may have a second one.
      if (response === undefined) continue;
      response.headers.append("set-cookie", this.#setCookie(request, { name }));
      return response;
    }
    return undefined;
  }

  /** Returns the login cookies with the oldest first, as browsers send them (RFC 6265 section 5.4). */
  #cookiesOf(request: Request): readonly LoginCookie[] {
    const prefix = this.#cookiePrefix(request);
    return cookieNames(request).flatMap((name) => {
      const isOurs = name.startsWith(prefix) && /^[\w-]{8}$/.test(name.slice(prefix.length));
      const id = isOurs && readCookie(request, name);
      return id && /^[\w-]{43}$/.test(id) ? [{ name, id }] : [];
    });
  }

  #cookiePrefix(request: Request): string {
    return `${cookieName("login", request, this.#settings)}-`;
  }

  async #loginsOf(request: Request): Promise<readonly FoundLogin[]> {
    // No more are read, so that a request with many made-up cookies does not cost many reads.
    const cookies = this.#cookiesOf(request).slice(-mostLogins);
    const found = await Promise.all(
      cookies.map(async (cookie) => {
        const read = await this.#records.read(cookie.id);
        return read && { ...read.value, cookie, version: read.version };
      }),
    );
    return found.filter((login) => login !== undefined);
  }

  /** Returns the login with the page's mark, or without a mark the latest login, if all are of one tenant. */
  async #completedOf(request: Request, { mark, tenantId }: WantedLogin): Promise<FoundLogin | undefined> {
    const now = this.#settings.now();
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

  #write(id: string, record: LoginRecord, ifVersion?: string): Promise<boolean> {
    const options = { expiresAt: this.#settings.now() + rememberedMs, ...(ifVersion && { ifVersion }) };
    return this.#records.write(id, record, options);
  }

  /** Without an id, the browser removes the cookie. */
  #setCookie(request: Request, { name, id = "" }: { readonly name: string; readonly id?: string }): string {
    const attributes = `; SameSite=Lax${isSecure(request, this.#settings) ? "; Secure" : ""}`;
    return cookieHeader(name, id, id === "" ? 0 : rememberedMs / 1_000, attributes);
  }
}
