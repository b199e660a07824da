// Plays a world: processes with a connector each, a network, a store, and the emulator as the service.
import { createHash } from "node:crypto";
import { createEmulator } from "../../src/emulator/index.js";
import {
  type Connector,
  createConnector,
  memoryStore,
  serviceAccount,
  servicePlugin,
} from "../../src/index.js";
import { redisStore } from "../../src/stores/redis.js";
import { publicJwk, rsaKey } from "../support/keys.js";
import type { FaultPlan, Plan } from "./plan.js";
import type { Planted } from "./planted.js";
import { type RedisFault, SimulatedRedis } from "./redis.js";
import { longestCallMs, type RuleName, Rules } from "./rules.js";
import { type Owner, randomOf, Scheduler, START } from "./scheduler.js";

export interface Outcome {
  readonly broken: ReadonlyMap<RuleName, string>;
  readonly trace: readonly string[];
  /** The same for the same seed. */
  readonly digest: string;
}

interface Process extends Owner {
  readonly name: string;
  readonly connector: Connector;
  jumpedMs: number;
  suspendedMs: number;
}

const quietMs = 600_000;
const healingTries = 5;
const keys = { keys: [{ ...publicJwk(rsaKey()), kid: "key-1" }] };

/** Modules that load lazily load now: the first world would otherwise go on without them. */
const loading = Promise.all(
  (["A", "B"] as const).map(async (variant) => {
    const connector = createConnector({
      credentials: [
        servicePlugin({
          clientId: "plugin",
          privateKey: { keyId: "key-1", sign: () => new Uint8Array(256) },
        }),
        serviceAccount({ clientId: "account", clientSecret: "secret" }),
      ],
      fetch: createEmulator({ variants: [variant] }).fetch as typeof globalThis.fetch,
    });
    const service = await connector.connect({ baseUrl: "https://a.example", tenantId: "tenant" });
    await service.fetch("v1/devices").catch(() => {});
  }),
);

export async function play(plan: Plan, planted: Planted = {}): Promise<Outcome> {
  await loading;
  const scheduler = new Scheduler();
  const rules = new Rules(plan);
  const random = randomOf(plan.seed ^ 0x5eed);
  const trace: string[] = [];
  const note = (text: string) => void trace.push(`${scheduler.now.toFixed(3)} ${text}`);
  const onUnhandled = (reason: unknown) => rules.break("no unhandled rejection", String(reason));
  process.on("unhandledRejection", onUnhandled);
  const epoch = () => Math.floor(START + scheduler.now);
  const redis = new SimulatedRedis(scheduler, epoch);
  const sharedMemory = memoryStore({
    clock: scheduler.clock({ isDead: false, suspendedUntil: 0 }, 1, () => 0, random),
  });
  const emulators = { A: service("A"), B: service("B") };

  function service(variant: "A" | "B") {
    const emulator = createEmulator({
      publicUrl: `https://${variant.toLowerCase()}.example`,
      variants: [variant],
      now: epoch,
      // Tokens of the two deployments must differ.
      randomSeed: 2 * plan.seed + (variant === "A" ? 0 : 1),
      tokenLifetimeSeconds: plan.lifetimeSeconds,
      tokenResponseExtras: { expires_in: plan.lifetimeSeconds },
      rateLimit: plan.rateLimit === undefined ? false : { requests: plan.rateLimit, windowSeconds: 60 },
      // A real signature takes a millisecond of real time, and the emulator's own tests check it.
      rules: { "assertion.signature": false },
    });
    for (const { tenantId, isRegistered, ...customer } of plan.customers) {
      if (!isRegistered || customer.variant !== variant) continue;
      const scopes = ["devices:read"];
      const [clientId, clientSecret] = [`account-${tenantId}`, `secret-of-${tenantId}`];
      if (variant === "B") emulator.registerServiceAccount({ clientId, clientSecret, tenantId });
      else emulator.registerPlugin({ clientId: "plugin", tenantId, type: "service", jwks: keys, scopes });
    }
    return emulator;
  }

  const faultOf = (isOfKind: (fault: FaultPlan) => boolean) =>
    plan.faults.find(
      (one) => one.at <= scheduler.now && scheduler.now < one.until && isOfKind(one) && random() < one.share,
    );
  const latency = () => 1 + random() * plan.latencyMs;

  /** What a gateway answers in place of the service. */
  const answerOf = ({ kind, retryAfter }: FaultPlan): Response | undefined => {
    if (kind === "429") return new Response(null, { status: 429 });
    if (kind === "429 for a while")
      return new Response(null, { status: 429, headers: { "retry-after": String(retryAfter) } });
    if (kind === "503") return new Response(null, { status: 503 });
    if (kind === "redirect")
      return new Response(null, { status: 302, headers: { location: "https://c.example" } });
    if (kind === "page") return new Response("<html>", { headers: { "content-type": "text/html" } });
    return undefined;
  };

  const send =
    (from: Process) =>
    async (input: string, init: RequestInit = {}): Promise<Response> => {
      const url = new URL(input);
      const headers = new Headers(init.headers);
      const body = typeof init.body === "string" ? init.body : String(init.body ?? "");
      const isForToken = body.includes("client_credentials");
      const tenantId =
        /\/(tenant-\d+)\//.exec(url.pathname)?.[1] ??
        /account-(tenant-\d+)/.exec(body)?.[1] ??
        headers.get("x-tenant") ??
        "";
      const index = plan.customers.findIndex((one) => one.tenantId === tenantId);
      const customer = plan.customers[index];
      const isCall = !isForToken && headers.has("x-tenant");
      const what = `${from.name} ${isForToken ? "token" : isCall ? "call" : "probe"} ${tenantId}`;
      note(what);
      if (isForToken && customer) rules.tokenRequested(scheduler.now, from.name, customer, body);
      if (isCall)
        rules.called(
          scheduler.now,
          from.name,
          tenantId,
          headers.get("authorization")?.replace("Bearer ", "") ?? "",
        );
      const fault = faultOf((one) => one.customer === index && !/store|jump|suspend|death/.test(one.kind));
      const kind = fault?.kind;
      const slowMs = kind === "slow" ? 12_000 * random() : 0;
      return new Promise((resolve, reject) => {
        let isOver = false;
        const settle = (end: () => void) => {
          if (isOver) return;
          isOver = true;
          end();
        };
        const { signal } = init;
        signal?.addEventListener("abort", () => settle(() => reject(signal.reason)), { once: true });
        if (signal?.aborted) settle(() => reject(signal.reason));
        const later = (run: () => void, owner?: Owner) =>
          scheduler.at(scheduler.now + latency() + slowMs, run, owner);
        const lost = () => settle(() => reject(new TypeError("fetch failed")));
        const deliver = (response: Response) => {
          note(`${what} -> ${response.status}`);
          const seconds = Number(response.headers.get("retry-after"));
          settle(() => {
            if (isForToken && response.status === 429)
              rules.limited(scheduler.now, from.name, tenantId, seconds);
            resolve(response);
          });
        };
        if (kind === "silence") return;
        if (kind === "lost before") {
          later(lost, from);
          return;
        }
        later(async () => {
          const gateway = fault && answerOf(fault);
          if (gateway !== undefined) {
            later(() => deliver(gateway), from);
            return;
          }
          const { signal: _signal, ...request } = init;
          const emulator = emulators[url.host.startsWith("a.") ? "A" : "B"];
          const answer = await emulator.fetch(input, request);
          const text = await answer.text();
          const issued = isForToken && answer.ok && JSON.parse(text).access_token;
          if (issued) rules.tokenIssued(scheduler.now, tenantId, issued);
          const content = kind === "cut body" ? text.slice(0, text.length / 2) : text;
          const { status, headers } = answer;
          later(
            kind === "lost after" ? lost : () => deliver(new Response(content || null, { status, headers })),
            from,
          );
        });
      });
    };

  const storeOf = (owner: Owner, index: number, clock: ReturnType<Scheduler["clock"]>) => {
    if (plan.store === "none") return undefined;
    if (plan.store === "shared") return sharedMemory;
    if (plan.store === "own") return memoryStore({ clock });
    const fault = () =>
      faultOf(({ kind, process }) => process === index && kind.startsWith("store"))?.kind as RedisFault;
    return redisStore(
      redis.client(owner, () => latency() / 10, fault),
      { lossWindowMs: 0, clock },
    );
  };

  const start = (index: number, life: number): Process => {
    const { rate = 1, offsetMs = 0 } = plan.processes[index] ?? {};
    const owner = {
      name: `p${index}.${life}`,
      isDead: false,
      suspendedUntil: 0,
      suspendedMs: 0,
      jumpedMs: 0,
    };
    const self = owner as Process;
    const own = scheduler.clock(self, rate, () => offsetMs + self.jumpedMs, random);
    const clock = planted.clock?.(own, scheduler) ?? own;
    const given = storeOf(self, index, clock);
    const store = given && (planted.store?.(given) ?? given);
    const fetch = send(self);
    const variantOf = (tenantId: string) => plan.customers.find((one) => one.tenantId === tenantId)?.variant;
    const named = (tenantId: string) => planted.tenantOf?.(tenantId, plan) ?? tenantId;
    const connector = createConnector({
      clock,
      store,
      fetch: (planted.fetch?.(fetch) ?? fetch) as typeof globalThis.fetch,
      credentials: [
        servicePlugin(({ tenantId }) =>
          variantOf(tenantId) === "A"
            ? { clientId: "plugin", privateKey: { keyId: "key-1", sign: () => new Uint8Array(256) } }
            : undefined,
        ),
        serviceAccount(({ tenantId }) =>
          variantOf(tenantId) === "B"
            ? { clientId: `account-${named(tenantId)}`, clientSecret: `secret-of-${named(tenantId)}` }
            : undefined,
        ),
      ],
      onEvent(event) {
        planted.onEvent?.(event, clock);
        rules.shown(planted.shown?.(event) ?? event);
        note(`${self.name} ${event.type}`);
      },
    });
    return Object.assign(owner, { connector });
  };

  const processes = plan.processes.map((_, index) => start(index, 0));

  /** Makes a call and checks how it ends. Resolves with whether it succeeded, or never. */
  const call = (from: Process, customer: number, abortAfterMs?: number): Promise<boolean> => {
    const { tenantId, variant } = plan.customers[customer] ?? { tenantId: "", variant: "A" };
    const controller = new AbortController();
    const signal = planted.isAbortLost ? new AbortController().signal : controller.signal;
    const name = `${from.name} call of ${tenantId}`;
    const suspendedMs = from.suspendedMs;
    let isOver = false;
    const run = async () => {
      const baseUrl = `https://${variant.toLowerCase()}.example`;
      const service = await from.connector.connect({ baseUrl, tenantId, signal });
      await planted.beforeCall?.(service, signal);
      const path = variant === "A" ? `api/v1/${tenantId}/devices` : "v1/devices";
      const response = await service.fetch(path, { signal, headers: { "x-tenant": tenantId } });
      return response.ok;
    };
    const outcome = run().then(
      (isOk) => {
        note(`${name} is ${isOk ? "answered" : "refused"}`);
        return isOk;
      },
      (error: unknown) => {
        note(`${name} fails: ${(error as { code?: string }).code ?? error}`);
        rules.shown(error);
        return false;
      },
    );
    outcome.finally(() => {
      isOver = true;
    });
    const mustBeOver = (rule: RuleName, how: string) => {
      if (!isOver && !from.isDead) rules.break(rule, `${name} ${how}`);
    };
    const check = (afterMs: number) =>
      scheduler.at(scheduler.now + afterMs, () => {
        // A suspension is not counted.
        const more = from.suspendedMs - suspendedMs;
        if (more > 0) scheduler.at(scheduler.now + more, () => mustBeOver("deadline", "is late"));
        else mustBeOver("deadline", `is not settled after ${afterMs} ms`);
      });
    check(longestCallMs);
    if (abortAfterMs !== undefined)
      scheduler.at(
        scheduler.now + abortAfterMs,
        () => {
          controller.abort("gone");
          scheduler.at(scheduler.now + 0.5, () => mustBeOver("abort", "waits after its abort"), from);
        },
        from,
      );
    return outcome;
  };

  for (const one of plan.calls)
    scheduler.at(one.at, () => {
      const from = processes[one.process];
      if (from && from.suspendedUntil <= scheduler.now) call(from, one.customer, one.abortAfterMs);
    });
  for (const { kind, at, until, process: index, jumpMs } of plan.faults)
    scheduler.at(at, () => {
      const victim = processes[index];
      if (victim === undefined || !["jump", "suspend", "death"].includes(kind)) return;
      note(`${victim.name} ${kind}`);
      if (kind === "jump") victim.jumpedMs += jumpMs;
      if (kind === "suspend") {
        victim.suspendedMs += Math.max(0, until - Math.max(at, victim.suspendedUntil));
        victim.suspendedUntil = Math.max(victim.suspendedUntil, until);
      }
      if (kind === "death") {
        victim.isDead = true;
        processes[index] = start(index, 1 + Number(victim.name.split(".")[1]));
      }
    });

  const healedFrom = plan.lifeMs + quietMs;
  const sick = new Set<string>();
  const tryToHeal = (isLast: boolean) => {
    for (const from of processes)
      for (const [index, { tenantId, isRegistered }] of plan.customers.entries()) {
        const name = `${from.name} ${tenantId}`;
        if (!isRegistered || (!sick.has(name) && scheduler.now > healedFrom)) continue;
        sick.add(name);
        call(from, index).then((isOk) => isOk && sick.delete(name));
        if (isLast) scheduler.at(scheduler.now + longestCallMs, () => healed(name));
      }
  };
  const healed = (name: string) => {
    if (sick.has(name)) rules.break("healing", `${name} makes no call after ${quietMs} ms without a fault`);
  };
  for (let turn = 1; turn <= healingTries; turn++)
    scheduler.at(healedFrom + (turn - 1) * 60_000, () => tryToHeal(turn === healingTries));
  await scheduler.runUntil(healedFrom + 1_800_000);
  if (scheduler.pending > 0) rules.break("nothing grows", `${scheduler.pending} timers are left`);
  process.off("unhandledRejection", onUnhandled);
  for (const [rule, how] of rules.broken) trace.push(`broken: ${rule}: ${how}`);
  return { broken: rules.broken, trace, digest: createHash("sha256").update(trace.join("\n")).digest("hex") };
}
