// A token server in a process of its own, with one client that signs its assertions.
import { createPublicKey, generateKeyPairSync, type JsonWebKey, verify } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";

/** The argument of the process, as JSON. */
export interface ServerTask {
  /** "floor" is a plain node:http server that verifies the signature and checks nothing else. */
  readonly kind: "emulator" | "oidc-provider" | "floor";
  /** The emulator's entry as a module URL. */
  readonly emulatorMain: string;
  readonly tenantId: string;
  readonly clientId: string;
  /** With its `kid`. */
  readonly publicJwk: Readonly<Record<string, unknown>>;
}

/** Sent to the parent when the server listens, and in reply to each message. */
export interface ServerMessage {
  /** The URL to post to, and the `aud` of assertions. */
  readonly tokenUrl: string;
  /** Microseconds of processor time that this process has used so far. */
  readonly cpu: number;
}

const task = JSON.parse(process.argv[2] ?? "") as ServerTask;
const start = { emulator: startEmulator, "oidc-provider": startProvider, floor: startFloor };
const tokenUrl = await start[task.kind](task);
process.on("message", report);
// The server ends with its parent.
process.on("disconnect", () => process.exit());
report();

function report(): void {
  const { user, system } = process.cpuUsage();
  const message: ServerMessage = { tokenUrl, cpu: user + system };
  process.send?.(message);
}

async function startEmulator({ emulatorMain, tenantId, clientId, publicJwk }: ServerTask): Promise<string> {
  const entry = (await import(emulatorMain)) as typeof import("../../src/emulator/index.js");
  const emulator = entry.createEmulator({ variants: ["A"] });
  const jwks = { keys: [publicJwk] };
  emulator.registerPlugin({ tenantId, clientId, type: "service", jwks, scopes: ["devices:read"] });
  const { url } = await emulator.listen();
  return `${url}/api/v1/${tenantId}/external-plugin/oauth/token`;
}

/** Configured for the same work as far as possible: memory only, no users, no other features. */
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

/** The least that any server on node:http that verifies an RSA signature can cost. */
async function startFloor({ publicJwk }: ServerTask): Promise<string> {
  const key = createPublicKey({ key: publicJwk as JsonWebKey, format: "jwk" });
  const body = JSON.stringify({ access_token: "x".repeat(43), token_type: "Bearer", expires_in: 3600 });
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const assertion = new URLSearchParams(String(Buffer.concat(chunks))).get("client_assertion") ?? "";
      const end = assertion.lastIndexOf(".");
      const signature = Buffer.from(assertion.slice(end + 1), "base64url");
      const isSigned = verify("sha256", Buffer.from(assertion.slice(0, end)), key, signature);
      response.writeHead(isSigned ? 200 : 400, headers).end(body);
    });
  });
  return `${await listen(server)}/token`;
}

async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
