/**
 * Logins of Variant B that were started and whose page has not fetched its session yet.
 *
 * Each login has a cookie of its own, so that tabs that start at the same time do not overwrite each other's. The cookie
 * holds a random id; the store holds a record under the hash of that id.
 */
import type { PendingLogin } from "../people.js";
import type { Settings } from "./backend-options.js";
import { isSubject, type SessionSubject } from "./person-auths.js";
import { areEqual, hashOf, isTokenShaped, Records, randomToken } from "./records.js";
import { cookieHeader, cookieName, cookieNames, isSecure, readCookie } from "./request-checks.js";

export interface StartedLogin {
  readonly login: PendingLogin;
  readonly tenantId: string;
  readonly baseUrl: string;
}

/** A record has `started` until the callback comes, then neither, and `completed` once the code was exchanged. */
interface LoginRecord {
  /** The page that the login comes back to. */
  readonly returnTo: string;
  /** Until when the step may take, in epoch milliseconds. */
  readonly expiresAt: number;
  readonly started?: StartedLogin;
  readonly completed?: SessionSubject;
}

/** How long a person may take at the authorization server, and then the page to fetch its session. */
const stepMs = 600_000;
/** A login is remembered longer than it is valid, so that a late callback still leads back to its page. */
const rememberedMs = 2 * stepMs;
/** The most logins of one browser at a time. The oldest is forgotten beyond that. */
const mostLogins = 5;

/**
 * Which of a browser's completed logins a page asks for: by the mark that the page wrote into the address to which its
 * login came back, and by tenant. Anything fits an absent field.
 */
type WantedLogin = { readonly mark?: string | undefined; readonly tenantId?: string | undefined };

interface LoginCookie {
  readonly name: string;
  readonly id: string;
}

interface FoundLogin {
  readonly cookie: LoginCookie;
  readonly record: LoginRecord;
  readonly version: string;
}

/** The login that a callback belongs to. */
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
      settings.loginStore,
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
    const name = this.#cookiePrefix(request) + randomToken().slice(0, 8);
    const id = randomToken();
    await this.#write(id, { returnTo, expiresAt: this.#settings.now() + stepMs, started });
    for (const forgotten of oldest) await this.#records.delete(await hashOf(forgotten.id));
    return [
      this.#setCookie(request, name, id),
      ...oldest.map((forgotten) => this.#setCookie(request, forgotten.name)),
    ];
  }

  /**
   * Takes the login that a state belongs to. It counts only in the browser that started the login, and only once (RFC
   * 6749 section 10.12). A string is the page of another login of this browser, to which an error can go.
   */
  async take(request: Request, state: string | undefined): Promise<TakenLogin | string | undefined> {
    const found = await this.#loginsOf(request);
    const own = found.find(
      ({ record: { started } }) => started !== undefined && areEqual(state ?? "", started.login.state),
    );
    if (own?.record.started === undefined) return found.at(-1)?.record.returnTo;
    const { cookie, version } = own;
    const { started, returnTo, expiresAt } = own.record;
    // Of two callbacks at once, one writes over the version that both read.
    if (!(await this.#write(cookie.id, { returnTo, expiresAt }, version))) return returnTo;
    return {
      ...started,
      returnTo,
      isLate: this.#settings.now() >= expiresAt,
      complete: async (completed) => {
        // Under a new id: an attacker may have planted the old one, to fetch the session (no session fixation).
        const id = randomToken();
        await this.#write(id, { returnTo, expiresAt: this.#settings.now() + stepMs, completed });
        await this.#records.delete(await hashOf(cookie.id));
        return this.#setCookie(request, cookie.name, id);
      },
    };
  }

  /** Hands a completed login over, once. It stays if that fails. */
  async fetch(
    request: Request,
    wanted: WantedLogin,
    handOver: (subject: SessionSubject) => Promise<Response>,
  ): Promise<Response | undefined> {
    for (let tries = 0; tries < mostLogins; tries++) {
      const chosen = chooseLogin(await this.#completedOf(request), wanted);
      if (chosen === undefined) return undefined;
      const name = await hashOf(chosen.cookie.id);
      const response = await this.#records.lock(name, async () => {
        const completed = (await this.#records.read(name))?.value.completed;
        if (completed === undefined) return undefined;
        const handedOver = await handOver(completed);
        await this.#records.delete(name);
        return handedOver;
      });
      // Without a response, another request fetched this login meanwhile. The browser may have a second one.
      if (response === undefined) continue;
      response.headers.append("set-cookie", this.#setCookie(request, chosen.cookie.name));
      return response;
    }
    return undefined;
  }

  /** The login cookies of a request, the oldest first: browsers send them so (RFC 6265 section 5.4). */
  #cookiesOf(request: Request): readonly LoginCookie[] {
    const prefix = this.#cookiePrefix(request);
    return cookieNames(request).flatMap((name) => {
      const id =
        name.startsWith(prefix) && /^[\w-]{8}$/.test(name.slice(prefix.length)) && readCookie(request, name);
      return id && isTokenShaped(id) ? [{ name, id }] : [];
    });
  }

  #cookiePrefix(request: Request): string {
    return `${cookieName("login", isSecure(request, this.#settings))}-`;
  }

  async #loginsOf(request: Request): Promise<readonly FoundLogin[]> {
    // Not more, so that a request with many made-up cookies does not cost many reads.
    const cookies = this.#cookiesOf(request).slice(-mostLogins);
    const found = await Promise.all(
      cookies.map(async (cookie) => {
        const read = await this.#records.read(await hashOf(cookie.id));
        return read && { cookie, record: read.value, version: read.version };
      }),
    );
    return found.filter((login) => login !== undefined);
  }

  /** The completed logins of a browser, the latest last. */
  async #completedOf(request: Request): Promise<readonly FoundLogin[]> {
    const now = this.#settings.now();
    return (await this.#loginsOf(request))
      .filter(({ record }) => record.completed !== undefined && now < record.expiresAt)
      .sort((one, other) => one.record.expiresAt - other.record.expiresAt);
  }

  async #write(id: string, record: LoginRecord, ifVersion?: string): Promise<boolean> {
    const expiresAt = this.#settings.now() + rememberedMs;
    return this.#records.write(await hashOf(id), record, {
      ...(ifVersion !== undefined && { ifVersion }),
      expiresAt,
    });
  }

  /** Without an id the cookie is removed. */
  #setCookie(request: Request, name: string, id?: string): string {
    const secure = isSecure(request, this.#settings);
    const maxAgeSeconds = id === undefined ? 0 : rememberedMs / 1_000;
    return cookieHeader({ name, value: id ?? "", maxAgeSeconds, inIframes: false, isSecure: secure });
  }
}

/**
 * A page's own login, by its mark. A page without a mark (one made otherwise, or whose address was rewritten) receives
 * the latest login, but none at all if the logins are of different tenants.
 */
function chooseLogin(logins: readonly FoundLogin[], { mark, tenantId }: WantedLogin): FoundLogin | undefined {
  const fitting = logins.filter(
    ({ record: { returnTo, completed } }) =>
      (mark === undefined || markOf(returnTo) === mark) &&
      (tenantId === undefined || completed?.tenantId === tenantId),
  );
  const targets = fitting.map(({ record: { completed } }) => `${completed?.baseUrl} ${completed?.tenantId}`);
  return new Set(targets).size === 1 ? fitting.at(-1) : undefined;
}

/** The mark that bivariant/page writes into the address to which its login comes back; empty without one. */
function markOf(returnTo: string): string {
  return new URL(returnTo).searchParams.get("bivariant_login") ?? "";
}
