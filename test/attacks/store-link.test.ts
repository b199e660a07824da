// Another user of a shared folder makes a link where the store will be (CWE-61, as in CVE-2016-1247), so
// that the store reads, replaces or moves away a file of its own user. Linux can forbid such links (fs.protected_symlinks).
import {
  chmodSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fileStore } from "../../src/stores/file.js";
import { temporaryFolder } from "../stores/temporary-folder.js";
import { rejectionOf } from "../support/wait.js";

const nobody = 65_534;
const posix = process.platform !== "win32";
const notes = '{"notes":"of another program"}';

/** A shared folder, and the user's own folder with a file that is no store. */
function folders(): { shared: string; own: string; file: string } {
  const [shared, own] = [temporaryFolder(), temporaryFolder()];
  chmodSync(shared, 0o1777);
  const file = join(own, "notes.json");
  writeFileSync(file, notes, { mode: 0o600 });
  return { shared, own, file };
}
const uses = (path: string) => {
  const store = fileStore(path, { plaintext: true });
  return [() => store.get("key"), () => store.set("key", "v"), () => store.delete("key")];
};

test.skipIf(process.geteuid?.() !== 0).each([
  { name: "a link of another user", hops: [] },
  { name: "a link of the same user to a link of another one", hops: ["own.json"] },
])("$name to a file of this user is refused, and the file stays", async ({ hops }) => {
  const { shared, own, file } = folders();
  const evil = join(shared, "store.json");
  symlinkSync(file, evil);
  lchownSync(evil, nobody, nobody);
  for (const hop of hops) symlinkSync(evil, join(shared, hop));
  for (const use of uses(join(shared, hops[0] ?? "store.json")))
    expect(await rejectionOf(use())).toMatchObject({
      code: "store_unavailable",
      message: `${evil} is a link of another user. Remove it, or use a path in a folder of your own.`,
    });
  expect(readFileSync(file, "utf8")).toBe(notes);
  expect(readdirSync(own)).toEqual(["notes.json"]);
});

test.skipIf(!posix)("a file behind a link that is not a store is reported, and never moved", async () => {
  const { shared, own, file } = folders();
  symlinkSync(file, join(shared, "store.json"));
  for (const use of uses(join(shared, "store.json")))
    expect(await rejectionOf(use())).toMatchObject({
      code: "store_corrupt",
      message: expect.stringMatching(/is a link to .*notes\.json.*left as it is. Correct the link/),
    });
  expect(readFileSync(file, "utf8")).toBe(notes);
  expect(readdirSync(own).filter((name) => name.includes("corrupt"))).toEqual([]);
});

test.skipIf(!posix)(
  "an honest link of the same user is used, also through another and relative to it",
  async () => {
    const { shared, own } = folders();
    mkdirSync(join(own, "far"), { mode: 0o700 });
    await fileStore(join(own, "far", "store.json"), { plaintext: true }).set("key", "value");
    symlinkSync("far/store.json", join(own, "near.json"));
    symlinkSync(join(own, "near.json"), join(shared, "store.json"));
    const byLink = fileStore(join(shared, "store.json"), { plaintext: true });
    expect((await byLink.get("key"))?.value).toBe("value");
    await byLink.set("key", "new");
    expect(readdirSync(join(own, "far")).sort()).toEqual(["store.json", "store.json.locks"]);
  },
);
