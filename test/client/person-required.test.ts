// A person's call that is answered 401: nothing renews it, so the error says what to ask the person for.
import { describe, expect, test } from "vitest";
import { type Auth, createService, LoginRequiredError, RelaunchRequiredError } from "../../src/index.js";
import { steppedClock } from "../support/clock.js";
import { scriptedFetch } from "../support/fetch.js";
import { numberedAuth } from "../support/numbered-auth.js";

describe.each([
  { variant: "A" as const, required: new RelaunchRequiredError("launch_expired", "The launch is over.") },
  { variant: "B" as const, required: new LoginRequiredError("login_expired", "The login is over.") },
])("a 401 where only a person can get another token, Variant $variant", ({ variant, required }) => {
  async function called(ageMs: number, auth: Partial<Auth>) {
    const clock = steppedClock();
    const fetch = scriptedFetch(() => new Response("", { status: 401 }));
    const own = Object.assign(numberedAuth({ variant, now: clock.now }), auth);
    await own.getAccessToken();
    clock.advance(ageMs);
    const { error } = await createService(own, { fetch, now: clock.now }).call("listDevices");
    return { error, fetch, invalidated: own.invalidated };
  }

  test("on a token older than 30 s is the answer, and says what to ask them for", async () => {
    const { error, fetch, invalidated } = await called(30_001, {
      needsPerson: true,
      refused: () => required,
    });
    expect(error).toMatchObject({ code: "api_unauthorized", cause: required });
    expect(error?.message).toContain(required.message);
    expect(error?.causes?.map(({ id }) => id)).toEqual([
      variant === "A" ? "launch_over" : "login_over",
      "route_refuses_token",
    ]);
    expect(fetch.calls).toHaveLength(1);
    expect(invalidated).toEqual([]);
  });

  test.each([
    {
      name: "on a token of 30 s or less",
      ageMs: 30_000,
      auth: { needsPerson: true, refused: () => required },
    },
    { name: "of an Auth that does not know", ageMs: 30_001, auth: { needsPerson: true } },
  ])("$name asks for nobody, and promises no renewal", async ({ ageMs, auth }) => {
    const { error } = await called(ageMs, auth);
    expect(error).toMatchObject({ code: "api_unauthorized" });
    expect(error?.cause).toBeUndefined();
    expect(error?.causes).toBeUndefined();
    expect(error?.message).not.toContain("renewed");
  });
});
