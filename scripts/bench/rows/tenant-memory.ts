// Measures the memory of a tenant in a connector that holds many, and the time to create one, each time in a new process.
import { spawnSync } from "node:child_process";
import { medianOf, type Row, sample } from "../measure.js";

const TENANTS = 100_000;
const TENANTS_OF_B = 5_000;

/** Bytes are of the heap. */
interface TenantCost {
  readonly bytes: number;
  readonly bytesWithService: number;
  readonly microseconds: number;
}

// A real signature would take most of the time, and leave nothing behind. Each token has 36 characters. The tenants of the
// first connector load the lazy modules and compile the code.
const PROGRAM = `
  const [main, tenants, credential] = process.argv.slice(1);
  const { createConnector, serviceAccount, servicePlugin } = await import(main);
  const privateKey = { keyId: "key-1", sign: () => new Uint8Array(256) };
  const settings = { clientId: "bench", clientSecret: "secret", privateKey };
  const credentials = [credential === "serviceAccount" ? serviceAccount(settings) : servicePlugin(settings)];
  let issued = 0;
  const fetch = async () =>
    Response.json({ access_token: String(issued++).padStart(36, "0"), token_type: "Bearer", expires_in: 3600 });
  async function connectAll(count) {
    const connector = createConnector({ credentials, fetch });
    const services = [];
    const open = async (index) => {
      const service = await connector.connect({ baseUrl: "https://service.example", tenantId: "tenant-" + index });
      await service.auth.getAccessToken();
      services[index] = service;
    };
    let next = 0;
    const worker = async () => { while (next < count) await open(next++); };
    await Promise.all(Array.from({ length: 50 }, worker));
    return { services, open };
  }
  async function heapUsed() {
    await new Promise((resolve) => setTimeout(resolve, 50));
    gc();
    gc();
    return process.memoryUsage().heapUsed;
  }
  await connectAll(1_000);
  const before = await heapUsed();
  const startedAt = performance.now();
  const { services, open } = await connectAll(Number(tenants));
  const microseconds = ((performance.now() - startedAt) * 1_000) / tenants;
  const bytesWithService = ((await heapUsed()) - before) / tenants;
  services.length = 0;
  const bytes = ((await heapUsed()) - before) / tenants;
  // This keeps the connector in use until here.
  await open(0);
  if (issued !== 1_000 + Number(tenants)) throw new Error("the connector has forgotten a tenant");
  console.log(JSON.stringify({ bytes, bytesWithService, microseconds }));
`;

function costOf(main: string, tenants: number, credential: string): TenantCost {
  const args = ["--expose-gc", "--input-type=module", "--eval", PROGRAM, main, String(tenants), credential];
  const env = { ...process.env, NODE_OPTIONS: "" };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", env });
  if (status !== 0) throw new Error(`the tenants were not measured: ${stderr}`);
  return JSON.parse(stdout);
}

export const tenantMemory: Row = {
  name: "tenant-memory",
  title: `heap of an idle tenant with a token of 36 characters, of ${TENANTS} in one connector, services dropped`,
  unit: "kB",
  aim: 2.5,
  seconds: 20,
  async measure({ main }, limit) {
    const rounds: TenantCost[] = [];
    const account = costOf(main, TENANTS_OF_B, "serviceAccount");
    const interval = await sample(() => {
      const round = costOf(main, TENANTS, "servicePlugin");
      rounds.push(round);
      return round.bytes / 1_000;
    }, limit);
    const kB = (bytes: number): string => `${(bytes / 1_000).toFixed(2)} kB`;
    const kept = `${kB(medianOf(rounds.map((round) => round.bytesWithService)))} with its service held`;
    const microseconds = medianOf(rounds.map((round) => round.microseconds)).toFixed(0);
    const detail = `${kept}, ${kB(account.bytes)} with serviceAccount; created with its token in ${microseconds} µs, unsigned`;
    return { ...interval, ours: kB(interval.value * 1_000), detail };
  },
};
