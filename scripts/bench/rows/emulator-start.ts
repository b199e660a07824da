// Measures the time from a loaded module to the emulator's first answered token request, each in a
// new process.
import { spawnSync } from "node:child_process";
import { duration, medianOf, type Row, sample } from "../measure.js";

interface Start {
  readonly importMs: number;
  readonly createMs: number;
  readonly answerMs: number;
}

function start(folder: string): Start {
  const program = `
    const begunAt = performance.now();
    const { createEmulator } = await import("./dist/src/emulator/index.js");
    const importedAt = performance.now();
    const account = { tenantId: "acme", clientId: "worker", clientSecret: "secret" };
    const emulator = createEmulator({ seed: { serviceAccounts: [account] } });
    const createdAt = performance.now();
    const headers = { "content-type": "application/json" };
    const fields = { grant_type: "client_credentials", client_id: "worker", client_secret: "secret" };
    const init = { method: "POST", headers, body: JSON.stringify(fields) };
    const { access_token } = await (await emulator.fetch("/v1/auth/token", init)).json();
    const answeredAt = performance.now();
    if (access_token === undefined) throw new Error("no token");
    const [importMs, createMs] = [importedAt - begunAt, createdAt - importedAt];
    console.log(JSON.stringify({ importMs, createMs, answerMs: answeredAt - createdAt }));
  `;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--input-type=module", "--eval", program],
    {
      cwd: folder,
      encoding: "utf8",
      env: { ...process.env, NODE_OPTIONS: "" },
    },
  );
  if (status !== 0) throw new Error(`the emulator did not start: ${stderr}`);
  return JSON.parse(stdout) as Start;
}

export const emulatorStart: Row = {
  name: "emulator-start",
  title: "starting the emulator in-process, its first token request answered",
  unit: "ms",
  aim: 50,
  seconds: 8,
  async measure({ folder }, limit) {
    // The first start reads the files from the disk.
    start(folder);
    const starts: Start[] = [];
    const interval = await sample(() => {
      const once = start(folder);
      starts.push(once);
      return once.createMs + once.answerMs;
    }, limit);
    const ms = (part: keyof Start): string => duration(medianOf(starts.map((one) => one[part])));
    const detail =
      `createEmulator ${ms("createMs")}, its first answer ${ms("answerMs")}; ` +
      `loading the module before that ${ms("importMs")}`;
    return { ...interval, ours: duration(interval.value), detail };
  },
};
