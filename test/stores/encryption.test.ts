// The encryption of stores: forms of a key, values bound to their place, and another
// implementation.
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { inspect } from "node:util";
import { beforeEach, describe, expect, test } from "vitest";
import { memoryStore, type TokenStore } from "../../src/index.js";
import { encryptedStore } from "../../src/stores/encrypted.js";
import { type EncryptionKey, fileStore } from "../../src/stores/file.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";
import { describeRefusals, describeStore, type StoreUnderTest } from "./own-store.js";
import { entryFiles, temporaryFolder } from "./temporary-folder.js";

const bytes = randomBytes(32);

let path: string;
beforeEach(() => {
  path = join(temporaryFolder(), "store");
});

interface Entry {
  name: string;
  version: string;
  expiresAt?: number;
  value: string;
}
const read = (file: string): Entry => JSON.parse(readFileSync(file, "utf8"));
const cryptoKey = (length: number, usages: KeyUsage[], name = "AES-GCM") =>
  crypto.subtle.importKey("raw", new Uint8Array(length / 8).fill(7), name, false, usages);

describe("a store is opened by its key as", () => {
  const base64 = bytes.toString("base64");
  const importing = crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
  const forms: { name: string; form: EncryptionKey | Promise<EncryptionKey> }[] = [
    { name: "bytes", form: new Uint8Array(bytes) },
    { name: "base64 without padding, with a newline", form: `${base64.replace("=", "")}\n` },
    { name: "base64url", form: bytes.toString("base64url") },
    { name: "hex in capitals", form: bytes.toString("hex").toUpperCase() },
    { name: "a CryptoKey that cannot be exported", form: importing },
  ];
  test.each(forms)("$name", async ({ form }) => {
    await fileStore(path, { key: base64 }).set("key", "value");
    expect((await fileStore(path, { key: await form }).get("key"))?.value).toBe("value");
  });

  test("bytes that the caller overwrites afterwards", async () => {
    const wiped = new Uint8Array(bytes);
    const store = fileStore(path, { key: wiped });
    wiped.fill(0);
    await store.set("key", "value");
    expect((await fileStore(path, { key: bytes }).get("key"))?.value).toBe("value");
  });
});

describe("a wrong key is refused at once, with the command that makes one:", () => {
  const both: KeyUsage[] = ["encrypt", "decrypt"];
  test.each([
    { name: "a passphrase", key: "correct horse battery staple", says: /passphrase is refused/ },
    { name: "an empty string", key: "", says: /passphrase is refused/ },
    { name: "31 bytes as base64", key: randomBytes(31).toString("base64"), says: /must be 32/ },
    { name: "33 bytes as base64", key: randomBytes(33).toString("base64"), says: /must be 32/ },
    { name: "16 bytes as hex", key: randomBytes(16).toString("hex"), says: /must be 32 bytes/ },
    { name: "base64 and base64url mixed", key: `${"A".repeat(41)}+_=`, says: /must be 32 bytes/ },
    { name: "16 bytes", key: new Uint8Array(16), says: /32 bytes, not 16/ },
    { name: "an ArrayBuffer", key: new ArrayBuffer(32), says: /bytes, text or a CryptoKey/ },
    { name: "a CryptoKey of 128 bits", key: cryptoKey(128, both), says: /256 bits/ },
    { name: "an AES-CBC key", key: cryptoKey(256, both, "AES-CBC"), says: /AES-GCM/ },
    { name: "a key that only encrypts", key: cryptoKey(256, ["encrypt"]), says: /both encrypt/ },
    { name: "a key that only decrypts", key: cryptoKey(256, ["decrypt"]), says: /both encrypt/ },
    { name: "a missing key", key: undefined, says: /plaintext: true/ },
  ])("$name", async ({ key, says }) => {
    const given = (await key) as EncryptionKey;
    const error = await rejectionOf((async () => fileStore(path, { key: given }))());
    const message = expect.stringMatching(says);
    expect(error).toMatchObject({ code: "option_invalid", option: "key", message });
    expect((error as Error).message).toContain("openssl rand -base64 32");
    if (typeof given === "string" && given !== "") expect(shown(error)).not.toContain(given);
  });

  test.each([
    { name: "a key and plaintext together", options: { key: bytes, plaintext: true } },
    { name: "plaintext that is not true", options: { plaintext: "yes" as never }, option: "key" },
    { name: "no options at all", options: undefined, option: "key" },
  ])("$name", async ({ options, option = "plaintext" }) => {
    const opening = (async () => fileStore(path, options))();
    expect(await rejectionOf(opening)).toMatchObject({ code: "option_invalid", option });
  });
});

describe("an independent implementation of RFC 7516 and RFC 7518", () => {
  const base64url = (part: string | undefined) => Buffer.from(part ?? "", "base64url");

  test("opens a value with dir, A256GCM and the protected header as additional data", async () => {
    await fileStore(path, { key: bytes }).set("key", "välue", { expiresAt: 4_000_000_000_000 });
    const [file = ""] = entryFiles(path);
    const [name, entry] = [basename(file), read(file)];
    const [header, encryptedKey, iv, ciphertext, tag] = entry.value.split(".");
    expect(JSON.parse(base64url(header).toString())).toEqual({
      alg: "dir",
      enc: "A256GCM",
      name,
      version: expect.stringMatching(/^[0-9a-f]{16}$/),
      expiresAt: 4_000_000_000_000,
    });
    expect(encryptedKey).toBe("");
    expect(base64url(iv)).toHaveLength(12);
    expect(base64url(tag)).toHaveLength(16);
    const decipher = createDecipheriv("aes-256-gcm", bytes, base64url(iv));
    decipher.setAAD(Buffer.from(header ?? "", "ascii")).setAuthTag(base64url(tag));
    const opened = Buffer.concat([decipher.update(base64url(ciphertext)), decipher.final()]);
    expect(JSON.parse(opened.toString())).toBe("välue");
  });

  test("writes a value that the store reads", async () => {
    const store = fileStore(path, { key: bytes });
    await store.set("key", "old");
    const [file = ""] = entryFiles(path);
    const { name } = read(file);
    const header = Buffer.from(JSON.stringify({ enc: "A256GCM", alg: "dir", version: "w", name }));
    const iv = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", bytes, iv);
    cipher.setAAD(Buffer.from(header.toString("base64url"), "ascii"));
    const ciphertext = Buffer.concat([cipher.update('"by the witness"'), cipher.final()]);
    const parts = [header, Buffer.alloc(0), iv, ciphertext, cipher.getAuthTag()];
    const value = parts.map((part) => part.toString("base64url")).join(".");
    writeFileSync(file, JSON.stringify({ name, version: "w", value }));
    expect(await store.get("key")).toEqual({ value: "by the witness", version: "w" });
  });

  test("derives the same names and the same key id", async () => {
    await fileStore(path, { key: bytes }).set("key", "value");
    const stream = createCipheriv("aes-256-gcm", bytes, Buffer.from("bivariant/v1"));
    const nameKey = stream.update(Buffer.alloc(32));
    const authenticated = (text: string) =>
      createHmac("sha256", nameKey).update(text).digest("base64url");
    expect(readdirSync(join(path, "entries"))).toEqual([authenticated('"key"')]);
    expect(JSON.parse(readFileSync(join(path, "store.json"), "utf8")).keyId).toBe(
      authenticated("key id"),
    );
  });
});

describe("a value that was moved or changed", () => {
  const header = Buffer.from('{"alg":"A256KW","enc":"A256GCM"}').toString("base64url");
  const changes: { name: string; change: (a: Entry, b: Entry) => unknown }[] = [
    { name: "the value of another entry", change: (a, { value }) => ({ ...a, value }) },
    { name: "another whole entry", change: (_, b) => b },
    { name: "a version changed", change: (a) => ({ ...a, version: "another" }) },
    { name: "an expiry put off", change: (a) => ({ ...a, expiresAt: 4_000_000_000_001 }) },
    { name: "an expiry taken away", change: (a) => ({ ...a, expiresAt: undefined }) },
    { name: "a value in the clear", change: (a) => ({ ...a, value: '"value a"' }) },
    {
      name: "another algorithm in its header",
      change: (a) => ({ ...a, value: a.value.replace(/^[^.]*/, header) }),
    },
  ];

  test.each(changes)("is refused, and its file is set aside: $name", async ({ change }) => {
    const store = fileStore(path, { key: bytes });
    await store.set("a", "value a", { expiresAt: 4_000_000_000_000 });
    const [file = ""] = entryFiles(path);
    await store.set("b", "value b", { expiresAt: 4_000_000_000_000 });
    const other = entryFiles(path).find((one) => one !== file) ?? "";
    writeFileSync(file, JSON.stringify(change(read(file), read(other))));
    expect(await rejectionOf(store.get("a"))).toMatchObject({ code: "store_corrupt" });
    expect(await store.get("a")).toBeUndefined();
  });

  test("encrypting a value twice makes two ciphertexts", async () => {
    const store = fileStore(path, { key: bytes });
    const seen = new Set<string>();
    for (let times = 0; times < 5; times++) {
      await store.set("key", "value");
      for (const file of entryFiles(path)) seen.add(read(file).value.split(".")[3] ?? "");
    }
    expect(seen.size).toBe(5);
  });
});

describe("encryptedStore", () => {
  const underTest: StoreUnderTest = {
    name: "over a memoryStore",
    create: (clock) => encryptedStore(memoryStore({ clock }), bytes),
  };
  describeStore(underTest);
  describeRefusals(underTest);

  test.each([
    { name: "no key", store: memoryStore(), key: undefined, option: "key" },
    { name: "no store", store: undefined as never, key: bytes, option: "store" },
    {
      name: "a client of Redis, which has no delete and lock",
      store: { get: async () => null, set: async () => "OK" } as never,
      key: bytes,
      option: "store",
    },
    {
      name: "the promise of a store",
      store: Promise.resolve(memoryStore()) as never,
      key: bytes,
      option: "store",
    },
  ])("refuses $name", ({ store, key, option }) => {
    const refusal = { code: "option_invalid", option };
    expect(() => encryptedStore(store, key)).toThrow(expect.objectContaining(refusal));
  });

  test("writes a JWE that names neither the key of its entry nor its value", async () => {
    const inner = memoryStore();
    await encryptedStore(inner, bytes).set("canary-key", "canary-value");
    const value = (await inner.get("canary-key"))?.value ?? "";
    const header = JSON.parse(Buffer.from(value.split(".")[0] ?? "", "base64url").toString());
    expect(header).toEqual({
      alg: "dir",
      enc: "A256GCM",
      name: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(Buffer.from(value, "base64url").toString("latin1")).not.toContain("canary");
  });

  test.each<{ name: string; plant: (inner: TokenStore, other: string) => Promise<unknown> }>([
    { name: "of another entry", plant: (inner, other) => inner.set("key", other) },
    {
      name: "with another key",
      plant: (inner) => encryptedStore(inner, randomBytes(32)).set("key", "planted"),
    },
    { name: "in the clear", plant: (inner) => inner.set("key", "planted") },
    {
      name: "of a fileStore with the same key",
      async plant(inner) {
        await fileStore(path, { key: bytes }).set("key", "planted");
        await inner.set("key", read(entryFiles(path)[0] ?? "").value);
      },
    },
  ])("rejects a value $name with store_corrupt, and replaces it", async ({ plant }) => {
    const inner = memoryStore();
    const store = encryptedStore(inner, bytes);
    for (const key of ["key", "other"]) await store.set(key, `planted in ${key}`);
    await plant(inner, (await inner.get("other"))?.value ?? "");
    const error = await rejectionOf(store.get("key"));
    const message = expect.stringMatching(/Use the key that wrote it, or delete the entry/);
    expect(error).toMatchObject({ name: "StoreError", code: "store_corrupt", message });
    expect(shown(error)).not.toContain("planted");
    await store.set("key", "new");
    expect((await store.get("key"))?.value).toBe("new");
  });
});

describe("a planted secret does not appear", () => {
  const [plantedValue, plantedName] = ["canary-value-5f2c", "canary-client|https://canary.example"];

  test("in the encrypted files, in the names of the locks, in the store, and in what it throws", async () => {
    const store = fileStore(path, { key: bytes });
    const { version } = await store.set(plantedName, plantedValue);
    const outputs: unknown[] = [store, inspect(store, { showHidden: true, depth: 10 })];
    await store.lock(plantedName, async () => {
      outputs.push(readdirSync(path, { recursive: true }).join("\n"));
      outputs.push(await rejectionOf(store.lock(plantedName, async () => {}, { timeoutMs: 5 })));
      const other = fileStore(path, { key: bytes });
      outputs.push(await rejectionOf(other.lock(plantedName, async () => {}, { timeoutMs: 5 })));
    });
    outputs.push(
      await rejectionOf(store.set(plantedName, plantedValue, { ifVersion: `not ${version}` })),
    );
    outputs.push(await rejectionOf(fileStore(path, { key: randomBytes(32) }).get(plantedName)));
    outputs.push(await rejectionOf(fileStore(path, { plaintext: true }).get(plantedName)));
    const [file = ""] = entryFiles(path);
    const contents = readFileSync(file, "utf8");
    const marker = readFileSync(join(path, "store.json"), "utf8");
    outputs.push(contents, Buffer.from(contents, "base64url").toString("latin1"), marker);
    writeFileSync(file, contents.slice(0, -1));
    outputs.push(await rejectionOf(store.get(plantedName)));
    const text = outputs.map((output) => shown(output)).join("\n");
    for (const form of [plantedValue, "canary-client", "canary.example"])
      expect(text).not.toContain(form);
    for (const encoding of ["base64", "base64url", "hex"] as const)
      expect(text).not.toContain(bytes.toString(encoding).replace("=", ""));
  });

  test("in what a store in plaintext throws about its file", async () => {
    const store = fileStore(path, { plaintext: true });
    await store.set(plantedName, plantedValue);
    const [file = ""] = entryFiles(path);
    const contents = readFileSync(file, "utf8");
    expect(contents).toContain(plantedValue);
    const outputs: unknown[] = [
      await rejectionOf(fileStore(path, { key: bytes }).get(plantedName)),
    ];
    writeFileSync(file, `${contents}}`);
    outputs.push(await rejectionOf(store.get(plantedName)), store);
    expect(outputs.map((output) => shown(output)).join("\n")).not.toContain("canary");
  });
});
