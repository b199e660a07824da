// Tests of launches that the table of negative requests does not cover: the launch URL, and how the
// in-process host refuses a launch.
import { describe, expect, test } from "vitest";
import { EmulatorError } from "../../src/emulator/index.js";
import { LaunchedPlugin, reporter } from "./plugin-client.js";
import { newPkce, s256 } from "./signing-key.js";

const identity = { ...reporter, userId: "ada" };

describe("the launch URL", () => {
  test("has its parameters besides the query of the registered page", () => {
    const plugin = new LaunchedPlugin({}, { pageUrl: "https://plugin.example/page?lang=en#top" });
    const launch = plugin.emulator.launch(identity);
    const url = new URL(launch.url);
    expect(`${url.origin}${url.pathname}${url.hash}`).toBe("https://plugin.example/page#top");
    expect(url.searchParams.get("lang")).toBe("en");
    expect(url.searchParams.get("opaque_code")).toBe(launch.opaqueCode);
    const { state } = launch.authorize(newPkce());
    expect(state).toMatch(/^[\w-]{43}$/);
    expect(url.searchParams.get("state")).toBe(state);
  });

  test("has no state with launchState opaque_code, and host:auth-code repeats the opaque_code", () => {
    const launch = new LaunchedPlugin({ launchState: "opaque_code" }).emulator.launch(identity);
    expect(new URL(launch.url).searchParams.has("state")).toBe(false);
    expect(launch.authorize(newPkce()).state).toBe(launch.opaqueCode);
  });
});

describe("the in-process host refuses", () => {
  function refusalOf(action: () => unknown): unknown {
    try {
      action();
    } catch (error) {
      if (error instanceof EmulatorError && error.code === "launch_refused") return error.issues[0];
      throw error;
    }
    return undefined;
  }

  const asked = [
    { name: "a plugin of another tenant", launch: { tenantId: "globex" }, rule: "launch.plugin" },
    { name: "an unknown operator", launch: { userId: "unknown" }, rule: "launch.signed-in" },
    { name: "another tenant's operator", launch: { userId: "grace" }, rule: "launch.signed-in" },
  ];
  test.each(asked)("a launch with $name", ({ launch, rule }) => {
    const { emulator } = new LaunchedPlugin();
    emulator.registerOperator({ tenantId: "globex", userId: "grace" });
    expect(refusalOf(() => emulator.launch({ ...identity, ...launch }))).toBe(rule);
  });

  const challenges = [
    { name: "a challenge in base64", codeChallenge: `${s256("v").slice(1)}+` },
    { name: "a challenge that is an object", codeChallenge: {} },
  ];
  test.each(challenges)("$name, and then accepts a right one", ({ codeChallenge }) => {
    const launch = new LaunchedPlugin().emulator.launch(identity);
    const rule = refusalOf(() => launch.authorize({ codeChallenge: codeChallenge as string }));
    expect(rule).toBe("launch.challenge");
    const foreign = { ...newPkce(), opaqueCode: "x" };
    expect(refusalOf(() => launch.authorize(foreign))).toBe("launch.known");
    expect(launch.authorize(newPkce()).code).toMatch(/^[\w-]{43}$/);
  });
});
