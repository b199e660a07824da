// The emulated Variant B with a person and an API client, and what a person does in the browser, by fetch.
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEmulator, type Emulator, type EmulatorOptions } from "../../src/emulator/index.js";
import { type Ended, type Environment, type Running, startCli } from "./command-line.js";

export interface LoginDeployment {
  readonly emulator: Emulator;
  /** The file of the stored logins. */
  readonly file: string;
  readonly folder: string;
  readonly env: Environment;
  /** The content of all files in the folder of the store but the key. */
  stored(): Promise<string>;
  /** The port is free again; the files stay. */
  closeServer(): Promise<void>;
  close(): Promise<void>;
}

export async function startLoginDeployment(options: EmulatorOptions = {}): Promise<LoginDeployment> {
  const emulator = createEmulator(options);
  emulator.registerApiClient({ clientId: "portal", redirectUris: ["http://127.0.0.1/callback"] });
  emulator.registerOperator({ tenantId: "acme", userId: "ada", capabilities: ["devices:read"] });
  const { url, close } = await emulator.listen();
  const folder = await mkdtemp(join(tmpdir(), "login-test-"));
  const file = join(folder, "bivariant", "grants.json");
  return {
    emulator,
    file,
    folder,
    env: {
      BIVARIANT_BASE_URL: url,
      BIVARIANT_TENANT: "acme",
      BIVARIANT_B_CLIENT_ID: "portal",
      BIVARIANT_B_AUTHORIZATION_ENDPOINT: "/v1/auth/authorize",
      XDG_STATE_HOME: folder,
    },
    async stored() {
      const names = await readdir(join(folder, "bivariant"), { recursive: true, withFileTypes: true });
      const files = names.filter((one) => one.isFile() && !one.name.endsWith(".key"));
      const texts = await Promise.all(files.map((one) => readFile(join(one.parentPath, one.name), "utf8")));
      return texts.join("\n");
    },
    closeServer: close,
    async close() {
      await close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The address that the command line asks to open. */
export async function addressOf(running: Running): Promise<URL> {
  const [address] = await running.seen(/^https?:\S+state=\S+$/m);
  return new URL(address);
}

/** Logs ada in, as her browser would. */
export async function logIn(
  { emulator, env }: LoginDeployment,
  { args = [], changes = {} }: LogInOptions = {},
): Promise<LoggedIn> {
  const running = startCli(["login", ...args], { ...env, ...changes });
  const { callbackUrl } = emulator.login({ url: (await addressOf(running)).href, userId: "ada" });
  const page = await fetch(callbackUrl);
  const text = await page.text();
  return { ended: await running.ended, callbackUrl, page, text };
}

interface LogInOptions {
  readonly args?: readonly string[];
  readonly changes?: Environment;
}

interface LoggedIn {
  readonly ended: Ended;
  readonly callbackUrl: string;
  readonly page: Response;
  readonly text: string;
}
