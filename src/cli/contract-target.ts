/**
 * What `bivariant contract` may use: the settings of the other commands, a target file, and a
 * person at the browser.
 */
import { dirname, resolve } from "node:path";
import type { ContractTarget } from "../contract/index.js";
import { NotTried } from "../contract/internal.js";
import { ConfigurationError } from "../errors.js";
import { readSecretFrom } from "../internal.js";
import { invalidFlag, openFileOf, readJsonOf } from "./arguments.js";
import { hasOwnLoginClient, readAccount, readLoginClient, readPlugin } from "./credentials.js";
import type { Context } from "./run.js";
import { namesOf, type Settings } from "./settings.js";

type Lent = { -readonly [Name in keyof ContractTarget]?: unknown };

/**
 * Reads everything but the person.
 * @throws ConfigurationError, before anything is sent; never quotes a secret
 */
export async function readTarget(
  settings: Settings,
  file: string | undefined,
): Promise<ContractTarget> {
  const lent: Lent = file === undefined ? {} : await readTargetFile(file, settings.signal);
  const given = Object.entries(await fromSettings(settings)) as [keyof Lent, unknown][];
  for (const [name, value] of given) {
    if (value === undefined || value === lent[name]) continue;
    // To prefer one would send a credential of one deployment to another by accident.
    if (lent[name] !== undefined)
      throw invalidFlag(
        "--target",
        `names a file with ${name}, which a flag or its variable sets too. Remove one.`,
      );
    lent[name] = value;
  }
  if (lent.baseUrl === undefined)
    throw new ConfigurationError("base_url_invalid", "The base URL is missing.", {
      option: "baseUrl",
    });
  for (const name of ["apiClient", "otherApiClient"] as const)
    if (isObject(lent[name]))
      lent[name] = { redirectUri: "http://127.0.0.1/callback", ...lent[name] };
  return lent as unknown as ContractTarget;
}

async function fromSettings(settings: Settings) {
  const { baseUrl, tenant: tenantId, refreshPath, authorizationEndpoint } = settings;
  const { audience: _, ...plugin } = (await readPlugin(settings)) ?? {};
  return {
    baseUrl,
    tenantId,
    refreshPath,
    plugin: "clientId" in plugin ? plugin : undefined,
    serviceAccount: await readAccount(settings),
    apiClient:
      hasOwnLoginClient(settings) && authorizationEndpoint !== undefined
        ? { ...(await readLoginClient(settings)), authorizationEndpoint }
        : undefined,
  };
}

/** The members of a file that are read from other files, relative to it. */
const secretMembers = { privateKeyFile: "privateKey", clientSecretFile: "clientSecret" } as const;

async function readTargetFile(path: string, signal: AbortSignal) {
  const { value: target } = await readJsonOf("--target", path, signal);
  if (!isObject(target))
    throw invalidFlag("--target", `names a file that is not a JSON object: ${path}`);
  const lent: Record<string, unknown> = { ...target };
  for (const [name, value] of Object.entries(target)) {
    if (!isObject(value)) continue;
    const member: Record<string, unknown> = { ...value };
    for (const [from, to] of Object.entries(secretMembers)) {
      const { [from]: given } = member;
      if (typeof given !== "string") continue;
      delete member[from];
      const where = `${name}.${from} in the target file`;
      const source = openFileOf(where, resolve(dirname(path), given), signal);
      member[to] = await readSecretFrom(source, "secret", where, invalidSecret);
    }
    lent[name] = member;
  }
  return lent;
}

function invalidSecret(message: string) {
  return new ConfigurationError("credential_invalid", message, { option: "--target" });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const loginSeconds = 300;

/**
 * Adds a person who logs in where the terminal says, and whose browser comes back to this machine.
 */
export async function withPerson(
  target: ContractTarget,
  port: number,
  { output, signal }: Pick<Context, "output" | "signal">,
): Promise<{ readonly target: ContractTarget; close(): Promise<void> }> {
  const { apiClient, otherApiClient } = target;
  if (apiClient === undefined)
    throw invalidFlag(
      "--login",
      `needs an API client. Set ${namesOf("bLoginClientId")}, and ` +
        `${namesOf("authorizationEndpoint")}.`,
    );
  const { listenForCallback, loginPages } = await import("./commands/login.js");
  const listener = await listenForCallback(port);
  const ask = (task: string) => async (url: string) => {
    output.note(`${task} on this machine. The run continues when the browser comes back:`);
    output.say(url);
    const state = new URL(url).searchParams.get("state") ?? "";
    const late = AbortSignal.timeout(1000 * loginSeconds);
    const callback = await listener
      .callback(state, AbortSignal.any([signal, late]))
      .catch((error) => {
        throw late.aborted ? new NotTried(`No browser came back within ${loginSeconds} s.`) : error;
      });
    await callback.show(loginPages.arrived);
    return callback.url;
  };
  const { redirectUri } = listener;
  return {
    target: {
      ...target,
      apiClient: { ...apiClient, redirectUri },
      otherApiClient: otherApiClient && { ...otherApiClient, redirectUri },
      login: ask("Open this address and log in"),
      denyLogin: ask("Open this address and refuse the login"),
    },
    close: listener.close,
  };
}
