// Compares loading the main entry with loading openapi-fetch and oauth4webapi, each in a new process.
import { spawnSync } from "node:child_process";
import { duration, medianOf, type Row, sample } from "../measure.js";

/** Also makes a first token request, which loads the lazy modules. */
const CONNECTED = `
  const { connect, servicePlugin } = await import(modules[0]);
  const privateKey = { keyId: "k", sign: () => new Uint8Array(256) };
  const credentials = [servicePlugin({ clientId: "bench", privateKey })];
  await connect({ baseUrl: "https://service.example", tenantId: "t", credentials });
`;

/** Milliseconds that the imports took, without Node's own start. */
function importMs(folder: string, modules: readonly string[], then = ""): number {
  const program = `
    const modules = ${JSON.stringify(modules)};
    const startedAt = performance.now();
    await Promise.all(modules.map((name) => import(name)));
    ${then}
    console.log(performance.now() - startedAt);
  `;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  if (status !== 0) throw new Error(`an import failed: ${stderr}`);
  return Number(stdout);
}

export const importTime: Row = {
  name: "import-time",
  title: "importing bivariant against importing openapi-fetch and oauth4webapi",
  unit: "times",
  aim: 1.25,
  seconds: 20,
  async measure({ folder, main }, limit) {
    const rounds: { ours: number; theirs: number; connected: number }[] = [];
    const interval = await sample(() => {
      const ours = importMs(folder, [main]);
      const theirs = importMs(folder, ["openapi-fetch", "oauth4webapi"]);
      const connected = importMs(folder, [main], CONNECTED);
      rounds.push({ ours, theirs, connected });
      return ours / theirs;
    }, limit);
    const ms = (side: "ours" | "theirs" | "connected"): string =>
      duration(medianOf(rounds.map((round) => round[side])));
    const detail = `with connect and servicePlugin called, which loads jose and oauth4webapi, ${ms("connected")}`;
    return { ...interval, ours: ms("ours"), theirs: ms("theirs"), detail };
  },
};
