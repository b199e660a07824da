// The registrations of one kind: how they are registered, changed, unregistered and found.
import type { z } from "zod";
import { EmulatorError, parseInput } from "../errors.js";
import { shown, shownClientId } from "../rules/shown.js";
import type { KnownIdentity } from "./fields.js";

export type RegistrationNoun = "plugin" | "service account" | "API client" | "operator";

/** What differs between plugins, service accounts, API clients and operators. */
interface Kind<Item, Registration> {
  /** The name of the kind in messages. */
  readonly noun: RegistrationNoun;
  readonly registration: z.ZodType<Registration>;
  /** A member that is left out stays, and null puts it back to its default. */
  readonly update: z.ZodType<object>;
  /** A registration or an update may be passed as an identity: their other members are ignored. */
  readonly identity: z.ZodType<KnownIdentity>;
  /** The members of the identity that are unique; the last one is the id. */
  readonly key: readonly (keyof KnownIdentity)[];
  /** Whether another kind of registration has this id. */
  isTaken?(id: string): boolean;
  /** `previous` is the record that an update replaces. */
  create(sheet: Registration, previous?: Item): Item;
}

/** Records are replaced as a whole, so a request in flight sees one consistent state. */
export class Registry<
  Item extends { readonly tenantId: string | undefined },
  Key extends readonly string[],
  Registration extends object,
> {
  /** Later updates start from `sheet`, the registration as it was entered. */
  readonly #entries = new Map<string, { readonly sheet: Registration; readonly item: Item }>();
  readonly kind: Kind<Item, Registration>;

  constructor(kind: Kind<Item, Registration>) {
    this.kind = kind;
  }

  find(...key: Key): Item | undefined {
    return this.#entries.get(JSON.stringify(key))?.item;
  }

  /** Returns the records of one tenant, or all, in the order of their registration. */
  list(tenantId?: string): Item[] {
    const items = [...this.#entries.values()].map(({ item }) => item);
    return items.filter((item) => (tenantId ?? item.tenantId) === item.tenantId);
  }

  register(input: unknown): void {
    const { noun, registration, identity, isTaken, create } = this.kind;
    const sheet = parseInput(registration, input, noun, "registration_invalid");
    const { name, id, tenantId } = this.#nameOf(identity.parse(sheet));
    if (this.#entries.has(name) || isTaken?.(id)) {
      const where = tenantId === undefined ? "" : ` in ${tenantId}`;
      throw new EmulatorError("already_registered", `${noun}: ${id} is already registered${where}`);
    }
    this.#entries.set(name, { sheet, item: create(sheet) });
  }

  update(input: unknown): void {
    const { noun, update, identity, create } = this.kind;
    const change = parseInput(update, input, `${noun} update`, "registration_invalid");
    const { name, entry } = this.#registered(identity.parse(change));
    const given = Object.entries(change).filter(([, value]) => value !== undefined);
    const members = Object.entries({ ...entry.sheet, ...Object.fromEntries(given) });
    const sheet = Object.fromEntries(members.filter(([, value]) => value !== null)) as Registration;
    this.#entries.set(name, { sheet, item: create(sheet, entry.item) });
  }

  unregister(input: unknown): Item {
    const { noun, identity } = this.kind;
    const { name, entry } = this.#registered(
      parseInput(identity, input, noun, "registration_invalid"),
    );
    this.#entries.delete(name);
    return entry.item;
  }

  #nameOf(identity: KnownIdentity) {
    const key = this.kind.key.map((member) => identity[member] ?? "");
    return { name: JSON.stringify(key), id: key.at(-1) ?? "", tenantId: identity.tenantId };
  }

  /** If the identity names a tenant, it must be the record's. */
  #registered(identity: KnownIdentity) {
    const { name, id, tenantId } = this.#nameOf(identity);
    const entry = this.#entries.get(name);
    if (entry !== undefined && (tenantId ?? entry.item.tenantId) === entry.item.tenantId)
      return { name, entry };
    const where = tenantId === undefined ? "" : ` in ${shown(tenantId)}`;
    const what = `${this.kind.noun} ${shownClientId(id)}`;
    throw new EmulatorError("not_registered", `${what} is not registered${where}`);
  }
}
