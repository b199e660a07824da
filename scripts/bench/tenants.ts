// Connects tenants in a process of its own and measures what each of them costs. It needs --expose-gc.
import { setTimeout as wait } from "node:timers/promises";

/** The argument of the process, as JSON. */
export interface TenantsTask {
  /** The main entry as a module URL. */
  readonly main: string;
  readonly tenants: number;
  readonly credential: "servicePlugin" | "serviceAccount" | "both";
}

/** What one tenant costs. */
export interface TenantCost {
  /** Of the heap while the program holds its service, and after it was dropped. */
  readonly bytesWithService: number;
  readonly bytes: number;
  /** To connect it and get its first token. */
  readonly microseconds: number;
}

const CONCURRENCY = 50;
/** They load the lazy modules and compile the code, and belong to another connector. */
const WARM_UP_TENANTS = 1_000;

const task = JSON.parse(process.argv[2] ?? "") as TenantsTask;
const { createConnector, serviceAccount, servicePlugin } = (await import(
  task.main
)) as typeof import("../../src/index.js");
// The signature is a constant: a real one takes most of the time, and leaves nothing behind.
const privateKey = { keyId: "key-1", sign: () => new Uint8Array(256) };
const plugin = servicePlugin({ clientId: "bench", privateKey });
const account = serviceAccount({ clientId: "bench", clientSecret: "secret" });
const credentials = { servicePlugin: [plugin], serviceAccount: [account], both: [plugin, account] };
let issued = 0;

const refusal = {
  error: "unsupported_grant_type",
  error_description: "The token request was rejected.",
};

/** Answers each token request with another token of 36 characters, and a detection as Variant A does. */
async function answer(_url: string, init?: RequestInit): Promise<Response> {
  if (!String(init?.body).includes("client_credentials")) return Response.json(refusal, { status: 400 });
  const access_token = `token-${String(issued++).padStart(30, "0")}`;
  return Response.json({ access_token, token_type: "Bearer", expires_in: 3600 });
}

async function connectAll(tenants: number) {
  const connector = createConnector({ credentials: credentials[task.credential], fetch: answer });
  const services: object[] = [];
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < tenants; index = next++) {
      const service = await connector.connect({
        baseUrl: "https://service.example",
        tenantId: `tenant-${index}`,
      });
      await service.auth.getAccessToken();
      services.push(service);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return { connector, services };
}

async function heapUsed(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    await wait(10);
    globalThis.gc?.();
  }
  return process.memoryUsage().heapUsed;
}

await connectAll(WARM_UP_TENANTS);
const { tenants } = task;
const before = await heapUsed();
const startedAt = performance.now();
const { connector, services } = await connectAll(tenants);
const microseconds = ((performance.now() - startedAt) * 1_000) / tenants;
const bytesWithService = ((await heapUsed()) - before) / tenants;
services.length = 0;
const bytes = ((await heapUsed()) - before) / tenants;
// The connector must be in use until here, or it would be collected.
const last = await connector.connect({ baseUrl: "https://service.example", tenantId: "tenant-0" });
await last.auth.getAccessToken();
const isHeld = issued === WARM_UP_TENANTS + tenants;
if (!isHeld) throw new Error("the connector has forgotten a tenant");
process.on("disconnect", () => process.exit());
process.send?.({ bytesWithService, bytes, microseconds } satisfies TenantCost);
