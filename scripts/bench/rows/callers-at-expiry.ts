// Measures how long many callers, each with an AbortSignal of its own, wait for a token when theirs
// has expired.
import {
  type Cost,
  costOf,
  duration,
  inWords,
  medianCost,
  type Row,
  sample,
  shuffled,
} from "../measure.js";

const CALLERS = 10_000;
const LIFETIME_SECONDS = 3_600;

export const callersAtExpiry: Row = {
  name: "callers-at-expiry",
  title:
    `${CALLERS} callers of getAccessToken at expiry, each with an AbortSignal of its own, ` +
    "until all have the token",
  unit: "ms",
  aim: 100,
  seconds: 8,
  async measure({ main }, limit) {
    const { createAuth, serviceAccount } = (await import(
      main
    )) as typeof import("../../../src/index.js");
    let now = Date.now();
    let issued = 0;
    const auth = createAuth({
      baseUrl: "https://service.example",
      credential: serviceAccount({ clientId: "bench", clientSecret: "secret" }),
      clock: { now: () => now },
      fetch: async () =>
        Response.json({ access_token: `token-${++issued}`, expires_in: LIFETIME_SECONDS }),
    });
    const callers = { with: [] as Cost[], without: [] as Cost[] };
    const crowd = async (kind: keyof typeof callers): Promise<void> => {
      const signals = Array.from({ length: CALLERS }, () =>
        kind === "with" ? new AbortController().signal : undefined,
      );
      now += LIFETIME_SECONDS * 1_000;
      const expected = `token-${issued + 1}`;
      const cost = await costOf(async () => {
        const tokens = await Promise.all(
          signals.map((signal) => auth.getAccessToken(signal && { signal })),
        );
        if (tokens.some(({ value }) => value !== expected))
          throw new Error("a caller got another token");
      });
      callers[kind].push(cost);
    };
    const round = async (): Promise<number> => {
      for (const kind of shuffled(["with", "without"] as const)) await crowd(kind);
      return callers.with.at(-1)?.wallMs ?? Number.NaN;
    };
    for (let warmUp = 0; warmUp < 5; warmUp++) await round();
    for (const costs of Object.values(callers)) costs.length = 0;
    const interval = await sample(round, limit);
    const [ours, theirs] = [medianCost(callers.with), medianCost(callers.without)];
    const detail = `${duration(ours.cpuMs / CALLERS)} CPU of each caller`;
    return {
      ...interval,
      ours: inWords(ours),
      theirs: `without signals: ${inWords(theirs)}`,
      detail,
    };
  },
};
