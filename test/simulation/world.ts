// Plays a world: its processes, its people, the network, the store and the service, until all is
// quiet again.
import { createHash } from "node:crypto";
import { getEventListeners } from "node:events";
import { createEmulator } from "../../src/emulator/index.js";
import {
  createConnector,
  memoryStore,
  type Service,
  serviceAccount,
  servicePlugin,
} from "../../src/index.js";
import { beginWorld, endWorld } from "./determinism.js";
import { tenantHeader, type World } from "./network.js";
import { Person, sharesSessions } from "./people.js";
import { type ActPlan, type FaultKind, type FaultPlan, hasMachines, type Plan } from "./plan.js";
import type { Planted } from "./planted.js";
import { type SimulatedProcess, startProcess } from "./process.js";
import { randomOf } from "./random.js";
import { SimulatedRedis } from "./redis.js";
import { longestCallMs, type RuleName, Rules } from "./rules.js";
import { Scheduler, START } from "./scheduler.js";
import { SimulatedService } from "./service.js";

export interface Outcome {
  readonly broken: ReadonlyMap<RuleName, string>;
  readonly trace: readonly string[];
  /** How often each fault took effect. */
  readonly faults: ReadonlyMap<FaultKind, number>;
  /** The same for the same seed. */
  readonly digest: string;
}

const healingTries = 5;
/** A session ends after at most 8 hours, and is remembered for 24. */
const longestStoredMs = 40 * 3_600_000;

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
  beginWorld(plan.seed);
  try {
    return await new Play(plan, planted).run();
  } finally {
    endWorld();
  }
}

class Play {
  readonly #plan: Plan;
  readonly #planted: Planted;
  readonly #scheduler = new Scheduler();
  readonly #rules: Rules;
  readonly #trace: string[] = [];
  readonly #counts = new Map<FaultKind, number>();
  readonly #redis: SimulatedRedis;
  readonly #world: World;
  readonly #start: (index: number, life: number) => SimulatedProcess;
  readonly #processes: SimulatedProcess[];
  readonly #people: Person[][];
  /** Faults that wait for a token request of their process. */
  readonly #waiting = new Set<FaultPlan>();

  constructor(plan: Plan, planted: Planted) {
    const scheduler = this.#scheduler;
    const random = randomOf(plan.seed ^ 0x5eed);
    const epoch = () => Math.floor(START + scheduler.now);
    const rules = new Rules(plan);
    const isOn = ({ at, until }: FaultPlan) => at <= scheduler.now && scheduler.now < until;
    this.#plan = plan;
    this.#planted = planted;
    this.#rules = rules;
    this.#redis = new SimulatedRedis(scheduler, epoch);
    this.#world = {
      plan,
      scheduler,
      rules,
      random,
      service: new SimulatedService(plan, () => scheduler.now, epoch),
      note: (text) => void this.#trace.push(`${scheduler.now.toFixed(3)} ${text}`),
      faultOf: (isMeant) => {
        const fault = plan.faults.find((one) => isOn(one) && isMeant(one) && random() < one.share);
        if (fault !== undefined) this.#count(fault.kind);
        return fault;
      },
      tokenSent: (index) => {
        for (const fault of this.#waiting) {
          if (fault.process !== index) continue;
          this.#waiting.delete(fault);
          // While the request is under way, or its answer, or what follows from it.
          scheduler.after(random() * 3 * plan.latencyMs, () => this.#begin(fault));
        }
      },
    };
    const sharedClock = scheduler.clock({ isDead: false, suspendedUntil: 0 }, 1, () => 0, random);
    const stores = { redis: this.#redis, shared: memoryStore({ clock: sharedClock }) };
    this.#start = (index, life) => startProcess(this.#world, stores, planted, index, life);
    this.#processes = plan.processes.map((_, index) => this.#start(index, 0));
    this.#people = plan.customers.map((customer) =>
      ["ada", "bob"].map((name) => new Person(this.#world, customer, name)),
    );
  }

  #count(kind: FaultKind): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
  }

  async run(): Promise<Outcome> {
    const [plan, scheduler, rules, trace] = [this.#plan, this.#scheduler, this.#rules, this.#trace];
    const onUnhandled = (reason: unknown) => rules.break("no unhandled rejection", String(reason));
    process.on("unhandledRejection", onUnhandled);
    try {
      for (const act of plan.acts) scheduler.at(act.at, () => this.#act(act));
      for (const fault of plan.faults) {
        const waits = fault.isAtToken && /jump|suspend|death|restart|failover/.test(fault.kind);
        scheduler.at(fault.at, () => void (waits ? this.#waiting.add(fault) : this.#begin(fault)));
      }
      for (const customer of plan.customers)
        if (customer.rotatesAt !== undefined)
          scheduler.at(customer.rotatesAt, () => this.#world.service.rotate(customer));
      // A token seems fresh for as long as the clock was set back. Only its renewal shows that a
      // customer has moved.
      const setBackMs = plan.faults.reduce(
        (sum, { kind, jumpMs }) => sum - (kind === "jump" ? Math.min(jumpMs, 0) : 0),
        0,
      );
      const healingFrom =
        plan.lifeMs + setBackMs + Math.max(600_000, 1_000 * plan.lifetimeSeconds + 60_000);
      scheduler.at(plan.lifeMs, () => this.#waiting.clear());
      this.#heal(healingFrom);
      await scheduler.runUntil(healingFrom + 1_800_000);
      this.#checkGrowth();
    } finally {
      process.off("unhandledRejection", onUnhandled);
    }
    for (const [rule, how] of rules.broken) trace.push(`broken: ${rule}: ${how}`);
    const digest = createHash("sha256").update(trace.join("\n")).digest("hex");
    return { broken: rules.broken, trace, faults: this.#counts, digest };
  }

  #act(act: ActPlan): void {
    const { kind, process, customer, person, isImpatient } = act;
    const at = this.#processes[process];
    if (at === undefined || at.suspendedUntil > this.#scheduler.now) return;
    if (kind === "call") {
      this.#call(at, customer, act);
      return;
    }
    const who = this.#people[customer]?.[person] as Person;
    // Without a shared store all requests of a person reach one process.
    const isShared = sharesSessions(this.#plan);
    const own = isShared ? at : this.#processOf(person);
    const other = isShared
      ? (this.#processes[(process + 1) % this.#processes.length] as SimulatedProcess)
      : own;
    const name = `${kind} of ${who.userId} at ${own.name}`;
    const done =
      kind === "log out"
        ? () => who.logOut(own)
        : kind === "two tabs"
          ? () => who.twoTabs(own, other)
          : kind === "sign in"
            ? () => who.signIn(own, isImpatient ? other : undefined)
            : () => who.visit(own);
    this.#watch([own, other], name, this.#ended(name, done));
  }

  /** Where the requests of a person arrive, if they must all arrive at one process. */
  #processOf(person: number): SimulatedProcess {
    return this.#processes[person % this.#processes.length] as SimulatedProcess;
  }

  /** Resolves with whether a task succeeded, and shows its error to the rules. */
  async #ended(name: string, task: () => Promise<boolean>): Promise<boolean> {
    try {
      return await task();
    } catch (error) {
      const { code } = Object(error) as { code?: string };
      this.#world.note(`${name} fails: ${code ?? error}`);
      this.#rules.shown(error);
      // An abort rejects with its own reason, and the emulator with an error of its own.
      if (code === undefined && error !== "gone")
        this.#rules.break("known errors", `${name} fails: ${error}`);
      return false;
    }
  }

  /** Checks that a promise is settled by its deadline. */
  #watch(
    processes: readonly SimulatedProcess[],
    name: string,
    promise: Promise<boolean>,
  ): () => boolean {
    const scheduler = this.#scheduler;
    const suspendedMs = () => processes.reduce((sum, one) => sum + one.suspendedMs, 0);
    const before = suspendedMs();
    let isOver = false;
    promise.finally(() => {
      isOver = true;
    });
    const isLate = () => !isOver && processes.every(({ isDead }) => !isDead);
    const check = () => {
      if (isLate())
        this.#rules.break("deadline", `${name} is not settled after ${longestCallMs} ms`);
    };
    // A suspension is not counted.
    scheduler.after(longestCallMs, () => {
      const more = suspendedMs() - before;
      if (more > 0) scheduler.after(more, check);
      else check();
    });
    return isLate;
  }

  /** Makes a call of a machine. Resolves with whether it succeeded, or never. */
  #call(
    from: SimulatedProcess,
    customer: number,
    { abortAfterMs, isHeld, isInvalidated }: Partial<ActPlan> = {},
  ): Promise<boolean> {
    const [{ note, service }, planted, scheduler] = [this.#world, this.#planted, this.#scheduler];
    const target = this.#plan.customers[customer];
    if (target === undefined) return Promise.resolve(true);
    const { tenantId } = target;
    const controller = new AbortController();
    const given = abortAfterMs === undefined ? from.signal : controller.signal;
    const signal = planted.isAbortLost ? new AbortController().signal : given;
    const name = `${from.name} call of ${tenantId}`;
    const baseUrl = "https://service.example";
    const run = async () => {
      const known = isHeld ? from.held.get(tenantId) : undefined;
      const client: Service =
        known ?? (await from.connector.connect({ baseUrl, tenantId, signal }));
      from.held.set(tenantId, client);
      await planted.beforeCall?.(client, signal);
      const token = await client.auth.getAccessToken({ signal });
      if (isInvalidated) {
        this.#rules.unauthorized(scheduler.now, from.name, tenantId, token.value, true);
        client.auth.invalidate(token);
      }
      const path = client.variant === "A" ? `api/v1/${tenantId}/devices` : "v1/devices";
      const own = given === controller.signal ? { signal } : {};
      const response = await client.fetch(path, { ...own, headers: { [tenantHeader]: tenantId } });
      note(`${name} is ${response.ok ? "answered" : `refused ${response.status}`}`);
      return response.ok && service.variantOf(target) === client.variant;
    };
    const outcome = this.#ended(name, run);
    const isLate = this.#watch([from], name, outcome);
    if (abortAfterMs === undefined) return outcome;
    const abort = () => {
      controller.abort("gone");
      const check = () => isLate() && this.#rules.break("abort", `${name} waits after its abort`);
      scheduler.after(0.5, check, from);
    };
    scheduler.after(abortAfterMs, abort, from);
    return outcome;
  }

  #begin({
    kind,
    at: planned,
    until: end,
    process: index,
    customer,
    share,
    jumpMs,
  }: FaultPlan): void {
    const scheduler = this.#scheduler;
    const [at, until] = [scheduler.now, scheduler.now + end - planned];
    const victim = this.#processes[index] as SimulatedProcess;
    const whose = this.#plan.customers[customer];
    const begun = () => {
      this.#count(kind);
      this.#world.note(
        `${kind === "disabled" || kind === "narrowed" ? whose?.tenantId : victim.name} ${kind}`,
      );
    };
    if (kind === "jump") victim.jumpedMs += jumpMs;
    else if (kind === "suspend") {
      victim.suspendedMs += Math.max(0, until - Math.max(at, victim.suspendedUntil));
      victim.suspendedUntil = Math.max(victim.suspendedUntil, until);
      this.#rules.suspended(victim.name, at, victim.suspendedUntil);
    } else if (kind === "death") {
      victim.isDead = true;
      this.#processes[index] = this.#start(index, 1 + Number(victim.name.split(".")[1]));
    } else if (kind === "store restart" || kind === "store failover") {
      const lossMs = kind === "store restart" ? 1_000 * share : 60_000 * share;
      const downMs = Math.min(until - at, 8_000) * share;
      this.#rules.storeLost(at, lossMs);
      this.#redis.crash(lossMs, downMs);
    } else if (kind === "revoked" && whose) this.#world.service.revoke(whose);
    else if ((kind === "disabled" || kind === "narrowed") && whose) {
      const lift = this.#world.service.restrict(whose, kind);
      scheduler.at(until, lift);
    } else return;
    begun();
  }

  /** After the last fault all that is healthy makes calls again. */
  #heal(from: number): void {
    const scheduler = this.#scheduler;
    const sick = new Map<string, () => Promise<boolean>>();
    const begin = () => {
      for (const at of hasMachines(this.#plan) ? this.#processes : [])
        for (const [index, { tenantId, trouble }] of this.#plan.customers.entries())
          if (trouble === undefined)
            sick.set(`${at.name} ${tenantId}`, () => this.#call(at, index));
      for (const [index, person] of this.#people.flat().entries()) {
        if (!person.hasSession) continue;
        const at = this.#processOf(index % 2);
        sick.set(person.userId, () => this.#ended(person.userId, () => person.visit(at)));
      }
    };
    const turn = (isLast: boolean) => {
      for (const [name, attempt] of sick) {
        const outcome = attempt();
        outcome.then((isOk) => isOk && sick.delete(name));
      }
      if (isLast)
        scheduler.after(longestCallMs, () => {
          for (const name of sick.keys())
            this.#rules.break("healing", `${name} makes no call after the last fault`);
        });
    };
    scheduler.at(from, begin);
    for (let number = 1; number <= healingTries; number++)
      scheduler.at(from + (number - 1) * 60_000, () => turn(number === healingTries));
  }

  #checkGrowth(): void {
    const [rules, scheduler] = [this.#rules, this.#scheduler];
    const grows = (how: string) => rules.break("nothing grows", how);
    if (scheduler.pending > 0) grows(`${scheduler.pending} timers are left`);
    for (const { name, signal, isDead } of this.#processes) {
      const listeners = getEventListeners(signal, "abort").length;
      if (listeners > 0 && !isDead) grows(`${name} has left ${listeners} listeners`);
    }
    // One of a session, and one of a login that failed while the world healed.
    for (const person of this.#people.flat())
      if (person.cookies > 2) grows(`${person.userId} has ${person.cookies} cookies`);
    for (const [key, { value, expiresAt }] of this.#redis.data.entries) {
      if (this.#plan.isEncrypted) rules.shown(`${key} ${value}`);
      // One key seals the logins of all browsers.
      const isLasting = key.includes("login-key");
      if (!isLasting && expiresAt > START + scheduler.now + longestStoredMs)
        grows(`an entry never expires: ${key}`);
    }
  }
}
