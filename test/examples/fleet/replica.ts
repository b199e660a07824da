// One replica of a backend: sessions of people, and calls of machines. What must outlive it is in
// Redis.
import { createServer } from "node:http";
import { setTimeout } from "node:timers/promises";
import { Redis } from "ioredis";
import { createClient, createSentinel } from "redis";
import { createBackend, toNodeHandler } from "../../../src/backend/index.js"; // yours: "bivariant/backend"
// yours: "bivariant"
import {
  apiClient,
  createConnector,
  serviceAccount,
  servicePlugin,
  userInterfacePlugin,
} from "../../../src/index.js";
import { encryptedStore } from "../../../src/stores/encrypted.js"; // yours: "bivariant/stores/encrypted"
import { redisStore } from "../../../src/stores/redis.js"; // yours: "bivariant/stores/redis"

const { PORT, PUBLIC_URL, BASE_URL: baseUrl = "", TENANTS = "" } = process.env;
const {
  REDIS_URL,
  SENTINELS,
  SENTINEL_LIBRARY,
  STORE_KEY,
  PRIVATE_KEY: privateKey = "",
} = process.env;

// Without the offline queue, a request that comes while Redis is down is answered at once, with a
// 503. A replica can start at such a time, but otherwise it waits for its connection: its first
// requests would find no store.
async function connectClient() {
  if (SENTINELS && SENTINEL_LIBRARY === "ioredis") {
    const settings = { name: "fleet", sentinels: nodes(SENTINELS), enableOfflineQueue: false };
    const client = new Redis({ ...settings, lazyConnect: true }).on("error", () => {});
    return { client, connecting: client.connect() };
  }
  if (SENTINELS) {
    const client = createSentinel({
      name: "fleet",
      sentinelRootNodes: nodes(SENTINELS),
      scanInterval: 500,
      nodeClientOptions: { disableOfflineQueue: true },
    }).on("error", () => {});
    return { client, connecting: client.connect() };
  }
  const client = createClient({ url: REDIS_URL ?? "", disableOfflineQueue: true }).on(
    "error",
    () => {},
  );
  return { client, connecting: client.connect() };
}
/** `host:port`, several with commas between them. */
function nodes(text: string) {
  return text
    .split(",")
    .map((node) => ({ host: node.split(":")[0] ?? "", port: Number(node.split(":")[1]) }));
}
const redis = REDIS_URL || SENTINELS ? await connectClient() : undefined;
await Promise.race([redis?.connecting.catch(() => {}), setTimeout(2_000)]);
const store = redis && encryptedStore(redisStore(redis.client, { prefix: "fleet" }), STORE_KEY);

const keyId = "fleet";
const redirectUri = `${PUBLIC_URL}/auth/callback`;
const launch = userInterfacePlugin({ clientId: "planner", privateKey, keyId });
const authorizationEndpoint = "/v1/auth/authorize";
const login = apiClient({ clientId: "planner-app", redirectUri, authorizationEndpoint });
const deployments = TENANTS.split(",").map((tenantId) => {
  return { tenantId, baseUrl, hostOrigin: baseUrl, launch, login };
});
const backend = createBackend({
  deployments,
  publicUrl: PUBLIC_URL,
  store,
  // Your log. The 503 of a store that is down would fill this one.
  onError: (error, { status }) =>
    (status === 500 || status === 502) && console.error(String(error)),
});

// With credentials of both variants, each deployment is asked which one it serves, once for the
// fleet.
const credentials = [
  servicePlugin({ clientId: "reports", privateKey, keyId }),
  serviceAccount({ clientId: "reports-account", clientSecret: "not a real secret" }),
];
const connector = createConnector({ credentials, store });

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname.startsWith("/auth/")) return backend(request);
  try {
    // In your fleet the calls of machines come from a queue or a schedule, and not from a route.
    const [, tenantId] = /^\/machine\/(.+)$/.exec(pathname) ?? [];
    const service = await (tenantId
      ? connector.connect({ baseUrl, tenantId })
      : backend.connect(request));
    const result = await service.call("listDevices", { signal: request.signal });
    return result.ok ? Response.json(result.data) : backend.answer(result.error);
  } catch (error) {
    return backend.answer(error);
  }
}

createServer(toNodeHandler(answer)).listen(Number(PORT), process.env.HOST ?? "127.0.0.1", () =>
  console.log("Ready"),
);
// It ends with the process that started it.
process.stdin.resume().once("end", () => process.exit());
