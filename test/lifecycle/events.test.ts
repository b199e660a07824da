// Each event is emitted once and without a secret, and a failing listener fails no caller.
import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import { describe, expect, test, vi } from "vitest";
import {
  type Connector,
  createConnector,
  memoryStore,
  type ServiceEvent,
  type TokenStore,
  type Validate,
} from "../../src/index.js";
import { type SteppedClock, steppedClock } from "../support/clock.js";
import {
  ACCOUNT_SECRET,
  account,
  credentialOf,
  deployment,
  plugin,
} from "../support/deployment.js";
import { privateJwk, rsaKey } from "../support/keys.js";
import { shown } from "../support/shown.js";
import { settle } from "../support/wait.js";

type Type = ServiceEvent["type"];

interface Story {
  readonly connector: Connector;
  readonly connect: () => ReturnType<Connector["connect"]>;
  readonly clock: SteppedClock;
  /** Makes the token endpoint or the API give this answer next, in place of the deployment. */
  readonly next: (where: "token" | "api", answer: () => Response) => void;
  /** Resolves when all work in the background is done. */
  readonly later: () => Promise<unknown>;
}

interface Chapter {
  readonly name: string;
  readonly variants?: readonly ("A" | "B")[];
  readonly ofBoth?: boolean;
  readonly aheadSeconds?: number;
  readonly store?: () => TokenStore;
  readonly before?: (story: Story) => Promise<unknown>;
  readonly tell: (story: Story) => Promise<unknown>;
  readonly types: readonly Type[];
  /**
   * How many calls and requests for a token caused these events, each with a requestId of its own.
   * Default: 1.
   */
  readonly causes?: number;
}

const refusal = () => Response.json({ error: "invalid_client" }, { status: 400 });
const refused = ["closed_after_refusal", "token_failed"] as const;
const limited = () => new Response("", { status: 429, headers: { "retry-after": "3600" } });
const token = async ({ connect }: Story) => (await connect()).auth.getAccessToken();
const call = async ({ connect }: Story) => (await connect()).call("listDevices");
const quietly = (promise: Promise<unknown>) => promise.catch(() => {});
const overTheWindow = async (story: Story) => {
  await token(story);
  story.clock.advance(3_500_000);
};
/** A validator of the caller's own that expects a list. */
const validate: Validate = ({ operationId, status, data }, tell) => {
  const issues = ["(whole body): a list is expected"];
  if (!Array.isArray(data)) tell({ type: "response_invalid", operationId, status, issues });
};
const failingStore: TokenStore = {
  ...memoryStore(),
  get: () => Promise.reject(new Error(`no store for ${ACCOUNT_SECRET}`)),
  set: () => Promise.reject(new Error(`no store for ${ACCOUNT_SECRET}`)),
};

/** Plays a step whose first request gets this answer. */
const answered =
  (where: "token" | "api", answer: () => Response, step: (story: Story) => Promise<unknown>) =>
  (story: Story) => {
    story.next(where, answer);
    return step(story);
  };
const elevenTokens = async (story: Story) => {
  for (let made = 0; made < 11; made++) await quietly(token(story));
};
const tokenAndLater = async (story: Story) => {
  await token(story);
  await story.later();
};

/** A store that fails once. */
const failingOnce = (): TokenStore => {
  const store = memoryStore();
  let fails = true;
  const get = async (key: string) => {
    if (!fails) return store.get(key);
    fails = false;
    throw new Error("down");
  };
  return { ...store, get };
};
const answerOf = (body: object) => () => Response.json({ access_token: "token-planted", ...body });
const ofAnother = answerOf({ revo: { tenant: "globex" } });
const rejectElsewhere = runInNewContext("(error) => Promise.reject(error)");
const withoutUserId = answerOf({ revo: { user: { firstname: "Ada" } } });
const status = (code: number) => () => new Response("", { status: code });
const first = ["token_requested", "token_renewed"] as const;
const served = "token_served_while_renewing";
/** The events of a call, with those between its start and its end. */
const ofCall = (...between: Type[]): Type[] => ["call_started", ...between, "call_finished"];

const chapters: Chapter[] = [
  {
    name: "a connect with both credentials",
    ofBoth: true,
    types: ["variant_detected"],
    tell: ({ connect }) => connect(),
  },
  {
    name: "a second connect",
    ofBoth: true,
    types: [],
    before: ({ connect }) => connect(),
    tell: ({ connect }) => connect(),
  },
  { name: "the first token", tell: token, types: first },
  { name: "a token from memory", before: token, tell: token, types: [] },
  {
    name: "three tokens near expiry",
    before: overTheWindow,
    types: [served, ...first],
    tell: async (story) => {
      await Promise.all([token(story), token(story), token(story)]);
      await story.later();
      await token(story);
    },
  },
  {
    name: "tokens near expiry whose renewal is refused",
    before: overTheWindow,
    tell: async (story) => {
      await answered("token", refusal, tokenAndLater)(story);
      await token(story);
    },
    types: [served, "token_requested", ...refused, "renewal_failed"],
  },
  {
    name: "a refusal, and ten calls after it",
    tell: answered("token", refusal, elevenTokens),
    types: ["token_requested", ...refused],
  },
  {
    name: "a rate limit, and ten calls after it",
    tell: answered("token", limited, elevenTokens),
    types: ["token_requested", "rate_limited", "token_failed"],
  },
  {
    name: "a clock that is off by 20 s, and a renewal",
    aheadSeconds: 20,
    causes: 2,
    tell: async (story) => {
      await token(story);
      story.clock.advance(3_600_000);
      await token(story);
    },
    types: ["token_requested", "clock_off", "token_renewed", ...first],
  },
  {
    name: "an answer for another tenant",
    variants: ["A"],
    tell: answered("token", ofAnother, token),
    types: ["token_requested", "tenant_differs", "token_renewed"],
  },
  {
    name: "an answer whose operator cannot be read",
    variants: ["A"],
    tell: answered("token", withoutUserId, token),
    types: ["token_requested", "operator_unreadable", "token_renewed"],
  },
  {
    name: "an answer with an odd field that the description does not show",
    variants: ["B"],
    tell: answered("token", answerOf({ expires_in: "1h" }), token),
    types: ["token_requested", "token_field_ignored", "token_renewed"],
  },
  {
    name: "a store that fails",
    store: () => failingStore,
    tell: tokenAndLater,
    types: ["store_failed", ...first],
  },
  {
    name: "a store that answers again",
    store: failingOnce,
    before: overTheWindow,
    tell: tokenAndLater,
    types: [served, "store_recovered", ...first],
  },
  {
    name: "a 401 on an old token",
    before: async (story) => {
      await token(story);
      story.clock.advance(60_000);
    },
    tell: answered("api", status(401), call),
    types: ofCall(...first, "call_replayed"),
  },
  {
    name: "a call that is refused",
    before: token,
    types: ofCall("call_refused"),
    tell: answered("api", status(403), call),
  },
  {
    name: "a service.fetch that is answered 404",
    before: token,
    types: ofCall(),
    tell: async ({ connect }) => (await connect()).fetch("v1/other?page=2"),
  },
  {
    name: "a call that is answered 503, and then succeeds",
    types: ofCall("call_retried"),
    before: async (story) => {
      await token(story);
      story.clock.skipSleeps();
    },
    tell: answered("api", status(503), call),
  },
  {
    name: "a success that differs from the document",
    before: token,
    tell: answered("api", () => Response.json("no list of devices"), call),
    types: ofCall("response_invalid"),
  },
  {
    name: "the first call, whose token request is answered 404, so that the deployment is asked",
    ofBoth: true,
    before: ({ connect }) => connect(),
    tell: answered("token", status(404), async (story) => quietly(call(story))),
    types: ofCall("token_requested", "variant_detected", ...refused),
  },
];

const isBeginning = ({ type }: { type: string }) => type === "here begins the story";
type Listener = (event: ServiceEvent) => unknown;

async function tellChapter(
  variant: "A" | "B",
  chapter: Chapter,
  listener: Listener,
): Promise<string[]> {
  const clock = steppedClock();
  const emulator = deployment({ now: clock.now });
  const answers = { token: [] as (() => Response)[], api: [] as (() => Response)[] };
  const sent: string[] = [];
  const kept: Promise<unknown>[] = [];
  const both = variant === "A" ? [plugin(), account()] : [account(), plugin()];
  const connector = createConnector({
    credentials: chapter.ofBoth ? both : [credentialOf(variant)],
    clock: { ...clock, now: () => clock.now() + (chapter.aheadSeconds ?? 0) * 1_000 },
    store: chapter.store?.() ?? memoryStore({ clock }),
    onEvent: (event) => listener(event) as undefined,
    waitUntil: (promise) => void kept.push(promise),
    validate,
    async fetch(url, init) {
      sent.push(url, ...new Headers(init?.headers).values(), String(init?.body));
      const answer = answers[/token$/.test(url) ? "token" : "api"].shift();
      return answer?.() ?? emulator.fetch(url, init);
    },
  });
  const connect = () => connector.connect({ baseUrl: emulator.publicUrl, tenantId: "acme" });
  const next: Story["next"] = (where, answer) => void answers[where].push(answer);
  const later = () => Promise.all(kept);
  const story = { connector, connect, clock, next, later };
  await chapter.before?.(story);
  listener({ type: "here begins the story" } as never);
  await chapter.tell(story);
  return sent;
}

const secrets = () => [
  ACCOUNT_SECRET,
  "client_assertion",
  "eyJ",
  privateJwk(rsaKey()).d ?? "",
  "token-planted",
];

describe.each(["A", "B"] as const)("with Variant %s", (variant) => {
  const ofVariant = chapters.filter(
    ({ variants }) => variants === undefined || variants.includes(variant),
  );

  test.each(ofVariant)("$name emits $types", async (chapter) => {
    const events: ServiceEvent[] = [];
    const sent = await tellChapter(variant, chapter, (event) => events.push(event));
    const reported = events.slice(events.findIndex(isBeginning) + 1);
    expect(reported.map(({ type }) => type)).toEqual(chapter.types);
    for (const event of reported) {
      expect(event).toMatchObject({
        tenantId: "acme",
        baseUrl: expect.any(String),
        at: expect.any(Number),
      });
      if (event.type !== "variant_detected") expect(event.variant).toBe(variant);
      const isEnd = /^(variant_detected|token_renewed|token_failed|renewal_failed|call_finished)$/;
      expect("durationMs" in event && event.durationMs >= 0).toBe(isEnd.test(event.type));
    }
    const requestIds = new Set(reported.map(({ requestId }) => requestId));
    expect(requestIds.size).toBe(chapter.types.length && (chapter.causes ?? 1));
    for (const id of requestIds) expect(sent.join(" ")).not.toContain(id);
    const text = shown(events);
    const tokens = sent
      .filter((one) => one.startsWith("Bearer "))
      .map((one) => one.slice("Bearer ".length));
    for (const secret of [...secrets(), ...tokens, "v1/other"]) expect(text).not.toContain(secret);
  });

  test.each([
    {
      name: "throws",
      listener: () => {
        throw new TypeError(ACCOUNT_SECRET);
      },
    },
    { name: "rejects", listener: () => Promise.reject(new TypeError(ACCOUNT_SECRET)) },
    {
      name: "rejects with a promise of another realm",
      listener: () => rejectElsewhere(new TypeError(ACCOUNT_SECRET)),
    },
  ])("a listener that $name changes nothing, and its error is shown once", async ({ listener }) => {
    const chapter = ofVariant.find(({ name }) => name === "a 401 on an old token") as Chapter;
    const types: string[] = [];
    const warn = vi.spyOn(console, "warn").mockClear().mockReturnValue();
    await tellChapter(variant, chapter, ({ type }) => {
      types.push(type);
      return isBeginning({ type }) ? undefined : listener();
    });
    expect(types.slice(-chapter.types.length)).toEqual(chapter.types);
    await settle();
    const warning =
      "bivariant: onEvent failed (TypeError). Correct it: its later errors are not shown.";
    expect(warn.mock.calls).toEqual([[warning]]);
  });
});

test("each event type is emitted in one of the chapters", () => {
  const types = readFileSync("src/auth/auth.ts", "utf8").match(/(?<=type: ")[a-z_]+/g) ?? [];
  expect(types.length).toBeGreaterThan(15);
  const told = new Set<string>(chapters.flatMap((chapter) => chapter.types));
  expect(types.filter((type) => !told.has(type))).toEqual([]);
});
