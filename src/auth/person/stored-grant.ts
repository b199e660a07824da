/**
 * A person's grant in the store, and the handle that reads it again before each use and writes it
 * by compare-and-set. The handle never takes over the grant of another launch or login under the
 * same name.
 */
import {
  codeOf,
  isStoreError,
  LoginRequiredError,
  RelaunchRequiredError,
  StoreError,
  type Variant,
} from "../../errors.js";
import { isRedirect, isUnknownPath } from "../../http/exchange.js";
import { type AccessToken, createAccessToken, type Emit, storeFailed } from "../auth.js";
import type { StoredValue } from "../shared/token-store.js";
import type { PersonContext } from "./person-context.js";

/** The token and, in Variant B, the refresh token that renews it. */
export interface PersonGrant {
  readonly token: AccessToken;
  /** Identifies the launch or login, through all renewals. */
  readonly id?: string | undefined;
  /** The instant of the launch or login, in epoch milliseconds. */
  readonly since?: number | undefined;
  readonly refreshToken?: string | undefined;
  /**
   * When the refresh token was sent, in epoch milliseconds. Its answer is not known yet, or was
   * lost.
   */
  readonly sentAt?: number | undefined;
  /** Identifies the sending, so that the process that gave it up before recognises it. */
  readonly attempt?: string | undefined;
  /** Whether the refresh token was sent and its answer was lost, so that it may be spent. */
  readonly isOutcomeUnknown?: boolean | undefined;
  /**
   * The fingerprint of the refresh token that this one replaced: the last one that was sent and
   * answered.
   */
  readonly replaced?: string | undefined;
}

export interface StoredGrant {
  readonly grant: PersonGrant;
  readonly version: string;
}

export type PersonRequiredError = LoginRequiredError | RelaunchRequiredError;

/** Where a grant is stored. */
type GrantPlace = Pick<PersonContext, "store" | "key">;

/** @throws StoreError, also `store_corrupt` when the stored value is not a grant */
export async function readGrant(place: GrantPlace): Promise<PersonGrant | undefined> {
  const found = await findGrant(place);
  if (found === undefined || found.grant !== undefined) return found?.grant;
  const message =
    "The store holds a value under this person that is not a grant. " +
    "Delete it and ask the person to log in again.";
  throw found.fault ?? new StoreError("store_corrupt", message);
}

interface FoundGrant {
  readonly grant: PersonGrant | undefined;
  readonly version: string;
  readonly fault?: StoreError;
}

/** The grant is `undefined` if the stored value cannot be read, by the store (`fault`) or here. */
export async function findGrant({ store, key }: GrantPlace): Promise<FoundGrant | undefined> {
  try {
    const entry = await store.get(key);
    return entry && { grant: parseGrant(entry), version: entry.version };
  } catch (fault) {
    if (!isStoreError(fault) || fault.code !== "store_corrupt") throw fault;
    // No entry has this version, so that no write replaces the entry by mistake.
    return { grant: undefined, version: "", fault };
  }
}

const textOf = (value: unknown) => (typeof value === "string" ? value : undefined);

function parseGrant({ value, version }: StoredValue): PersonGrant | undefined {
  // Without a version no write could be compared with it.
  if (version === undefined) return undefined;
  try {
    const { token, refreshToken, isOutcomeUnknown, sentAt, attempt, replaced, id, since } =
      JSON.parse(value);
    if (typeof token.value !== "string" || typeof token.expiresAt !== "number") return undefined;
    if (refreshToken !== undefined && typeof refreshToken !== "string") return undefined;
    return {
      token: createAccessToken(token),
      refreshToken,
      isOutcomeUnknown: isOutcomeUnknown === true,
      sentAt: typeof sentAt === "number" ? sentAt : undefined,
      attempt: textOf(attempt),
      replaced: textOf(replaced),
      id: textOf(id),
      since: Number(since) || 0,
    };
  } catch {
    // The parser's message is dropped, since it may quote the grant.
    return undefined;
  }
}

/**
 * Writes a grant and returns its version. With `ifVersion` it replaces only that version (`null`:
 * it writes only if nothing is stored).
 *
 * @throws StoreError `store_conflict` when another process wrote or deleted it first
 */
export async function writeGrant(
  { store, key }: GrantPlace,
  { token, ...grant }: PersonGrant,
  ifVersion?: string | null,
): Promise<string> {
  const value = JSON.stringify({ token: { ...token, value: token.value }, ...grant });
  const written: unknown = await store.set(key, value, {
    ...(ifVersion !== undefined && { ifVersion }),
    // The description does not show how long a refresh token lives, so an entry with one stays
    // until it is deleted.
    ...(grant.refreshToken === undefined && { expiresAt: token.expiresAt }),
  });
  const { version } = Object(written);
  if (version !== undefined) return version;
  throw new StoreError(
    "store_corrupt",
    "The set() of the store must resolve with { value, version }.",
  );
}

export class StoredGrantHandle {
  readonly #context: PersonContext;
  #held: PersonGrant;
  /**
   * A grant that could not be written yet. It replaces the version `over`, or any older grant if
   * `over` is absent.
   */
  #unsaved: { readonly grant: PersonGrant; readonly over?: string } | undefined;
  /** Set when the grant has ended: the error of every later request for a token. */
  #over: PersonRequiredError | undefined;

  /** `isSaved`: whether the grant is already in the store. */
  constructor(context: PersonContext, grant: PersonGrant, isSaved: boolean) {
    this.#context = context;
    this.#held = grant;
    this.#unsaved = isSaved ? undefined : { grant };
  }

  get held(): PersonGrant {
    return this.#held;
  }

  get over(): PersonRequiredError | undefined {
    return this.#over;
  }

  /** @throws RelaunchRequiredError, LoginRequiredError when there will be no other token */
  requireAlive(): void {
    if (this.#over !== undefined) throw this.#over;
  }

  /** Writes a grant that could not be written before. */
  async flush(emit: Emit): Promise<void> {
    if (this.#unsaved === undefined) return;
    const { grant, over = await this.#versionBefore(grant) } = this.#unsaved;
    await this.save(grant, over, emit);
  }

  /** Does the same, then reads the stored grant and holds it. */
  async read(emit: Emit): Promise<StoredGrant> {
    await this.flush(emit);
    return this.#take(await this.#find());
  }

  async version(): Promise<string | undefined> {
    return (await this.#find())?.version;
  }

  /**
   * Writes a grant and holds it. If another process wrote one meanwhile, that one is held instead.
   */
  async save(grant: PersonGrant, over: string | null, emit: Emit): Promise<PersonGrant> {
    // Without a version to compare against, the next read finds the version again.
    this.#unsaved = over === null ? { grant } : { grant, over };
    const version = await this.write(grant, over);
    if (version === undefined) emit({ type: "store_failed", code: "store_conflict" });
    const stored = version === undefined ? await this.#find() : { grant, version };
    this.#unsaved = undefined;
    return this.#take(stored).grant;
  }

  /**
   * Does the same as `save`, but only reports a failing store: the grant is held, and written
   * later.
   */
  async saveOrHold(grant: PersonGrant, over: string, emit: Emit): Promise<void> {
    try {
      await this.save(grant, over, emit);
    } catch (error) {
      if (this.#over !== undefined) throw error;
      this.#held = grant;
      emit(storeFailed(error));
    }
  }

  /**
   * Writes a grant without holding it. Returns its version, or `undefined` if another process was
   * faster.
   */
  async write(grant: PersonGrant, over: string | null): Promise<string | undefined> {
    const version = await writeGrant(this.#context, grant, over).catch((error: unknown) => {
      if (!isConflict(error)) throw error;
      return undefined;
    });
    // The grant was forgotten during the write, so nothing else deletes what was written.
    if (version !== undefined && this.#over !== undefined) await this.#delete(version);
    this.requireAlive();
    return version;
  }

  /** Deletes this version. Returns whether the store still held it. */
  async #delete(version: string): Promise<boolean> {
    const { store, key } = this.#context;
    try {
      // `store.delete` compares no version. An entry that has expired is missing too.
      await store.set(key, "", { ifVersion: version, expiresAt: 1 });
    } catch (error) {
      if (isConflict(error)) return false;
      // A store that is full still deletes.
      await store.delete(key);
    }
    return true;
  }

  /** Ends the grant, here and in the store. Returns `false` if another process was faster. */
  async end(error: PersonRequiredError, version: string): Promise<boolean> {
    const isOver = (await this.#delete(version)) || (await this.#find()) === undefined;
    if (isOver) this.#end(error);
    return isOver;
  }

  /**
   * Ends the grant, and deletes it from the store unless a later launch or login took its place.
   */
  async forget(): Promise<void> {
    this.#over = this.expired("was ended (forget)");
    this.#unsaved = undefined;
    const { store, key } = this.#context;
    // Another process may renew the grant between the two calls.
    for (let turn = 0; turn < 10; turn++) {
      const found = await findGrant(this.#context);
      if (found === undefined) return;
      if (found.grant === undefined) break;
      if (found.grant.id !== this.#held.id || (await this.#delete(found.version))) return;
    }
    await store.delete(key);
  }

  /** The error for a grant that is over. Making it ends nothing. */
  expired(problem: string): PersonRequiredError {
    const { variant } = this.#context;
    return personRequiredError(variant, "expired", `${subject[variant]} ${problem}.`);
  }

  async #find() {
    const found = await findGrant(this.#context);
    if (found === undefined) return undefined;
    const { grant, version } = found;
    if (grant !== undefined) return { grant, version };
    // The stored refresh token cannot be read, so it is unknown whether it is spent.
    throw this.#end(this.expired("cannot be read from the store"));
  }

  #take(stored: StoredGrant | undefined): StoredGrant {
    if (stored === undefined) throw this.#end(this.expired("was ended elsewhere"));
    if (stored.grant.id !== this.#held.id) throw this.#end(this.#replaced());
    this.#held = stored.grant;
    return stored;
  }

  /**
   * Returns the version that a grant which was never stored may replace: an older login's, not a
   * later one's.
   */
  async #versionBefore(grant: PersonGrant) {
    const { grant: found, version = null } = (await findGrant(this.#context)) ?? {};
    const isLater = (found?.since ?? 0) > (grant.since ?? 0);
    if (found !== undefined && isLater && found.id !== grant.id) throw this.#end(this.#replaced());
    return version;
  }

  #replaced(): PersonRequiredError {
    return this.expired("was replaced by another under the same name");
  }

  #end(error: PersonRequiredError): PersonRequiredError {
    this.#over = error;
    this.#held = { ...this.#held, refreshToken: undefined };
    return error;
  }
}

/** Whether another process wrote first. */
function isConflict(error: unknown): boolean {
  return codeOf(error) === "store_conflict";
}

const subject = { A: "The launch", B: "The login" } as const;

export function personRequiredError(
  variant: Variant,
  outcome: "refused" | "expired" | "outcome_unknown",
  problem: string,
  cause?: unknown,
): PersonRequiredError {
  const advice = variant === "A" ? "open the plugin" : "log in";
  const { status = 0, message: detail } = Object(cause) as { status?: number; message?: string };
  // The address may be wrong, and then another code would not help.
  const isOfAddress = isRedirect({ status }) || isUnknownPath({ status });
  const seen = isOfAddress ? ` ${detail}` : ` The answer had the status ${status}.`;
  const answer = status > 0 && outcome === "outcome_unknown" ? seen : "";
  const message = `${problem}${answer} Ask the person to ${advice} again.`;
  return variant === "A"
    ? new RelaunchRequiredError(`launch_${outcome}`, message, { cause })
    : new LoginRequiredError(`login_${outcome}`, message, { cause });
}
