/**
 * `bivariant/stores/redis`: a token store in Redis or Valkey, shared by any number of machines.
 * @packageDocumentation
 */
import type { TokenStore } from "../auth/shared/token-store.js";
import { type ClockOptions, inTime, type ResolvedClock, resolveClock } from "../clock.js";
import { isStoreError, StoreError } from "../errors.js";
import type { NamesOf } from "../option-names.js";
import { invalidOption, requireDuration, requireOptions, requireTypes } from "../options.js";
import { requireEntry, requireKey, requireLock } from "./arguments.js";
import { mutex } from "./mutex.js";

/** Version 4 of the package `redis` calls it `signal`. */
interface CommandOptions {
  readonly abortSignal?: AbortSignal;
  readonly signal?: AbortSignal;
}

/**
 * A connected client of the package `redis` (`createClient`, `createClientPool`, `createCluster`,
 * `createSentinel`) or of `ioredis` (`Redis`, `Cluster`). Only this much of it is used.
 */
export type RedisClient =
  | {
      /** Of `ioredis`: sends a command. */
      call(command: string, ...args: string[]): Promise<unknown>;
    }
  | {
      /** Of a client or pool of `redis`: sends a command. */
      sendCommand(args: string[], options?: CommandOptions): Promise<unknown>;
    }
  | {
      readonly slots: unknown;
      /** Of a cluster of `redis`: sends a command to the node that has the key. */
      sendCommand(
        key: string,
        isReadonly: boolean,
        args: string[],
        options?: CommandOptions,
      ): Promise<unknown>;
    }
  | {
      /** Tells a client of sentinels from the others. It is not called. */
      getSentinelNode(): unknown;
      /** Of a client of sentinels of `redis`: sends a command to the primary. */
      sendCommand(isReadonly: boolean, args: string[], options?: CommandOptions): Promise<unknown>;
    };

/** The options of {@link redisStore}. */
export interface RedisStoreOptions extends ClockOptions {
  /** Begins every key. Stores with different prefixes share nothing. Default: "bivariant". */
  readonly prefix?: string | undefined;
  /**
   * How many milliseconds of acknowledged writes a crash of Redis may lose. A refresh token is sent
   * only after its note in the store is that old. Default: 2000, for an append-only file with
   * `appendfsync everysec`; 0 for `always`.
   */
  readonly lossWindowMs?: number | undefined;
}

const names: NamesOf<RedisStoreOptions> = { prefix: true, lossWindowMs: true, clock: true };

/**
 * Keeps values in Redis 6.2 or newer, or Valkey, through a client of the package `redis` or
 * `ioredis`. The server counts until an entry expires. In a cluster, the entry and the lock of a
 * key are in one slot. The values can be read by everyone who may read the database, so wrap the
 * store in `encryptedStore`.
 *
 * Errors hold the code of Redis' answer, never its text, which may quote a value.
 *
 * @throws ConfigurationError `option_invalid`, at once
 * @example
 * import { createClient } from "redis";
 * import { encryptedStore } from "bivariant/stores/encrypted";
 *
 * const url = process.env.REDIS_URL ?? "";
 * const client = await createClient({ url, disableOfflineQueue: true })
 *   .on("error", console.error)
 *   .connect();
 * const store = encryptedStore(redisStore(client), process.env.STORE_KEY ?? "");
 */
export function redisStore(client: RedisClient, options?: RedisStoreOptions): TokenStore;
/** For tests that cannot wait for the whole lease. @internal */
export function redisStore(
  client: RedisClient,
  options: RedisStoreOptions | undefined,
  leaseMs: number,
): TokenStore;
export function redisStore(
  client: RedisClient,
  options: RedisStoreOptions = {},
  leaseMs: number = usualLeaseMs,
): TokenStore {
  const run = scriptRunner(client);
  requireTypes(requireOptions("redisStore", options, names), "string", ["prefix"]);
  const { prefix = "bivariant" } = options;
  const clock = resolveClock(options);
  const queued = mutex(clock);
  const nameOf = (kind: "entry" | "lock", key: string) => `${prefix}:${kind}:{${encodeName(key)}}`;

  /**
   * Returns when the command that acquired the lock was sent: the lease counts from then at the
   * earliest.
   */
  const acquire = async (name: string, holder: string, timeoutMs: number, endsAt: number) => {
    for (let longestMs = 5; ; longestMs = Math.min(2 * longestMs, 50)) {
      const sentAt = clock.monotonic();
      const asking = run(acquireScript, name, [holder, String(leaseMs)]);
      try {
        const limitMs = Math.min(endsAt - sentAt + answerMs, longestAnswerMs);
        if (isYes(await inTime(asking, limitMs, clock, lateError))) return sentAt;
      } catch (error) {
        // It may have been executed nevertheless, or may be later.
        asking.catch(() => {}).then(() => run(releaseScript, name, [holder]).catch(() => {}));
        throw error;
      }
      const leftMs = endsAt - clock.monotonic();
      if (leftMs <= 0)
        throw new StoreError("store_locked", `The lock was not free within ${timeoutMs} ms.`);
      // With jitter, so that processes which began to wait together do not ask together.
      const pauseMs = Math.min(leftMs, longestMs * (0.5 + clock.random() / 2));
      await new Promise<void>((resolve) => clock.setTimeout(resolve, pauseMs));
    }
  };

  return {
    lossWindowMs: requireDuration("lossWindowMs", options.lossWindowMs, 2_000, 0),
    async get(key) {
      requireKey(key);
      const entry = await run(readScript, nameOf("entry", key), []);
      return entry === null || entry === undefined ? undefined : parseEntry(entry);
    },
    async set(key, value, setOptions) {
      const {
        ifVersion,
        expiresAt = Number.POSITIVE_INFINITY,
        signal,
      } = requireEntry(key, value, setOptions);
      const version = crypto.randomUUID();
      const over =
        ifVersion === undefined ? "any" : ifVersion === null ? "missing" : `=${ifVersion}`;
      // Redis gets the time that is left, since this machine's clock may be wrong. 1970 is as long
      // ago as any.
      const leftMs = Math.ceil(expiresAt - clock.now());
      const lasting = leftMs > 0 ? ["PX", String(leftMs)] : ["PXAT", "1"];
      const expiry = expiresAt > latestExpiry ? [] : lasting;
      // JSON keeps half a surrogate pair, which UTF-8 would lose.
      const entry = `${version} ${JSON.stringify(value)}`;
      const wrote = await run(
        writeScript,
        nameOf("entry", key),
        [version, entry, over, ...expiry],
        signal,
      );
      if (isYes(wrote)) return { value, version };
      throw new StoreError(
        "store_conflict",
        "Another write changed this entry first. Read it again.",
      );
    },
    async delete(key) {
      requireKey(key);
      await run(deleteScript, nameOf("entry", key), []);
    },
    async lock(key, task, lockOptions) {
      const timeoutMs = requireLock(key, task, lockOptions);
      const endsAt = clock.monotonic() + timeoutMs;
      // The tasks of this process queue here, so that only one of them asks Redis.
      return queued(key, timeoutMs, async () => {
        const [name, holder] = [nameOf("lock", key), crypto.randomUUID()];
        const acquiredAt = await acquire(name, holder, timeoutMs, endsAt);
        const renew = async () => isYes(await run(renewScript, name, [holder, String(leaseMs)]));
        const lease = keepLease(renew, acquiredAt, leaseMs, clock);
        try {
          return await task(lease.signal);
        } finally {
          lease.end();
          // If it fails, the lease ends by itself. The outcome of the task counts.
          await inTime(run(releaseScript, name, [holder]), answerMs, clock, lateError).catch(
            () => {},
          );
        }
      });
    },
  };
}

/**
 * A process that dies blocks its locks for so long; one that hangs for longer loses them. It is
 * renewed after a third, so a restart of Redis or a lost connection of some seconds does not end
 * it.
 */
const usualLeaseMs = 15_000;
/**
 * How long after the time limit of a lock its last command may be unanswered, and how long any of
 * its commands may be: as long as callers wait for a store that is not needed
 * (`auth/shared/shared-state.ts`).
 */
const [answerMs, longestAnswerMs] = [1_000, 2_500];
/** Entries that expire later are stored without expiry. */
const latestExpiry = Number.MAX_SAFE_INTEGER;

// Each script uses one key, as a cluster demands. A client that lost its connection may send a
// script again that was executed: then the version or the holder that it writes is there already.
// Reading is a script too, because a client may send plain reads to a replica, which lags behind.
const readScript = `return redis.call("GET", KEYS[1])`;
const writeScript = `
local found = redis.call("GET", KEYS[1])
local current = found and "=" .. (string.match(found, "^%S+") or " ") or "missing"
if current == "=" .. ARGV[1] then return 1 end
if ARGV[3] ~= "any" and ARGV[3] ~= current then return 0 end
if ARGV[4] then redis.call("SET", KEYS[1], ARGV[2], ARGV[4], ARGV[5]) else redis.call("SET", KEYS[1], ARGV[2]) end
return 1`;
const deleteScript = `return redis.call("DEL", KEYS[1])`;
const acquireScript = `
if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return 1 end
if redis.call("GET", KEYS[1]) == ARGV[1] then return 1 end
return 0`;
const renewScript = `
if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end
return 0`;
const releaseScript = `
if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end
return 0`;

/** A client may be set to return numbers as text. */
function isYes(answer: unknown): boolean {
  return Number(answer) === 1;
}

/**
 * Keeps braces for the hash tag, and a lone surrogate, which UTF-8 would lose. Different texts stay
 * different.
 */
function encodeName(text: string): string {
  return text.replace(
    /[%{}]|\p{Surrogate}/gu,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  );
}

/** @throws StoreError `store_corrupt` */
function parseEntry(entry: unknown): { value: string; version: string } {
  try {
    const [, version, json] = /^(\S+) (".*")$/s.exec(entry as string) ?? [];
    if (version !== undefined && json !== undefined) return { value: JSON.parse(json), version };
  } catch {
    // The parser's message would quote the value.
  }
  throw foreignKey();
}

function foreignKey(): StoreError {
  const problem = "Redis holds something under the key of an entry that this store did not write.";
  return new StoreError(
    "store_corrupt",
    `${problem} Use another prefix or database, or delete it.`,
  );
}

type Run = (
  script: string,
  name: string,
  args: readonly string[],
  signal?: AbortSignal,
) => Promise<unknown>;

/** Sends the text of the scripts, since Redis forgets them in a restart or failover. */
function scriptRunner(client: RedisClient): Run {
  const send = commandSender(client);
  return async (script, name, args, signal) => {
    // The caller has given up.
    signal?.throwIfAborted();
    try {
      return await send(name, ["eval", script, "1", name, ...args], signal);
    } catch (fault) {
      throw storeErrorOf(fault);
    }
  };
}

type Send = (name: string, command: string[], signal?: AbortSignal) => Promise<unknown>;

/** Finds the library by the shape of its client. @throws ConfigurationError `option_invalid` */
function commandSender(client: RedisClient): Send {
  const options = (signal?: AbortSignal) => signal && { abortSignal: signal, signal };
  // A client of ioredis also has a sendCommand, of another shape.
  const given = Object(client) as RedisClient;
  if ("call" in given && typeof given.call === "function")
    return async (_name, [command = "", ...args]) => given.call(command, ...args);
  if (!("sendCommand" in given) || typeof given.sendCommand !== "function")
    throw invalidOption(
      "client",
      "must be a client of the package redis or ioredis",
      "Pass the resolved createClient(...).connect(), or new Redis(...) of ioredis.",
    );
  if ("slots" in given)
    return async (name, command, signal) =>
      given.sendCommand(name, false, command, options(signal));
  if ("getSentinelNode" in given)
    return async (_name, command, signal) => given.sendCommand(false, command, options(signal));
  return async (_name, command, signal) => given.sendCommand(command, options(signal));
}

function messageOf(fault: unknown): string {
  return String((Object(fault) as Partial<Error>).message);
}

/** The answer of Redis begins with a code. The rest may quote the command, and with it a value. */
function storeErrorOf(fault: unknown): StoreError {
  if (isStoreError(fault)) return fault;
  const message = messageOf(fault);
  if (message.includes("WRONGTYPE")) return foreignKey();
  const { name, code } = Object(fault) as Partial<Error> & { code?: unknown };
  const answer = /^[A-Z]{3,20}(?= )/.exec(message)?.[0];
  if (answer !== undefined) {
    const remedy =
      "See the log of Redis, and the user, role and settings that the client connects with.";
    const cause = { name: "ReplyError", code: answer };
    return new StoreError("store_unavailable", `Redis refused a command (${answer}). ${remedy}`, {
      cause,
    });
  }
  // The classes of the package redis do not set their names.
  const cause = { name: name === "Error" ? Object(fault).constructor.name : name, code };
  const problem = "Redis did not execute a command.";
  const remedy = "Check that it is running, and that the client is connected to it.";
  return new StoreError("store_unavailable", `${problem} ${remedy}`, { cause });
}

function lateError(): StoreError {
  const message = "Redis did not answer in time. Check its load and its connection.";
  return new StoreError("store_unavailable", message, { cause: { name: "TimeoutError" } });
}

/**
 * Renews a lease until `end`. The signal is aborted when the lock is not ours any more, or when no
 * renewal was confirmed for a whole lease. After the process was suspended that may be noticed too
 * late; then compare-and-set decides.
 */
function keepLease(
  renew: () => Promise<boolean>,
  acquiredAt: number,
  leaseMs: number,
  clock: ResolvedClock,
): { readonly signal: AbortSignal; end(): void } {
  const lost = new AbortController();
  let [renewedAt, askedAt] = [acquiredAt, acquiredAt];
  let timer: unknown;
  const end = () => clock.clearTimeout(timer);
  const lose = () => {
    end();
    const problem = "The lock was lost while its task ran: another process may hold it now.";
    const remedy = "Write nothing more under it, and begin the task again.";
    lost.abort(new StoreError("store_locked", `${problem} ${remedy}`));
  };
  const check = () => {
    timer = clock.setTimeout(check, leaseMs / 30);
    // Only Node's timers keep a process alive.
    Object(timer).unref?.();
    const now = clock.monotonic();
    if (now - renewedAt >= leaseMs) return lose();
    if (now - askedAt < leaseMs / 3) return;
    askedAt = now;
    renew().then(
      (isOurs) => {
        if (!isOurs) lose();
        renewedAt = Math.max(renewedAt, now);
      },
      () => {
        // The next check asks again.
        askedAt = renewedAt;
      },
    );
  };
  check();
  return { signal: lost.signal, end };
}
