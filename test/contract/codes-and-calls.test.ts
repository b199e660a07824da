/** Launches, codes and calls: what a hook of the target may do, and what a report must not show. */
import { describe, expect, test } from "vitest";
import { createRig } from "./rig.js";

/** One for all, because its keys take most of the time. */
const { emulator, options, run, target } = createRig();

const failing = async () => {
  throw new Error("the host application is closed");
};

test("a host that does not launch ends the cases that need a launch, and no other", async () => {
  const results = await run({ only: ["code.known", "bearer.present.a"] }, { launch: failing });
  expect(results.get("code.known")).toMatchObject({
    result: "not tried",
    observed: "The host refused to launch the plugin: the host application is closed.",
  });
  expect(results.get("bearer.present.a")?.result).toBe("holds");
});

test("a route that is not a GET is called only if its case is named", async () => {
  const isCalled = () =>
    emulator.journal.entries().some(({ path }) => path.includes("/schedules/"));
  const resultOf = async (only?: string[]) => (await run({ only })).get("route-scope")?.result;
  expect([await resultOf(), isCalled()]).toEqual(["not tried", false]);
  expect([await resultOf(["route-scope"]), isCalled()]).toEqual(["holds", true]);
});

describe("a case that changes the registration", () => {
  const changes = [
    { name: "narrow", id: "route.narrowed" },
    { name: "disable", id: "bearer.plugin-enabled" },
  ] as const;

  test.each(changes)("$name is undone if the calls fail", async ({ name, id }) => {
    let isChanged = false;
    const hook = async () => {
      const undo = await target[name]?.();
      isChanged = true;
      return async () => {
        await undo?.();
        isChanged = false;
      };
    };
    const fetch = (url: string, init: RequestInit) =>
      isChanged ? failing() : (options.fetch?.(url, init) ?? failing());
    const result = (await run({ only: [id], fetch }, { [name]: hook })).get(id);
    expect(result?.observed).toContain(
      "http://service.localhost does not answer (the connection failed).",
    );
    expect(isChanged).toBe(false);
  });

  test.each(changes)("a failure to undo $name is reported", async ({ name, id }) => {
    const result = (await run({ only: [id] }, { [name]: async () => failing })).get(id);
    expect(result?.observed).toBe(
      `What \`${name}\` changed could not be undone: the host application is closed. ` +
        "Correct the registration by hand.",
    );
  });
});

test("an operator without a capability who cannot launch, and a hook that fails, are reported", async () => {
  const lent = { limitedLaunch: failing, narrow: failing };
  const results = await run({ only: ["route.operator", "narrowing-delay"] }, lent);
  expect([...results.values()].map(({ observed }) => observed)).toEqual([
    "The host refused to launch the plugin: the host application is closed.",
    "`narrow` of the target failed: the host application is closed.",
  ]);
});

test("no report shows a code, a verifier, an opaque_code, a state or a token", async () => {
  const secrets: string[] = [];
  const launch = async (clientId: string) => {
    const launched = await target.launch?.(clientId);
    if (launched === undefined) return failing();
    secrets.push(...Object.values(launched.parameters));
    const initialise: typeof launched.initialise = async (init) => {
      const sent = await launched.initialise(init);
      secrets.push(sent.code, sent.state ?? "");
      return sent;
    };
    return { ...launched, initialise };
  };
  const fetch = async (url: string, init: RequestInit) => {
    const response = await emulator.fetch(url, init);
    const form = new URLSearchParams(String(init.body ?? ""));
    secrets.push(form.get("code_verifier") ?? "", form.get("client_assertion") ?? "");
    const { access_token = "" } = await response
      .clone()
      .json()
      .catch(() => ({}));
    secrets.push(access_token);
    // A deployment that repeats what it was sent.
    const isRefused = url.endsWith("/token") && !response.ok;
    if (!isRefused) return response;
    return Response.json(
      { error: "invalid_grant", error_description: form.get("code") },
      { status: 400 },
    );
  };
  const only = ["launch-parameters", "state-origin", "user-id-type", "code", "launch"];
  const results = await run({ ...options, only, fetch }, { launch });
  const report = JSON.stringify([...results.values()]);
  const planted = secrets.filter((secret) => secret.length > 6);
  expect(planted.length).toBeGreaterThan(20);
  expect(planted.filter((secret) => report.includes(secret))).toEqual([]);
});
