// The store in a file: it keeps the promises of every store, on the disk and for its user alone.
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { TokenStore } from "../../src/index.js";
import { fileStore } from "../../src/stores/file.js";
import { steppedClock } from "../support/clock.js";
import { rejectionOf } from "../support/wait.js";
import { describeRefusals, describeStore, type StoreUnderTest } from "./conformance.js";
import { temporaryFolder } from "./temporary-folder.js";

const key = Buffer.alloc(32, "0123456789abcdef").toString("base64");

const encrypted: StoreUnderTest = {
  name: "fileStore",
  create: ({ now }) => fileStore(join(temporaryFolder(), "store.json"), { key, now }),
};
const plain: StoreUnderTest = {
  name: "fileStore in plaintext",
  create: ({ now }) => fileStore(join(temporaryFolder(), "store.json"), { plaintext: true, now }),
};
for (const underTest of [encrypted, plain]) {
  describeStore(underTest);
  describeRefusals(underTest);
}

test.each([null, 5, { key, now: 5 }, { plaintext: true, now: "now" }])(
  "the options %j are refused",
  (options) => {
    const open = () => fileStore(join(temporaryFolder(), "store.json"), options as never);
    expect(open).toThrow(expect.objectContaining({ code: "option_invalid" }));
  },
);

describeStore({
  name: "a pair of fileStores on one file, asked by turns,",
  create({ now }) {
    const path = join(temporaryFolder(), "store.json");
    const pair = [fileStore(path, { key, now }), fileStore(path, { key, now })] as const;
    let asked = 0;
    const next = () => pair[asked++ % 2 === 0 ? 0 : 1];
    const byTurns: TokenStore = {
      get: (name) => next().get(name),
      set: (...rest) => next().set(...rest),
      delete: (name) => next().delete(name),
      lock: (...rest) => next().lock(...rest),
    };
    return byTurns;
  },
});

describe("the file of a store", () => {
  const mode = (path: string) => statSync(path).mode & 0o777;

  test.skipIf(process.platform === "win32")(
    "it, its folder and its locks are its user's alone, whatever the umask",
    async () => {
      const umask = process.umask(0);
      onTestFinished(() => void process.umask(umask));
      const path = join(temporaryFolder(), "new", "store.json");
      await fileStore(path, { key }).set("key", "value");
      expect([path, join(path, ".."), `${path}.locks`].map(mode)).toEqual([0o600, 0o700, 0o700]);
    },
  );

  test("reading where nothing was ever written makes no file and no folder", async () => {
    const folder = join(temporaryFolder(), "new");
    expect(await fileStore(join(folder, "store.json"), { key }).get("key")).toBeUndefined();
    expect(existsSync(folder)).toBe(false);
  });

  test("a relative path means the folder that was current when the store was made", async () => {
    const folder = temporaryFolder();
    const store = fileStore(relative(process.cwd(), join(folder, "store.json")), { key });
    const cwd = process.cwd();
    onTestFinished(() => process.chdir(cwd));
    process.chdir("/");
    await store.set("key", "value");
    expect(existsSync(join(folder, "store.json"))).toBe(true);
  });

  test("nothing but the file and the folder of its locks is left, and in that nobody", async () => {
    const path = join(temporaryFolder(), "store.json");
    const store = fileStore(path, { key });
    await Promise.all(
      Array.from({ length: 5 }, (_, index) =>
        store.lock(`key ${index}`, () => store.set(`key ${index}`, "value")),
      ),
    );
    await rejectionOf(store.set("key 1", "value", { ifVersion: "none" }));
    expect(readdirSync(join(path, "..")).sort()).toEqual(["store.json", "store.json.locks"]);
    expect(readdirSync(`${path}.locks`, { recursive: true }).sort()).toEqual([
      "write",
      join("write", "free"),
    ]);
  });

  test("what another store wrote is read at once, also when size and times of the file stay", async () => {
    const path = join(temporaryFolder(), "store.json");
    const [one, other] = [fileStore(path, { key }), fileStore(path, { key })];
    for (let count = 0; count < 50; count++) {
      await one.set("key", String(count % 10));
      expect((await other.get("key"))?.value).toBe(String(count % 10));
    }
  });

  test("what expired is dropped from the file by the next write", async () => {
    const clock = steppedClock();
    const path = join(temporaryFolder(), "store.json");
    const store = fileStore(path, { plaintext: true, now: clock.now });
    await store.set("short", "value-that-expires", { expiresAt: clock.now() + 1 });
    clock.advance(1);
    expect(readFileSync(path, "utf8")).toContain("value-that-expires");
    await store.set("other", "value");
    expect(readFileSync(path, "utf8")).not.toContain("value-that-expires");
  });

  test.skipIf(process.platform === "win32")(
    "a link is followed: it stays, its target is replaced, and both names meet at one lock",
    async () => {
      const folder = temporaryFolder();
      mkdirSync(join(folder, "far"));
      const [link, target] = [join(folder, "link.json"), join(folder, "far", "store.json")];
      await fileStore(target, { key }).set("key", "old");
      symlinkSync(target, link);
      const byLink = fileStore(link, { key });
      await byLink.set("key", "new");
      expect(lstatSync(link).isSymbolicLink()).toBe(true);
      expect(readlinkSync(link)).toBe(target);
      const byTarget = fileStore(target, { key });
      expect((await byTarget.get("key"))?.value).toBe("new");
      const error = await byLink.lock("key", () =>
        rejectionOf(byTarget.lock("key", async () => {}, { timeoutMs: 20 })),
      );
      expect(error).toMatchObject({ code: "store_locked" });
    },
  );
});
