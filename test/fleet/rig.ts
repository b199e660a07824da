// Real processes that share a store; and a fleet of them that shares logins, with what may happen
// to it, and a verdict on what it did meanwhile.
import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, onTestFinished } from "vitest";
import { createEmulator, type Emulator } from "../../src/emulator/index.js";
import { apiClient, beginLogin, completeLogin, type TokenStore } from "../../src/index.js";
import { fileStore } from "../../src/stores/file.js";
import { redisStore } from "../../src/stores/redis.js";
import { bundleProgram, makeCacheFolder } from "../readme/pages.js";
import { closeClients, connectClient } from "../stores/redis-clients.js";
import { temporaryFolder } from "../stores/temporary-folder.js";
import { servingOn } from "../support/recording-server.js";
import { type RedisServer, startRedis } from "../support/redis.js";
import type { Order, Reports, Settings, StoreSettings } from "./process.js";

const folder = makeCacheFolder();
afterAll(() => {
  closeClients();
  rmSync(folder, { recursive: true });
});
const code = 'import { run } from "./test/fleet/process.js"; run();';
const program = bundleProgram(code, folder, "process.mjs");

export interface FleetProcess {
  readonly child: ChildProcess;
  order(...order: Order): void;
  /** All reports of this name. */
  all<Name extends keyof Reports>(name: Name): readonly Reports[Name][];
}

/** Starts a process, which ends with the test, and waits until it is ready. */
export async function startProcess(settings: Settings): Promise<FleetProcess> {
  const child = fork(await program, {
    execArgv: [],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const reports = new Map<string, unknown[]>();
  child.on("message", ([name, value]: [string, unknown]) => {
    if (!reports.get(name)?.push(value)) reports.set(name, [value]);
  });
  child.send(settings);
  const all = (name: string) => (reports.get(name) ?? []) as never[];
  await expect.poll(() => all("ready"), { timeout: 60_000 }).toHaveLength(1);
  // It may have been killed meanwhile.
  return { child, all, order: (...order) => void child.send(order, () => {}) };
}

const service = "http://service.localhost";
const [tenantId, userId] = ["acme", "ada"];
const client = {
  clientId: "portal",
  redirectUri: "https://portal.example/callback",
  authorizationEndpoint: `${service}/v1/auth/authorize`,
};
/** After one of these the same login can be refreshed later. With `timed_out` nothing was sent. */
const temporary = ["store_unavailable", "store_locked", "store_conflict", "timed_out"];
const tokenLifetimeSeconds = 1;
/** The `lossWindowMs` of the stores. */
const longestLossMs = 2_000;

/** `callers` are those of each process. */
type LoginFleetOptions = Required<Pick<Settings, "callers">> &
  Omit<StoreSettings, "redis" | "file"> & {
    readonly store: "redis" | "file";
    readonly processes?: number;
    readonly logins: number;
  };

/**
 * Processes that share the logins of people, at a deployment that rotates refresh tokens and
 * revokes a login when one is sent twice. Access tokens live for a second. Logins that are lost are
 * replaced.
 */
export class LoginFleet {
  readonly processes: FleetProcess[] = [];
  readonly #counts = { rounds: 0, kills: 0, pauses: 0, restarts: 0, losses: 0, logins: 0, lost: 0 };
  /** The errors that callers got. */
  readonly #errors: Record<string, number> = {};
  readonly #broken = new Set<string>();
  /** How often each refresh token was received. */
  readonly #sent = new Map<string, number>();
  /** The logins that can still be used, with the instant of each. */
  readonly #people = new Map<string, number>();
  /** When Redis lost its last writes. */
  readonly #crashes: number[] = [];
  readonly #emulator: Emulator;
  readonly #settings: Settings;
  readonly #store: TokenStore;
  readonly #redis: RedisServer | undefined;
  readonly #logins: number;

  static async start(options: LoginFleetOptions): Promise<LoginFleet> {
    // On a busy disk Redis holds back what it writes while it syncs, so that a crash would lose
    // more.
    const redis =
      options.store === "redis" ? await startRedis({ args: ["--appendfsync", "no"] }) : undefined;
    const server = createServer();
    const fleet = new LoginFleet(options, `http://127.0.0.1:${await servingOn(server)}`, redis);
    server.on("request", async (incoming, outgoing) => {
      // The process may be killed while it sends.
      const body = await text(incoming).catch(() => undefined);
      if (body === undefined) return void outgoing.destroy();
      const { status, json } = await fleet.#answer(body);
      outgoing.writeHead(status, { "content-type": "application/json" }).end(json);
    });
    while (fleet.processes.length < (options.processes ?? 8))
      fleet.processes.push(await fleet.#startOne());
    await fleet.#replaceLost();
    return fleet;
  }

  private constructor(options: LoginFleetOptions, baseUrl: string, redis: RedisServer | undefined) {
    const { store: kind, processes, logins, callers, ...store } = options;
    const lifetime = {
      tokenLifetimeSeconds,
      tokenResponseExtras: { expires_in: tokenLifetimeSeconds },
    };
    this.#emulator = createEmulator({ publicUrl: service, variants: ["B"], ...lifetime });
    this.#emulator.registerApiClient({
      clientId: client.clientId,
      redirectUris: [client.redirectUri],
    });
    this.#emulator.registerOperator({ tenantId, userId, firstname: "Ada", lastname: "Lovelace" });
    const key = randomBytes(32).toString("base64");
    const file = { path: join(temporaryFolder(), "store"), key };
    this.#settings = {
      baseUrl,
      timeoutMs: 4_000,
      client,
      callers,
      store: redis ? store : { ...store, file },
    };
    this.#store = redis
      ? redisStore(connectClient.ioredis(redis.url))
      : fileStore(file.path, { key });
    this.#redis = redis;
    this.#logins = logins;
  }

  async #answer(body: string): Promise<{ readonly status: number; readonly json: string }> {
    const { refresh_token: refreshToken } = JSON.parse(body);
    const headers = { "content-type": "application/json" };
    const request = new Request(`${service}/v1/auth/token`, { method: "POST", headers, body });
    const answer = await this.#emulator.fetch(request);
    if (refreshToken !== undefined) {
      this.#sent.set(refreshToken, (this.#sent.get(refreshToken) ?? 0) + 1);
      if (answer.ok) this.#counts.rounds++;
    }
    return { status: answer.status, json: await answer.text() };
  }

  async #startOne(): Promise<FleetProcess> {
    // Every second process uses the other library.
    const library = (this.processes.length + this.#counts.kills) % 2 === 0 ? "redis" : "ioredis";
    const redis = this.#redis && { redis: { url: this.#redis.url, library } as const };
    const settings = { ...this.#settings, store: { ...this.#settings.store, ...redis } };
    const started = await startProcess(settings);
    started.child.on("message", ([name, value]: [string, [string, string]]) => {
      if (name === "failed") this.#fail(...value);
    });
    started.child.once("exit", (code) => {
      if (code !== null) this.#broken.add(`a process ended with ${code}`);
    });
    return started;
  }

  #fail(person: string, code: string): void {
    this.#errors[code] = (this.#errors[code] ?? 0) + 1;
    const createdAt = this.#people.get(person);
    if (temporary.includes(code) || createdAt === undefined) return;
    this.#people.delete(person);
    this.#counts.lost++;
    // A crash may lose a login that was just written. No other login may be missing.
    const isNew = this.#crashes.some(
      (at) => createdAt > at - longestLossMs && createdAt < at + 500,
    );
    const isMissing = code === "missing" || code === "login_expired";
    if (code !== "login_outcome_unknown" && !(isMissing && isNew))
      this.#broken.add(`a login ended with ${code}`);
  }

  async #createLogin(person: string): Promise<void> {
    const { baseUrl, timeoutMs } = this.#settings;
    let isStored = true;
    const onEvent = ({ type }: { readonly type: string }) => {
      if (type === "store_failed") isStored = false;
    };
    const credential = apiClient(client);
    const options = {
      baseUrl,
      tenantId,
      credential,
      person,
      store: this.#store,
      timeoutMs,
      onEvent,
    };
    const { url, login } = await beginLogin(options);
    const { callbackUrl } = this.#emulator.login({ url, userId });
    await completeLogin({ ...options, login, callbackUrl });
    if (isStored) this.#people.set(person, Date.now());
  }

  /** Replaces lost logins, and sends the list of logins to the processes. */
  async #replaceLost(): Promise<void> {
    const create = () => {
      const person = `person-${++this.#counts.logins}`;
      return this.#createLogin(person).catch((error) =>
        this.#fail(person, String(error.code ?? error)),
      );
    };
    await Promise.all(Array.from({ length: this.#logins - this.#people.size }, create));
    for (const { order } of this.processes) order("people", [...this.#people.keys()]);
  }

  /**
   * Lets all processes ask for tokens, with one fault after the other, until there were so many
   * refreshes.
   */
  async run(rounds: number, faults: readonly (() => Promise<void>)[] = []): Promise<void> {
    for (const { order } of this.processes) order("begin");
    let isOver = false;
    const replacing = (async () => {
      for (; !isOver; await sleep(200)) await this.#replaceLost();
    })();
    const isDone = (fault: number) => this.#counts.rounds >= rounds && fault >= faults.length;
    for (let fault = 0; !isDone(fault) && this.#broken.size === 0; fault++) {
      await sleep(1_000);
      await faults[fault % faults.length]?.();
    }
    isOver = true;
    await replacing;
    for (const { order } of this.processes) order("rest");
    const areResting = () => this.processes.every(({ all }) => all("resting").length > 0);
    await expect.poll(areResting, { timeout: 60_000 }).toBe(true);
  }

  /** Kills a process and starts another in its place. */
  async kill(): Promise<void> {
    const victim = this.#any();
    this.#counts.kills++;
    this.processes[victim]?.child.kill("SIGKILL");
    const next = await this.#startOne();
    this.processes[victim] = next;
    next.order("people", [...this.#people.keys()]);
    next.order("begin");
  }

  /** Suspends a process. */
  async pause(ms: number): Promise<void> {
    const { child } = this.processes[this.#any()] ?? {};
    this.#counts.pauses++;
    child?.kill("SIGSTOP");
    await sleep(ms);
    child?.kill("SIGCONT");
  }

  /** Kills Redis and starts it again, perhaps without its last writes. */
  async restart({ loseLastMs = 0 }: { readonly loseLastMs?: number } = {}): Promise<void> {
    this.#counts[loseLastMs > 0 ? "losses" : "restarts"]++;
    if (loseLastMs > 0) this.#crashes.push(Date.now());
    await this.#redis?.restart({ loseLastMs });
  }

  #any(): number {
    return Math.floor(Math.random() * this.processes.length);
  }

  /** Asks for a token of each login once, and returns the codes of those that had none. */
  async check(): Promise<readonly string[]> {
    const people = [...this.#people.keys()];
    const outcomes = this.processes.map(async ({ order, all }, index) => {
      const before = all("checked").length;
      const share = people.filter((_, place) => place % this.processes.length === index);
      order("check", share);
      await expect.poll(() => all("checked").length, { timeout: 60_000 }).toBeGreaterThan(before);
      return all("checked").at(-1) ?? [];
    });
    const failed = (await Promise.all(outcomes))
      .flat()
      .filter(([, outcome]) => outcome !== "token");
    for (const [person, code] of failed) this.#fail(person, code);
    return failed.map(([, code]) => code);
  }

  /** Uses every login once more. Returns what happened, and what must never happen. */
  async verdict(): Promise<{ readonly counts: object; readonly broken: readonly string[] }> {
    // The first time may find refreshes whose process was killed.
    for (let left = 5; left > 0 && (await this.check()).length > 0; left--);
    await sleep(tokenLifetimeSeconds * 1_100);
    const { rounds } = this.#counts;
    const broken = this.#broken;
    for (const code of await this.check())
      broken.add(`a login could not be refreshed once more: ${code}`);
    const last = this.#counts.rounds - rounds;
    // A token that a slow machine got after its end is renewed once more.
    if (last < this.#people.size) broken.add(`${this.#people.size} logins made ${last} refreshes`);
    if ([...this.#sent.values()].some((times) => times > 1))
      broken.add("a refresh token was sent twice");
    for (const { rule } of this.#emulator.customerLog.entries())
      broken.add(`the deployment refused: ${rule}`);
    return { counts: { ...this.#counts, ...this.#errors }, broken: [...broken] };
  }
}
