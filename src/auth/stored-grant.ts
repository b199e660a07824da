/** What a person granted, as it rests in a store: the token and, in Variant B, what renews it. */
import {
  isStoreError,
  LoginRequiredError,
  RelaunchRequiredError,
  StoreError,
  type Variant,
} from "../errors.js";
import type { Target } from "../variants/target.js";
import { type AccessToken, createAccessToken } from "./auth.js";
import type { EventBody } from "./events.js";
import type { StoredValue, TokenStore } from "./token-store.js";

export interface PersonGrant {
  readonly token: AccessToken;
  /** Of the launch or login that it came from, through all its renewals: tells it from another's under the same name. */
  readonly id?: string | undefined;
  /** When that was, epoch milliseconds. */
  readonly since?: number | undefined;
  readonly refreshToken?: string | undefined;
  /** The refresh token was sent then, epoch milliseconds, and what came of it is not known yet, or never will be. */
  readonly sentAt?: number | undefined;
  /** The refresh token was sent and no answer came: whether it is spent nobody knows. */
  readonly isOutcomeUnknown?: boolean | undefined;
}

export interface StoredGrant {
  readonly grant: PersonGrant;
  readonly version: string;
}

/** Whose grant it is: one key in the store. */
export function grantKey(variant: Variant, target: Target, clientId: string, person: string): string {
  return JSON.stringify(["grant", variant, target.baseUrl, target.tenantId, clientId, person]);
}

/** Whether two grants come from the same launch or login. */
export function isSameGrant(left: PersonGrant, right: PersonGrant): boolean {
  return left.id === right.id;
}

/** @throws StoreError, also `store_corrupt` for what is no grant */
export async function readGrant(store: TokenStore, key: string): Promise<StoredGrant | undefined> {
  const found = await findGrant(store, key);
  if (found === undefined) return undefined;
  const { grant, version } = found;
  if (grant !== undefined) return { grant, version };
  throw new StoreError(
    "store_corrupt",
    "What rests in the store under this person is no grant. Delete it and log in again.",
  );
}

/** For whoever replaces or deletes what rests there, even if it is no grant. @throws StoreError */
export async function findGrant(
  store: TokenStore,
  key: string,
): Promise<{ readonly grant: PersonGrant | undefined; readonly version: string } | undefined> {
  const entry = await store.get(key);
  return entry && { grant: parse(entry), version: entry.version };
}

/**
 * Writes over `ifVersion` only (`null`: only where there is none; left out: over anything); gives the new version.
 *
 * @throws StoreError `store_conflict` when somebody else wrote or forgot it first
 */
export async function writeGrant(
  store: TokenStore,
  key: string,
  { token, ...grant }: PersonGrant,
  ifVersion?: string | null,
): Promise<string> {
  const value = JSON.stringify({ token: { ...token, value: token.value }, ...grant });
  // How long a refresh token lives is not shown: with one the entry stays until it is refused or forgotten.
  const expiry = grant.refreshToken === undefined ? { expiresAt: token.expiresAt } : {};
  const over = ifVersion === undefined ? {} : { ifVersion };
  const { version } = await store.set(key, value, { ...over, ...expiry });
  return version;
}

function parse({ value }: StoredValue): PersonGrant | undefined {
  try {
    const { token, refreshToken, isOutcomeUnknown, sentAt, id, since } = JSON.parse(value);
    const isToken = typeof token.value === "string" && typeof token.expiresAt === "number";
    const isRefresh = refreshToken === undefined || typeof refreshToken === "string";
    if (isToken && isRefresh)
      return {
        ...{ token: createAccessToken(token), refreshToken, isOutcomeUnknown: isOutcomeUnknown === true },
        ...(typeof sentAt === "number" && { sentAt }),
        ...{ id: typeof id === "string" ? id : undefined, since: Number(since) || 0 },
      };
  } catch {
    // What the parser says of it may quote it.
  }
  return undefined;
}

export interface RestingGrantContext {
  readonly variant: Variant;
  readonly store: TokenStore;
  readonly key: string;
  readonly tell: (event: EventBody) => void;
}

/** The person is needed again. */
export type PersonRequiredError = LoginRequiredError | RelaunchRequiredError;

export class StoredGrantHandle {
  readonly #context: RestingGrantContext;
  #held: PersonGrant;
  /** What was had but could not be persisted yet, and the version it goes over; without one, what is older. */
  #unsaved: { readonly grant: PersonGrant; readonly over?: string } | undefined;
  /** Why there will be no other token. */
  #over: PersonRequiredError | undefined;

  /** `isSaved` false: the grant is not in the store yet. */
  constructor(context: RestingGrantContext, grant: PersonGrant, isSaved: boolean) {
    this.#context = context;
    this.#held = grant;
    this.#unsaved = isSaved ? undefined : { grant };
  }

  /** As it was read or written last. */
  get held(): PersonGrant {
    return this.#held;
  }

  /** Why it is over, if it is. */
  get over(): PersonRequiredError | undefined {
    return this.#over;
  }

  /** @throws RelaunchRequiredError, LoginRequiredError once there will be no other token */
  requireAlive(): void {
    if (this.#over !== undefined) throw this.#over;
  }

  /** Ends it here and in the store. */
  async forget(): Promise<void> {
    this.#over = this.expired("was ended (forget)");
    this.#unsaved = undefined;
    const { store, key } = this.#context;
    const found = await findGrant(store, key);
    // A later login under the same name goes on; what is torn is nobody's.
    if (found?.grant === undefined || isSameGrant(found.grant, this.#held)) await store.delete(key);
  }

  /** Persists what could not be persisted before, then reads what rests in the store, which is held from now on. */
  async read(): Promise<StoredGrant> {
    if (this.#unsaved !== undefined) {
      const { grant, over = await this.#versionBefore(grant) } = this.#unsaved;
      await this.save(grant, over);
    }
    return this.#take(await this.#find());
  }

  /** The version that the store holds now, if any. */
  async version(): Promise<string | undefined> {
    return (await this.#find())?.version;
  }

  /** Persists a grant, then holds it. What another wrote meanwhile wins: with rotation only the newest lives. */
  async save(grant: PersonGrant, over: string | null): Promise<PersonGrant> {
    const { store, key, tell } = this.#context;
    // Over nothing: whoever comes back to it looks again at what rests there.
    this.#unsaved = over === null ? { grant } : { grant, over };
    try {
      await writeGrant(store, key, grant, over);
      this.#held = grant;
    } catch (error) {
      if (!isStoreError(error) || error.code !== "store_conflict") throw error;
      tell({ type: "store_failed", code: error.code });
      const stored = await this.#find();
      this.#unsaved = undefined;
      this.#take(stored);
    }
    this.#unsaved = undefined;
    return this.#held;
  }

  /** As `save`, for what is known already of an answer: a store that fails is told of, and tried again later. */
  async note(grant: PersonGrant, over: string): Promise<void> {
    try {
      await this.save(grant, over);
    } catch (error) {
      if (this.#over !== undefined) throw error;
      this.#held = grant;
      this.#context.tell({
        type: "store_failed",
        code: isStoreError(error) ? error.code : "store_unavailable",
      });
    }
  }

  /** Writes over a version; `undefined` when somebody else was faster. */
  async replace({ version }: StoredGrant, grant: PersonGrant): Promise<StoredGrant | undefined> {
    const { store, key } = this.#context;
    try {
      return { grant, version: await writeGrant(store, key, grant, version) };
    } catch (error) {
      if (isStoreError(error) && error.code === "store_conflict") return undefined;
      throw error;
    }
  }

  /** Takes it out of the store, for good. */
  async end<E extends PersonRequiredError>(error: E): Promise<E> {
    await this.#context.store.delete(this.#context.key);
    return this.#end(error);
  }

  /** The error for a grant that is over; nothing ends by it. */
  expired(why: string): PersonRequiredError {
    return this.#context.variant === "A"
      ? new RelaunchRequiredError(
          "launch_expired",
          `The launch ${why}. Ask the person to open the plugin again.`,
        )
      : new LoginRequiredError("login_expired", `The login ${why}. Ask the person to log in again.`);
  }

  async #find(): Promise<StoredGrant | undefined> {
    const found = await findGrant(this.#context.store, this.#context.key);
    if (found === undefined) return undefined;
    const { grant, version } = found;
    // Whether its refresh token is spent nobody can tell.
    if (grant === undefined) throw this.#end(this.expired("cannot be read in the store any more"));
    return { grant, version };
  }

  #take(stored: StoredGrant | undefined): StoredGrant {
    if (stored === undefined) throw this.#end(this.expired("was ended elsewhere"));
    if (!isSameGrant(stored.grant, this.#held)) throw this.#end(this.#replaced());
    this.#held = stored.grant;
    return stored;
  }

  /** What a grant that never came into the store goes over: an older login's, never a later one's. */
  async #versionBefore(grant: PersonGrant): Promise<string | null> {
    const { grant: found, version = null } = (await findGrant(this.#context.store, this.#context.key)) ?? {};
    const isLater = (found?.since ?? 0) > (grant.since ?? 0);
    if (found !== undefined && isLater && !isSameGrant(found, grant)) throw this.#end(this.#replaced());
    return version;
  }

  #replaced(): PersonRequiredError {
    return this.expired("was replaced by another under the same name");
  }

  #end<E extends PersonRequiredError>(error: E): E {
    this.#over = error;
    this.#held = { ...this.#held, refreshToken: undefined };
    return error;
  }
}
