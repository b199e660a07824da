// Each event is emitted once and without a secret, and a failing listener fails no caller.
import { readFileSync } from "node:fs";
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
  readonly store?: TokenStore;
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
const missing = () => new Response("", { status: 404 });
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

const chapters: Chapter[] = [
  {
    name: "a connect with both credentials",
    ofBoth: true,
    tell: ({ connect }) => connect(),
    types: ["variant_detected"],
  },
  {
    name: "a second connect",
    ofBoth: true,
    before: ({ connect }) => connect(),
    tell: ({ connect }) => connect(),
    types: [],
  },
  { name: "the first token", tell: token, types: ["token_requested", "token_renewed"] },
  { name: "a token from memory", before: token, tell: token, types: [] },
  {
    name: "three tokens near expiry",
    before: overTheWindow,
    tell: async (story) => {
      await Promise.all([token(story), token(story), token(story)]);
      await story.later();
      await token(story);
    },
    types: ["token_served_while_renewing", "token_requested", "token_renewed"],
  },
  {
    name: "tokens near expiry whose renewal is refused",
    before: overTheWindow,
    tell: async (story) => {
      await answered("token", refusal, tokenAndLater)(story);
      await token(story);
    },
    types: ["token_served_while_renewing", "token_requested", ...refused, "renewal_failed"],
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
    name: "a clock that is off by 20 s, and three renewals",
    aheadSeconds: 20,
    causes: 4,
    tell: async (story) => {
      for (let made = 0; made < 4; made++) {
        await token(story);
        story.clock.advance(3_600_000);
      }
    },
    types: [
      "token_requested",
      "clock_off",
      "token_renewed",
      ...Array<Type[]>(3).fill(["token_requested", "token_renewed"]).flat(),
    ],
  },
  {
    name: "an answer for another tenant",
    variants: ["A"],
    tell: (story) => {
      story.next("token", () =>
        Response.json({ access_token: "token-for-another", revo: { tenant: "globex" } }),
      );
      return token(story);
    },
    types: ["token_requested", "tenant_differs", "token_renewed"],
  },
  {
    name: "an answer whose operator cannot be read",
    variants: ["A"],
    tell: answered(
      "token",
      () =>
        Response.json({ access_token: "token-of-nobody", revo: { user: { firstname: "Ada" } } }),
      token,
    ),
    types: ["token_requested", "operator_unreadable", "token_renewed"],
  },
  {
    name: "an answer with an odd field that the description does not show",
    variants: ["B"],
    tell: answered(
      "token",
      () => Response.json({ access_token: "token-of-an-hour", expires_in: "1h" }),
      token,
    ),
    types: ["token_requested", "token_field_ignored", "token_renewed"],
  },
  {
    name: "a store that fails",
    store: failingStore,
    tell: tokenAndLater,
    types: ["store_failed", "token_requested", "token_renewed"],
  },
  {
    name: "a store that answers again",
    get store() {
      const store = memoryStore();
      let fails = true;
      const get = async (key: string) => {
        if (!fails) return store.get(key);
        fails = false;
        throw new Error("down");
      };
      return { ...store, get };
    },
    before: overTheWindow,
    tell: tokenAndLater,
    types: ["token_served_while_renewing", "store_recovered", "token_requested", "token_renewed"],
  },
  {
    name: "a 401 on an old token",
    before: async (story) => {
      await token(story);
      story.clock.advance(60_000);
    },
    tell: answered("api", () => new Response("", { status: 401 }), call),
    types: ["call_started", "token_requested", "token_renewed", "call_replayed", "call_finished"],
  },
  {
    name: "a call that is refused",
    before: token,
    tell: answered("api", () => new Response("", { status: 403 }), call),
    types: ["call_started", "call_refused", "call_finished"],
  },
  {
    name: "a service.fetch that is answered 404",
    before: token,
    tell: async ({ connect }) => (await connect()).fetch("v1/other?page=2"),
    types: ["call_started", "call_finished"],
  },
  {
    name: "a call that is answered 503, and then succeeds",
    before: async (story) => {
      await token(story);
      story.clock.skipSleeps();
    },
    tell: answered("api", () => new Response("", { status: 503 }), call),
    types: ["call_started", "call_retried", "call_finished"],
  },
  {
    name: "a success that differs from the document",
    before: token,
    tell: answered("api", () => Response.json("no list of devices"), call),
    types: ["call_started", "response_invalid", "call_finished"],
  },
  {
    name: "the first call, whose token request is answered 404, so that the deployment is asked",
    ofBoth: true,
    before: ({ connect }) => connect(),
    tell: answered("token", missing, async (story) => quietly(call(story))),
    types: ["call_started", "token_requested", "variant_detected", ...refused, "call_finished"],
  },
];

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
    store: chapter.store ?? memoryStore({ clock }),
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
  "token-for-another",
];

describe.each(["A", "B"] as const)("with Variant %s", (variant) => {
  const ofVariant = chapters.filter(
    ({ variants }) => variants === undefined || variants.includes(variant),
  );

  test.each(ofVariant)("$name emits $types", async (chapter) => {
    const events: ServiceEvent[] = [];
    const sent = await tellChapter(variant, chapter, (event) => events.push(event));
    const at = events.findIndex(({ type }) => (type as string) === "here begins the story");
    const told = events.slice(at + 1);
    expect(told.map(({ type }) => type)).toEqual(chapter.types);
    for (const event of told) {
      expect(event).toMatchObject({
        tenantId: "acme",
        baseUrl: expect.any(String),
        at: expect.any(Number),
      });
      if (event.type !== "variant_detected") expect(event.variant).toBe(variant);
      const isEnd = /^(variant_detected|token_renewed|token_failed|renewal_failed|call_finished)$/;
      expect("durationMs" in event && event.durationMs >= 0).toBe(isEnd.test(event.type));
    }
    const requestIds = new Set(told.map(({ requestId }) => requestId));
    expect(requestIds.size).toBe(chapter.types.length && (chapter.causes ?? 1));
    for (const id of requestIds) expect(sent.join(" ")).not.toContain(id);
    const text = shown(events);
    const tokens = sent
      .filter((one) => one.startsWith("Bearer "))
      .map((one) => one.slice("Bearer ".length));
    for (const secret of [...secrets(), ...tokens, "v1/other"]) expect(text).not.toContain(secret);
  });

  const badListeners: { name: string; listener: Listener }[] = [
    {
      name: "throws",
      listener: () => {
        throw new TypeError(ACCOUNT_SECRET);
      },
    },
    { name: "rejects", listener: () => Promise.reject(new TypeError(ACCOUNT_SECRET)) },
  ];
  test.each(badListeners)(
    "a listener that $name changes nothing, and its error is shown once",
    async ({ listener }) => {
      for (const chapter of ofVariant) {
        const types: string[] = [];
        const warn = vi.spyOn(console, "warn").mockClear().mockReturnValue();
        await tellChapter(variant, chapter, (event) => {
          types.push(event.type);
          return types.at(-1) === "here begins the story" ? undefined : listener(event);
        });
        expect(types.slice(types.indexOf("here begins the story") + 1)).toEqual(chapter.types);
        await settle();
        const warning =
          "bivariant: onEvent failed (TypeError). Correct it: its later errors are not shown.";
        expect(warn.mock.calls).toEqual(types.length > 1 ? [[warning]] : []);
      }
    },
  );
});

test("each event type is emitted in one of the chapters", () => {
  const types = readFileSync("src/auth/auth.ts", "utf8").match(/(?<=type: ")[a-z_]+/g) ?? [];
  expect(types.length).toBeGreaterThan(15);
  const told = new Set<string>(chapters.flatMap((chapter) => chapter.types));
  expect(types.filter((type) => !told.has(type))).toEqual([]);
});
