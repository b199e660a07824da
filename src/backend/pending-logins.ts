/** What is remembered of a browser that logs in, under a hash of the random id in its login cookie. */
import { z } from "zod";
import type { PendingLogin } from "../login.js";
import type { Settings } from "./backend-options.js";
import { markOf } from "./login-routes.js";
import { areEqual, hashOf, isTokenShaped, Records, randomToken } from "./records.js";
import { type SessionSubject, subjectSchema } from "./sessions.js";

/** A login that was begun: its `state` counts only in the browser whose cookie leads here. */
export interface BegunEntry {
  readonly login: PendingLogin;
  readonly tenantId: string;
  readonly baseUrl: string;
  readonly returnTo: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

type CompletedEntry = SessionSubject & { readonly mark: string; readonly fetchBefore: number };

interface Browser {
  /** Where the login that was begun last leads back to. */
  readonly returnTo: string;
  readonly begun: readonly BegunEntry[];
  /** Logins that were completed and whose sessions nobody has fetched yet, the latest last. */
  readonly completed: readonly CompletedEntry[];
}

/** Which of a browser's completed logins a page is to have; what is left out says nothing. */
export interface WantedLogin {
  /** What the page wrote into the address that its login came back to. */
  readonly mark?: string | undefined;
  readonly tenantId?: string | undefined;
}

const schema: z.ZodType<Browser> = z.object({
  returnTo: z.string(),
  begun: z.array(
    z.object({
      login: z.object({
        state: z.string(),
        codeVerifier: z.string(),
        redirectUri: z.string(),
        clientId: z.string(),
      }),
      tenantId: z.string(),
      baseUrl: z.string(),
      returnTo: z.string(),
      expiresAt: z.number(),
    }),
  ),
  completed: z.array(z.intersection(subjectSchema, z.object({ mark: z.string(), fetchBefore: z.number() }))),
});

/** How long a person may take at the authorization server, and a page to fetch its session. */
export const loginLifetimeMs = 600_000;
/** Tabs that log in at the same time; beyond these the oldest has to begin again. */
const mostTabs = 5;

export class LoginBrowsers {
  readonly #records: Records<Browser>;
  readonly #now: () => number;

  constructor({ loginStore, now }: Settings) {
    this.#records = new Records(loginStore, "login", schema);
    this.#now = now;
  }

  /** Gives the id for the cookie: the browser's own if it has one that is known, so that two tabs can log in. */
  async begin(id: string | undefined, entry: Omit<BegunEntry, "expiresAt">): Promise<string> {
    const expiresAt = this.#now() + loginLifetimeMs;
    return this.#change(id, async (browser) => {
      const begun = [...(browser?.begun ?? []), { ...entry, expiresAt }].slice(-mostTabs);
      const { completed = [] } = browser ?? {};
      return { browser: { returnTo: entry.returnTo, begun, completed }, id: browser && id };
    });
  }

  /**
   * Takes the login that a state belongs to: the second who asks gets none. Without one there may still be a page to
   * go back to.
   */
  async take(
    id: string | undefined,
    state: string | undefined,
  ): Promise<{ readonly entry?: BegunEntry; readonly returnTo?: string }> {
    if (id === undefined || !isTokenShaped(id)) return {};
    const name = await hashOf(id);
    return this.#records.lock(name, async () => {
      const browser = (await this.#records.read(name))?.value;
      if (browser === undefined) return {};
      const { returnTo } = browser;
      const entry = browser.begun.find(({ login }) => areEqual(state ?? "", login.state));
      if (entry === undefined) return { returnTo };
      const begun = browser.begun.filter((one) => one !== entry);
      await this.#records.write(name, { ...browser, begun }, { expiresAt: this.#now() + loginLifetimeMs });
      return { entry, returnTo: entry.returnTo };
    });
  }

  /**
   * Keeps a completed login until its page fetches the session, always under a new id: whoever knew the old one,
   * because they planted it, must not be the one who fetches (no session fixation).
   */
  async complete(id: string, subject: SessionSubject, returnTo: string): Promise<string> {
    const entry = { ...subject, mark: markOf(returnTo), fetchBefore: this.#now() + loginLifetimeMs };
    return this.#change(id, async (browser) => ({
      browser: {
        returnTo,
        begun: browser?.begun ?? [],
        completed: [...(browser?.completed ?? []), entry].slice(-mostTabs),
      },
      id: undefined,
    }));
  }

  /** Hands the completed login over, once: it stays when that fails. */
  async fetch<T>(
    id: string | undefined,
    wanted: WantedLogin,
    handOver: (subject: SessionSubject) => Promise<T>,
  ): Promise<T | undefined> {
    if (id === undefined || !isTokenShaped(id)) return undefined;
    const name = await hashOf(id);
    return this.#records.lock(name, async () => {
      const browser = (await this.#records.read(name))?.value;
      const completed = browser?.completed.filter(({ fetchBefore }) => this.#now() < fetchBefore) ?? [];
      const entry = chosen(completed, wanted);
      if (browser === undefined || entry === undefined) return undefined;
      const { fetchBefore, mark, ...subject } = entry;
      const handed = await handOver(subject);
      const rest = { ...browser, completed: completed.filter((one) => one !== entry) };
      await this.#records.write(name, rest, { expiresAt: this.#now() + loginLifetimeMs });
      return handed;
    });
  }

  /** Writes what is to be remembered, under the id that the change names or a new one; gives the id. */
  async #change(
    id: string | undefined,
    change: (
      browser: Browser | undefined,
    ) => Promise<{ readonly browser: Browser; readonly id: string | undefined }>,
  ): Promise<string> {
    const known = id !== undefined && isTokenShaped(id) ? await hashOf(id) : undefined;
    const run = async () => {
      const found = known === undefined ? undefined : (await this.#records.read(known))?.value;
      const changed = await change(found);
      const newId = changed.id ?? randomToken();
      const expiresAt = this.#now() + loginLifetimeMs;
      await this.#records.write(await hashOf(newId), changed.browser, { expiresAt });
      if (found !== undefined && newId !== id && known !== undefined) await this.#records.delete(known);
      return newId;
    };
    return known === undefined ? run() : this.#records.lock(known, run);
  }
}

/**
 * A page's own login, by its mark. One without a mark (of another make, or whose address was rewritten) has the latest,
 * unless it could be meant for another tenant's page: that is nobody's.
 */
function chosen(
  completed: readonly CompletedEntry[],
  { mark, tenantId }: WantedLogin,
): CompletedEntry | undefined {
  const fitting = completed.filter(
    (entry) =>
      (mark === undefined || entry.mark === mark) && (tenantId === undefined || entry.tenantId === tenantId),
  );
  const last = fitting.at(-1);
  const isSure = fitting.every(
    (entry) => entry.tenantId === last?.tenantId && entry.baseUrl === last.baseUrl,
  );
  return isSure ? last : undefined;
}
