// One random life of a connector with two tenants: the steps, and the rules that no client may break.
import fc from "fast-check";
import { type ConnectorOptions, createConnector, isBivariantError } from "../../src/index.js";
import { BASE_URL } from "../support/auth.js";
import { type SteppedClock, steppedClock } from "../support/clock.js";
import { settle } from "../support/wait.js";
import { fakeService, type SeenTokenRequest } from "./fake-service.js";

const tenants = ["acme", "globex"] as const;

export interface Step {
  readonly act: "call" | "token" | "invalidate" | "wait";
  readonly tenant: 0 | 1;
  /** How long a wait lasts. */
  readonly seconds: number;
  /** When a call is aborted: 0 is at once, `undefined` is never. */
  readonly abortAfterMs: number | undefined;
}

export interface TokenAnswer {
  readonly kind: "token" | "429" | "429 for a while" | "503" | "reset" | "refused" | "garbage" | "silence";
  readonly latencyMs: number;
}

export interface Life {
  readonly lifetimeSeconds: number;
  readonly steps: readonly Step[];
  /** The answers, which are used in turn, again and again. */
  readonly tokenAnswers: readonly TokenAnswer[];
  readonly apiStatuses: readonly number[];
}

export const lives: fc.Arbitrary<Life> = fc.record({
  lifetimeSeconds: fc.integer({ min: 30, max: 400 }),
  steps: fc.array(
    fc.record({
      act: fc.constantFrom("call", "call", "call", "token", "invalidate", "wait", "wait"),
      tenant: fc.constantFrom<0 | 1>(0, 1),
      seconds: fc.oneof(fc.integer({ min: 1, max: 15 }), fc.integer({ min: 1, max: 400 })),
      abortAfterMs: fc.option(fc.constantFrom(0, 1, 500, 3_000, 20_000), { nil: undefined, freq: 3 }),
    }),
    { minLength: 5, maxLength: 40 },
  ),
  tokenAnswers: fc.array(
    fc.record({
      kind: fc.oneof(
        { weight: 4, arbitrary: fc.constant<TokenAnswer["kind"]>("token") },
        {
          weight: 3,
          arbitrary: fc.constantFrom<TokenAnswer["kind"]>(
            ...(["429", "429 for a while", "503", "reset", "refused", "garbage", "silence"] as const),
          ),
        },
      ),
      latencyMs: fc.constantFrom(0, 10, 700, 4_000, 9_999, 12_000),
    }),
    { minLength: 1, maxLength: 8 },
  ),
  apiStatuses: fc.array(fc.constantFrom(200, 200, 200, 401, 403, 503), { minLength: 1, maxLength: 6 }),
});

/** Makes options with which a connector breaks a rule, to show that the property finds it. */
export type Mutation = (clock: SteppedClock) => Partial<ConnectorOptions>;

/** Plays a life and returns the broken rules. */
export async function live(variant: "A" | "B", life: Life, mutation?: Mutation): Promise<string[]> {
  const wrong: string[] = [];
  // With the jitter of every other life, so that a replay is the same.
  const clock = steppedClock();
  const onUnhandled = (reason: unknown) => void wrong.push(`an unhandled rejection: ${reason}`);
  process.on("unhandledRejection", onUnhandled);
  let answered = 0;
  let called = 0;
  const service = fakeService({
    variant,
    now: clock.now,
    lifetimeSeconds: life.lifetimeSeconds,
    apiStatus: () => life.apiStatuses[called++ % life.apiStatuses.length] ?? 200,
    onTokenRequest(request) {
      const { kind, latencyMs } = life.tokenAnswers[answered++ % life.tokenAnswers.length] as TokenAnswer;
      if (kind !== "silence") clock.setTimeout(() => request.answer(answerOf(kind, request)), latencyMs);
    },
  });
  const answerOf = (kind: TokenAnswer["kind"], { tenantId }: SeenTokenRequest): Response | Error => {
    if (kind === "token") return service.token(tenantId);
    if (kind === "reset") return new TypeError("fetch failed");
    if (kind === "refused") return Response.json({ error: "invalid_client" }, { status: 400 });
    if (kind === "garbage") return new Response("<html>");
    if (kind === "503") return new Response("", { status: 503 });
    return new Response("", { status: 429, headers: kind === "429" ? {} : { "retry-after": "25" } });
  };
  const connector = createConnector({
    credentials: [service.credential],
    fetch: service.fetch,
    clock,
    ...mutation?.(clock),
  });
  const services = await Promise.all(
    tenants.map((tenantId) => connector.connect({ baseUrl: BASE_URL, tenantId })),
  );

  const waiting = new Map<Promise<void>, AbortSignal>();
  const watch = (promise: Promise<unknown>, signal: AbortSignal) => {
    const ended: Promise<void> = promise
      .then(
        () => {},
        (error: unknown) => {
          if (!signal.aborted && !isBivariantError(error)) wrong.push(`a foreign error: ${error}`);
        },
      )
      .finally(() => waiting.delete(ended));
    waiting.set(ended, signal);
  };
  const lookForTheAborted = async () => {
    await settle();
    for (const signal of waiting.values())
      if (signal.aborted) wrong.push("an aborted caller that still waits");
  };

  for (const { act, tenant, seconds, abortAfterMs } of life.steps) {
    const { auth, fetch } = services[tenant] as (typeof services)[0];
    const controller = new AbortController();
    const { signal } = controller;
    if (act === "wait") await clock.pass(seconds * 1_000);
    if (act === "call") watch(fetch(service.route(tenants[tenant]), { signal }), signal);
    if (act === "token") watch(auth.getAccessToken({ signal }), signal);
    if (act === "invalidate")
      watch(
        auth.getAccessToken({ signal }).then((token) => auth.invalidate(token)),
        signal,
      );
    if (act === "wait" || abortAfterMs === undefined) {
      // The caller stays.
    } else if (abortAfterMs === 0) controller.abort("gone");
    else clock.setTimeout(() => controller.abort("gone"), abortAfterMs);
    await lookForTheAborted();
  }
  for (let minutes = 0; minutes < 4 && waiting.size > 0; minutes++) await clock.pass(60_000);
  await settle();
  if (waiting.size > 0) wrong.push(`${waiting.size} promises left unsettled`);
  if (service.mostInFlight() > 1) wrong.push(`${service.mostInFlight()} renewals in flight for one tenant`);
  wrong.push(...service.misuses);
  process.off("unhandledRejection", onUnhandled);
  return wrong;
}

/** The property that no rule is broken in any life. */
export const lifeProperty = (
  variant: "A" | "B",
  mutation?: Mutation,
  isAllowed = (_wrong: string) => false,
): fc.IAsyncProperty<[Life]> =>
  fc.asyncProperty(lives, async (life: Life) => {
    const wrong = (await live(variant, life, mutation)).filter((one) => !isAllowed(one));
    if (wrong.length > 0) throw new Error(wrong.join("; "));
  });
