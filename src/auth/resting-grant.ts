/**
 * A person's grant as it is held here and as it rests in the store: read again before it is used, written by
 * compare-and-set, and never taken for the grant of another launch or login under the same name.
 */
import { isStoreError, LoginRequiredError, RelaunchRequiredError, type Variant } from "../errors.js";
import type { EventBody } from "./events.js";
import { findGrant, isSameGrant, type PersonGrant, type StoredGrant, writeGrant } from "./stored-grant.js";
import type { TokenStore } from "./token-store.js";

export interface RestingGrantContext {
  readonly variant: Variant;
  readonly store: TokenStore;
  readonly key: string;
  readonly tell: (event: EventBody) => void;
}

/** The person is needed again. */
export type PersonRequiredError = LoginRequiredError | RelaunchRequiredError;

export class RestingGrant {
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
