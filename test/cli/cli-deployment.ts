// An emulated deployment over HTTP with both credentials in files, and the secrets that no output may hold.
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEmulator, type Emulator, type EmulatorOptions } from "../../src/emulator/index.js";
import { newSigningKey, type SigningKey } from "../emulator/signing-key.js";
import type { Ended } from "./command-line.js";

export const clientSecret = "planted-client-secret-0123456789";
export const signingKey: SigningKey = newSigningKey("cli-key");
export const privateKeyPem: string = signingKey.privateKey
  .export({ type: "pkcs8", format: "pem" })
  .toString();

export interface CliDeployment {
  readonly emulator: Emulator;
  /** A folder for files of the test's own. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

export async function startDeployment({
  scopes = ["devices:read"],
  ...options
}: EmulatorOptions & { readonly scopes?: readonly string[] } = {}): Promise<CliDeployment> {
  const emulator = createEmulator(options);
  registerBoth(emulator, scopes);
  const { url, close } = await emulator.listen();
  const folder = await mkdtemp(join(tmpdir(), "cli-test-"));
  const keyFile = join(folder, "key.pem");
  const secretFile = join(folder, "secret");
  await Promise.all([writeFile(keyFile, privateKeyPem), writeFile(secretFile, `${clientSecret}\n`)]);
  return {
    emulator,
    folder,
    env: {
      BIVARIANT_BASE_URL: url,
      BIVARIANT_TENANT: "acme",
      BIVARIANT_A_CLIENT_ID: "reporter",
      BIVARIANT_A_PRIVATE_KEY_FILE: keyFile,
      BIVARIANT_A_KEY_ID: signingKey.kid,
      BIVARIANT_B_CLIENT_ID: "account",
      BIVARIANT_B_CLIENT_SECRET_FILE: secretFile,
    },
    async close() {
      await close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Registers the plugin and the account that `env` of a deployment names. */
export function registerBoth(emulator: Emulator, scopes: readonly string[] = ["devices:read"]): void {
  const jwks = { keys: [signingKey.publicJwk] };
  emulator.registerPlugin({ clientId: "reporter", tenantId: "acme", type: "service", jwks, scopes });
  emulator.registerServiceAccount({ clientId: "account", clientSecret, tenantId: "acme" });
}

/** Listens on a free port of this machine. */
export async function listen(server: Server): Promise<{ readonly url: string; close(): void }> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}`, close };
}

/** A URL that refuses connections. */
export async function closedUrl(): Promise<string> {
  const { url, close } = await listen(createServer());
  close();
  return url;
}

/** The emulator's tokens, and the client secrets that `emulate` makes, are 256 bits in base64url. */
const token = /(?<![\w-])[\w-]{43}(?![\w-])/;
/** Header and claims of a JWT. */
const assertion = /eyJ[\w-]+\.[\w-]+/;

/** What of the secrets an output holds: nothing, if all is well. `also` names further planted secrets. */
export function leaksOf({ stdout, stderr }: Omit<Ended, "code">, also: readonly string[] = []): string[] {
  const text = stdout + stderr;
  const keyLines = privateKeyPem.split("\n").filter((line) => line.length > 20 && !line.startsWith("-----"));
  const planted = [clientSecret, ...keyLines, ...also].filter((secret) => text.includes(secret));
  const patterns = [token, assertion].flatMap((pattern) => pattern.exec(text)?.[0] ?? []);
  return [...planted, ...patterns];
}
