// Another user of a shared folder makes a link where the store will be (CWE-61, as in
// CVE-2016-1247), so that the store reads, replaces or moves away a file of its own user. Linux can
// forbid such links (fs.protected_symlinks).
import {
  chmodSync,
  lchownSync,
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
const isRoot = process.geteuid?.() === 0;
const notes = '{"notes":"of another program"}';
const others = {
  code: "store_unavailable",
  message: /is a link of another user\. Remove it, or use a path/,
};
const foreign = { code: "store_unavailable", message: /notes\.json is not a folder/ };

// Only root can make links of other users.
test.skipIf(!isRoot).each([
  { name: "a link of another user is refused", owners: [nobody], ...others },
  { name: "a link to a link of another user is refused", owners: [nobody, 0], ...others },
  {
    name: "a link of the same user is followed, and a file that is not a store is reported",
    owners: [0],
    ...foreign,
  },
])("$name, and the file behind it is not touched", async ({ owners, code, message }) => {
  const [shared, own] = [temporaryFolder(), temporaryFolder()];
  chmodSync(shared, 0o1777);
  const file = join(own, "notes.json");
  writeFileSync(file, notes, { mode: 0o600 });
  let path = file;
  for (const [index, owner] of owners.entries()) {
    const link = join(shared, `link-${index}.json`);
    symlinkSync(path, link);
    lchownSync(link, owner, owner);
    path = link;
  }
  const store = fileStore(path, { plaintext: true });
  for (const use of [
    () => store.get("key"),
    () => store.set("key", "v"),
    () => store.delete("key"),
  ])
    expect(await rejectionOf(use())).toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  expect(readFileSync(file, "utf8")).toBe(notes);
  expect(readdirSync(own)).toEqual(["notes.json"]);
});
