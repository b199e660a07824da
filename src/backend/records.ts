/** The backend's own entries in the token store: JSON of a known shape, each kind under a prefix of its own. */
import type { z } from "zod";
import type { TokenStore } from "../auth/token-store.js";
import { isStoreError } from "../errors.js";

export interface Found<T> {
  readonly value: T;
  readonly version: string;
}

/** Entries of one kind. What cannot be read is none: a torn entry must not keep a person out for ever. */
export class Records<T> {
  readonly #store: TokenStore;
  readonly #kind: string;
  readonly #schema: z.ZodType<T>;

  constructor(store: TokenStore, kind: string, schema: z.ZodType<T>) {
    this.#store = store;
    this.#kind = kind;
    this.#schema = schema;
  }

  async read(name: string): Promise<Found<T> | undefined> {
    const entry = await this.#store.get(this.#key(name));
    if (entry === undefined) return undefined;
    try {
      const parsed = this.#schema.safeParse(JSON.parse(entry.value));
      return parsed.success ? { value: parsed.data, version: entry.version } : undefined;
    } catch {
      return undefined;
    }
  }

  /** With `ifVersion` false when somebody else wrote it meanwhile, or took it away; otherwise true. */
  async write(
    name: string,
    value: T,
    options: { readonly ifVersion?: string | null; readonly expiresAt: number },
  ): Promise<boolean> {
    try {
      await this.#store.set(this.#key(name), JSON.stringify(value), options);
      return true;
    } catch (error) {
      if (isStoreError(error) && error.code === "store_conflict") return false;
      throw error;
    }
  }

  async delete(name: string): Promise<void> {
    await this.#store.delete(this.#key(name));
  }

  /** Runs a task while nobody else, in any process, runs one under the same name. */
  async lock<R>(name: string, task: () => Promise<R>): Promise<R> {
    return this.#store.lock(this.#key(name), task);
  }

  #key(name: string): string {
    return `bivariant:backend:${this.#kind}:${name}`;
  }
}
