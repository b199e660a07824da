// Emulated deployments over HTTP for machines or a person, and a check that no output holds a
// secret.
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEmulator, type Emulator, type EmulatorOptions } from "../../src/emulator/index.js";
import { lastingSigningKey, type SigningKey } from "../emulator/signing-key.js";
import { whenDone } from "../support/when-done.js";
import { type Ended, type Environment, type Running, startCli } from "./command-line.js";

export const clientSecret = "planted-client-secret-0123456789";
export const signingKey: SigningKey = lastingSigningKey("cli-key");
export const privateKeyPem: string = pemOf(signingKey.privateKey);

export function pemOf(key: SigningKey["privateKey"], encryption = {}): string {
  return key.export({ type: "pkcs8", format: "pem", ...encryption }).toString();
}

/** Starts an emulator and makes a folder. Both exist until the last test of the file has ended. */
async function serve(emulator: Emulator) {
  const { url, close } = await emulator.listen();
  const folder = await mkdtemp(join(tmpdir(), "cli-test-"));
  whenDone(async () => {
    await close();
    await rm(folder, { recursive: true, force: true });
  });
  return { emulator, url, folder, closeServer: close };
}

export interface CliDeployment {
  readonly emulator: Emulator;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Starts a deployment that knows a plugin and a service account. Their credentials are in files.
 */
export async function startDeployment({
  scopes = ["devices:read"],
  ...options
}: EmulatorOptions & { readonly scopes?: readonly string[] } = {}): Promise<CliDeployment> {
  const { emulator, url, folder } = await serve(createEmulator(options));
  registerBoth(emulator, scopes);
  const keyFile = join(folder, "key.pem");
  const secretFile = join(folder, "secret");
  await Promise.all([
    writeFile(keyFile, privateKeyPem),
    writeFile(secretFile, `${clientSecret}\n`),
  ]);
  const env = {
    BIVARIANT_BASE_URL: url,
    BIVARIANT_TENANT: "acme",
    BIVARIANT_A_CLIENT_ID: "reporter",
    BIVARIANT_A_PRIVATE_KEY_FILE: keyFile,
    BIVARIANT_A_KEY_ID: signingKey.kid,
    BIVARIANT_B_CLIENT_ID: "account",
    BIVARIANT_B_CLIENT_SECRET_FILE: secretFile,
  };
  return { emulator, folder, env };
}

/** Registers the plugin and the account that `env` of a deployment names. */
export function registerBoth(
  emulator: Emulator,
  scopes: readonly string[] = ["devices:read"],
): void {
  const plugin = { clientId: "reporter", tenantId: "acme", type: "service" } as const;
  const jwks = { keys: [signingKey.publicJwk] };
  emulator.registerPlugin({ ...plugin, jwks, scopes });
  emulator.registerServiceAccount({ clientId: "account", clientSecret, tenantId: "acme" });
}

export interface LoginDeployment extends CliDeployment {
  /** The file of the stored logins. */
  readonly file: string;
  /** Reads all files in the folder of the store except the key. */
  stored(): Promise<string>;
  /** Frees the port but keeps the files. */
  closeServer(): Promise<void>;
}

/** Starts a deployment that knows the person ada and a public API client. */
export async function startLoginDeployment(
  options: EmulatorOptions = {},
): Promise<LoginDeployment> {
  const { emulator, url, folder, closeServer } = await serve(createEmulator(options));
  emulator.registerApiClient({ clientId: "portal", redirectUris: ["http://127.0.0.1/callback"] });
  emulator.registerOperator({ tenantId: "acme", userId: "ada", capabilities: ["devices:read"] });
  const env = {
    BIVARIANT_BASE_URL: url,
    BIVARIANT_TENANT: "acme",
    BIVARIANT_B_CLIENT_ID: "portal",
    BIVARIANT_B_AUTHORIZATION_ENDPOINT: "/v1/auth/authorize",
    XDG_STATE_HOME: folder,
  };
  const file = join(folder, "bivariant", "grants");
  const stored = async () => {
    const all = { recursive: true, withFileTypes: true } as const;
    const names = await readdir(join(folder, "bivariant"), all);
    const files = names.filter((one) => one.isFile() && !one.name.endsWith(".key"));
    const texts = await Promise.all(
      files.map((one) => readFile(join(one.parentPath, one.name), "utf8")),
    );
    return texts.join("\n");
  };
  return { emulator, folder, file, env, stored, closeServer };
}

/** Finds the address that the command line asks to open. */
export async function addressOf(running: Running): Promise<URL> {
  const [address] = await running.seen(/^https?:\S+state=\S+$/m);
  return new URL(address);
}

/** Logs ada in with the requests that her browser would send. */
export async function logIn(
  { emulator, env }: LoginDeployment,
  changes: Environment = {},
  ...args: string[]
): Promise<{ ended: Ended; callbackUrl: string; page: Response; text: string }> {
  const running = startCli(["login", ...args], { ...env, ...changes });
  const { callbackUrl } = emulator.login({ url: (await addressOf(running)).href, userId: "ada" });
  const page = await fetch(callbackUrl);
  const text = await page.text();
  return { ended: await running.ended, callbackUrl, page, text };
}

/**
 * The emulator's tokens, and the client secrets that `emulate` makes, are 256 bits in base64url.
 */
const token = /(?<![\w-])[\w-]{43}(?![\w-])/;
/** Matches the header and the claims of a JWT. */
const assertion = /eyJ[\w-]+\.[\w-]+/;

/**
 * Returns the secrets that an output holds, which should be none. `also` lists further planted
 * secrets.
 */
export function leaksOf(
  { stdout, stderr }: Omit<Ended, "code">,
  also: readonly string[] = [],
): string[] {
  const text = stdout + stderr;
  const keyLines = privateKeyPem
    .split("\n")
    .filter((line) => line.length > 20 && !line.startsWith("-----"));
  const planted = [clientSecret, ...keyLines, ...also].filter((secret) => text.includes(secret));
  const patterns = [token, assertion].flatMap((pattern) => pattern.exec(text)?.[0] ?? []);
  return [...planted, ...patterns];
}
