// The registrations of one kind: how they are registered, changed, unregistered and found.
import type { z } from "zod";
import { EmulatorError, parseInput } from "../errors.js";
import { shown, shownClientId } from "../shown.js";

/** What differs between plugins, service accounts, API clients and operators. */
interface Kind<Item, Key extends readonly string[], Identity, Registration, Update> {
  /** As messages call one. */
  readonly noun: string;
  readonly registration: z.ZodType<Registration>;
  readonly update: z.ZodType<Update>;
  /** Reads the identity from a registration or an update too: other members are ignored. */
  readonly identity: z.ZodType<Identity>;
  /** Under which a record is stored; the last part is its id. */
  keyOf(identity: Identity): Key;
  /** Whether another kind of registration has this key. */
  isTaken?(key: Key): boolean;
  create(registration: Registration): Item;
  change(item: Item, update: Update, now: number): Item;
}

/** Records are replaced as a whole, so a request in flight sees one consistent state. */
export class Registry<
  Item extends { readonly tenantId: string | undefined },
  Key extends readonly string[],
  Identity extends { readonly tenantId?: string | undefined },
  Registration,
  Update,
> {
  readonly #items = new Map<string, Item>();
  readonly #kind: Kind<Item, Key, Identity, Registration, Update>;

  constructor(kind: Kind<Item, Key, Identity, Registration, Update>) {
    this.#kind = kind;
  }

  find(...key: Key): Item | undefined {
    return this.#items.get(JSON.stringify(key));
  }

  /** The records of one tenant, or all, in the order of their registration. */
  list(tenantId?: string): Item[] {
    return [...this.#items.values()].filter((item) => (tenantId ?? item.tenantId) === item.tenantId);
  }

  register(input: unknown): void {
    const { noun, registration, identity, keyOf, isTaken, create } = this.#kind;
    const sheet = parseInput(registration, input, "registration_invalid", noun);
    const key = keyOf(identity.parse(sheet));
    if (this.find(...key) !== undefined || isTaken?.(key)) {
      const [id, tenantId] = key.toReversed();
      const where = tenantId === undefined ? "" : ` in ${tenantId}`;
      throw new EmulatorError("already_registered", `${noun}: ${id} is already registered${where}`);
    }
    this.#items.set(JSON.stringify(key), create(sheet));
  }

  update(input: unknown, now: number): void {
    const { noun, update, identity, change } = this.#kind;
    const read = parseInput(update, input, "registration_invalid", `${noun} update`);
    const { item, key } = this.#registered(identity.parse(read));
    this.#items.set(JSON.stringify(key), change(item, read, now));
  }

  /** Returns the removed record. */
  unregister(input: unknown): Item {
    const { noun, identity } = this.#kind;
    const { item, key } = this.#registered(parseInput(identity, input, "registration_invalid", noun));
    this.#items.delete(JSON.stringify(key));
    return item;
  }

  /** A tenant that is named must be the record's own. */
  #registered(identity: Identity): { item: Item; key: Key } {
    const { noun, keyOf } = this.#kind;
    const { tenantId } = identity;
    const key = keyOf(identity);
    const item = this.find(...key);
    if (item !== undefined && (tenantId ?? item.tenantId) === item.tenantId) return { item, key };
    const where = tenantId === undefined ? "" : ` in ${shown(tenantId)}`;
    throw new EmulatorError(
      "not_registered",
      `${noun} ${shownClientId(key.at(-1))} is not registered${where}`,
    );
  }
}
