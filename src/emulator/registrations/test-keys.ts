// Keys for plugins that are registered without any: made once per plugin, the private half for the test's own use.
import { generateKeyPairSync } from "node:crypto";
import { seededRsaKey } from "./seeded-rsa-key.js";

export interface PluginIdentity {
  readonly tenantId: string;
  readonly clientId: string;
}

/** A private RSA key as a JWK (RFC 7518 section 6.3) with its `kid`. */
export type TestKey = Readonly<Record<string, string>>;

const RSA_BITS = 2048;
const PUBLIC_MEMBERS = ["kty", "n", "e", "kid"];

/** Where a plugin without a `jwks` gets one from. */
export interface JwksSource {
  jwksFor(plugin: PluginIdentity): { keys: TestKey[] };
}

export class TestKeys implements JwksSource {
  readonly #seed: number | undefined;
  readonly #keys = new Map<string, TestKey>();

  constructor(seed: number | undefined) {
    this.#seed = seed;
  }

  /** The public half, of a key that is made now if there was none. */
  jwksFor(plugin: PluginIdentity): { keys: TestKey[] } {
    const name = nameOf(plugin);
    const key = this.#keys.get(name) ?? this.#make(name);
    return { keys: [Object.fromEntries(PUBLIC_MEMBERS.map((member) => [member, key[member] ?? ""]))] };
  }

  find(plugin: PluginIdentity): TestKey | undefined {
    return this.#keys.get(nameOf(plugin));
  }

  #make(name: string): TestKey {
    const key = this.#seed === undefined ? randomKey() : seededRsaKey(`${this.#seed} ${name}`, RSA_BITS);
    const withId = { ...key, kid: "test-key" };
    this.#keys.set(name, withId);
    return withId;
  }
}

function nameOf({ tenantId, clientId }: PluginIdentity): string {
  return JSON.stringify([tenantId, clientId]);
}

function randomKey(): TestKey {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: RSA_BITS });
  return privateKey.export({ format: "jwk" }) as Record<string, string>;
}
