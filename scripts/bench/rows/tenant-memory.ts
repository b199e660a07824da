// Measures the memory of a tenant in a connector that holds many, and of what peers hold for one.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { medianOf, type Row, sample } from "../measure.js";

const TENANTS = 100_000;
/** Enough for the sides that are measured once. */
const FEWER_TENANTS = 20_000;

/** Bytes are of the heap. */
interface TenantCost {
  readonly bytes: number;
  readonly bytesWithService: number;
  readonly microseconds: number;
}

type Side = "servicePlugin" | "serviceAccount" | "openid-client" | "@badgateway/oauth2-client";

// A real signature would take most of the time, and leave nothing behind. Each token has 36
// characters. The tenants of the first round load the lazy modules and compile the code. What is
// kept by tenant id is what a program with many tenants may keep: its services, and with a peer the
// configuration and the token.
const PROGRAM = `
  const [main, tenants, side] = process.argv.slice(1);
  let issued = 0;
  const answer = () =>
    Response.json({ access_token: String(issued++).padStart(36, "0"), token_type: "Bearer", expires_in: 3600 });
  const baseUrl = "https://service.example";
  const [clientId, clientSecret] = ["bench", "secret"];
  const ours = async () => {
    const { createConnector, serviceAccount, servicePlugin } = await import(main);
    const privateKey = { keyId: "key-1", sign: () => new Uint8Array(256) };
    const credentials = [
      side === "serviceAccount" ? serviceAccount({ clientId, clientSecret }) : servicePlugin({ clientId, privateKey }),
    ];
    return () => {
      const connector = createConnector({ credentials, fetch: async () => answer() });
      const services = new Map();
      const open = async (tenantId) => {
        const service = await connector.connect({ baseUrl, tenantId });
        await service.auth.getAccessToken();
        services.set(tenantId, service);
      };
      return { open, release: () => services.clear() };
    };
  };
  const peers = {
    "openid-client": async () => {
      const { ClientSecretPost, clientCredentialsGrant, Configuration, customFetch } = await import("openid-client");
      return async (tenantId) => {
        const server = { issuer: baseUrl, token_endpoint: baseUrl + "/" + tenantId + "/token" };
        const configuration = new Configuration(server, clientId, {}, ClientSecretPost(clientSecret));
        configuration[customFetch] = async () => answer();
        return { configuration, token: await clientCredentialsGrant(configuration) };
      };
    },
    "@badgateway/oauth2-client": async () => {
      const { OAuth2Client } = await import("@badgateway/oauth2-client");
      globalThis.fetch = async () => answer();
      return async (tenantId) => {
        const client = new OAuth2Client({ server: baseUrl, clientId, clientSecret, tokenEndpoint: "/" + tenantId + "/token" });
        return { client, token: await client.clientCredentials() };
      };
    },
  };
  const peer = async () => {
    const create = await peers[side]();
    return () => {
      const kept = new Map();
      return { open: async (tenantId) => kept.set(tenantId, await create(tenantId)), release: () => kept.size };
    };
  };
  const holder = await (side in peers ? peer() : ours());
  async function openAll(count) {
    const { open, release } = holder();
    let next = 0;
    const worker = async () => { while (next < count) await open("tenant-" + next++); };
    await Promise.all(Array.from({ length: 50 }, worker));
    return { open, release };
  }
  async function heapUsed() {
    await new Promise((resolve) => setTimeout(resolve, 50));
    gc();
    gc();
    return process.memoryUsage().heapUsed;
  }
  await openAll(1_000);
  const before = await heapUsed();
  const startedAt = performance.now();
  const { open, release } = await openAll(Number(tenants));
  const microseconds = ((performance.now() - startedAt) * 1_000) / tenants;
  const bytesWithService = ((await heapUsed()) - before) / tenants;
  release();
  const bytes = ((await heapUsed()) - before) / tenants;
  // Everything is in use until here, and the connector has not forgotten the tenant.
  if (!(side in peers)) await open("tenant-0");
  release();
  if (issued !== 1_000 + Number(tenants)) throw new Error("the connector has forgotten a tenant");
  console.log(JSON.stringify({ bytes, bytesWithService, microseconds }));
`;

function costOf(main: string, tenants: number, side: Side): TenantCost {
  const args = [
    "--expose-gc",
    "--input-type=module",
    "--eval",
    PROGRAM,
    main,
    String(tenants),
    side,
  ];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    // The peers are found from here.
    cwd: fileURLToPath(new URL(".", import.meta.url)),
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  if (status !== 0) throw new Error(`the tenants were not measured: ${stderr}`);
  return JSON.parse(stdout);
}

const kB = (bytes: number): string => `${(bytes / 1_000).toFixed(2)} kB`;

export const tenantMemory: Row = {
  name: "tenant-memory",
  title:
    `heap of an idle tenant with its service and a token of 36 characters, of ${TENANTS} in ` +
    `one connector; peers hold a configuration and its token for each of ${FEWER_TENANTS}`,
  unit: "kB",
  aim: 2.5,
  seconds: 18,
  async measure({ main }, limit) {
    const peers = (["openid-client", "@badgateway/oauth2-client"] as const).map(
      (side) => `${side} ${kB(costOf(main, FEWER_TENANTS, side).bytesWithService)}`,
    );
    const account = costOf(main, FEWER_TENANTS, "serviceAccount");
    const rounds: TenantCost[] = [];
    const interval = await sample(() => {
      const round = costOf(main, TENANTS, "servicePlugin");
      rounds.push(round);
      return round.bytesWithService / 1_000;
    }, limit);
    const dropped = `${kB(medianOf(rounds.map((round) => round.bytes)))} with its service dropped`;
    const microseconds = medianOf(rounds.map((round) => round.microseconds)).toFixed(0);
    const detail =
      `${dropped}, ${kB(account.bytesWithService)} with serviceAccount; ` +
      `created with its token in ${microseconds} µs, unsigned`;
    return { ...interval, ours: kB(interval.value * 1_000), theirs: peers.join(", "), detail };
  },
};
