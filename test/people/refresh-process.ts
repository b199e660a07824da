// One of several processes that share a login in a file: asks for 25 tokens at once and prints them.
import { readFileSync } from "node:fs";
import { apiClient, resumeAuth } from "../../src/index.js";
import { fileStore } from "../../src/stores/file.js";

const { url, path, key, now, client } = JSON.parse(readFileSync(0, "utf8"));
const auth = await resumeAuth({
  baseUrl: url,
  tenantId: "acme",
  credential: apiClient(client),
  person: "session-1",
  store: fileStore(path, { key, now: () => now }),
  now: () => now,
});
const tokens = await Promise.all(Array.from({ length: 25 }, () => auth?.getAccessToken()));
process.stdout.write(JSON.stringify(tokens.map((token) => token?.value)));
