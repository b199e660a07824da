// One of several processes that share logins in a file: asks for tokens at each deployment, `calls`
// at once and then one more, and prints the tokens or the codes of the errors.
import { readFileSync } from "node:fs";
import { apiClient, resumeAuth } from "../../src/index.js";
import { fileStore } from "../../src/stores/file.js";

const { urls, path, key, now, client, calls, ...options } = JSON.parse(readFileSync(0, "utf8"));
const own = { ...options, tenantId: "acme", person: "session-1", clock: { now: () => now } };
const store = fileStore(path, { key, clock: own.clock });
const credential = apiClient(client);
const resume = (baseUrl: string): ReturnType<typeof resumeAuth> =>
  resumeAuth({ ...own, baseUrl, credential, store }).catch((error) => {
    if (error.code === "store_unavailable") return resume(baseUrl);
    throw error;
  });
const asked = urls.map(async (baseUrl: string) => {
  const auth = await resume(baseUrl);
  const outcome = () =>
    auth?.getAccessToken().then(
      ({ value }) => value,
      ({ code }) => code,
    );
  const ask = async () => {
    for (;;) {
      const found = await outcome();
      // Another process holds the lock for longer than usual, or the disk is busy.
      if (!["store_locked", "store_unavailable"].includes(found)) return found;
    }
  };
  const outcomes = await Promise.all(Array.from({ length: calls }, ask));
  return [...outcomes, await ask()];
});
process.stdout.write(JSON.stringify(await Promise.all(asked)));
