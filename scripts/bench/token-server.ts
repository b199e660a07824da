// A token server in a process of its own, with one client that signs its assertions.
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";

/** The argument of the process, as JSON. */
export interface ServerTask {
  readonly kind: "emulator" | "oidc-provider";
  /** The emulator's entry as a module URL. */
  readonly emulatorMain: string;
  readonly tenantIds: readonly string[];
  /** The lifetime of the emulator's tokens. Default: 3600. */
  readonly tokenLifetimeSeconds?: number;
  readonly clientId: string;
  /** The private key with its `kid`. */
  readonly publicJwk: Readonly<Record<string, unknown>>;
}

const task = JSON.parse(process.argv[2] ?? "") as ServerTask;
const start = { emulator: startEmulator, "oidc-provider": startProvider };
process.on("disconnect", () => process.exit());
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  process.send?.((user + system) / 1_000);
});
// The URL to post to for the first tenant, which is the `aud` of assertions.
process.send?.(await start[task.kind](task));

async function startEmulator(task: ServerTask): Promise<string> {
  const { emulatorMain, tenantIds, clientId, publicJwk, tokenLifetimeSeconds } = task;
  const entry = (await import(emulatorMain)) as typeof import("../../src/emulator/index.js");
  const emulator = entry.createEmulator({ variants: ["A"], tokenLifetimeSeconds });
  const jwks = { keys: [publicJwk] };
  for (const tenantId of tenantIds)
    emulator.registerPlugin({
      tenantId,
      clientId,
      type: "service",
      jwks,
      scopes: ["devices:read"],
    });
  const { url } = await emulator.listen();
  return `${url}/api/v1/${tenantIds[0]}/external-plugin/oauth/token`;
}

/**
 * Starts a provider that does the same work as far as possible: memory only, no users, no other
 * features.
 */
async function startProvider({ clientId, publicJwk }: ServerTask): Promise<string> {
  const server = createServer();
  const url = await listen(server);
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const provider = new Provider(url, {
    clientAuthMethods: ["private_key_jwt"],
    clients: [
      {
        client_id: clientId,
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: [],
        token_endpoint_auth_method: "private_key_jwt",
        token_endpoint_auth_signing_alg: "RS256",
        jwks: { keys: [{ ...publicJwk, use: "sig", alg: "RS256" }] },
      },
    ],
    features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
    ttl: { ClientCredentials: 3600 },
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), use: "sig", alg: "RS256" }] },
    cookies: { keys: ["unused"] },
    assertJwtClientAuthClaimsAndHeader: () => {},
  });
  server.on("request", provider.callback());
  return `${url}/token`;
}

async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
