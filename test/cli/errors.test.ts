// The exit code, the lines for people and the JSON of each class of error, and when colour is used.
import { constants } from "node:os";
import { describe, expect, it } from "vitest";
import { errorJson, errorLines, exitCodeOf } from "../../src/cli/error-report.js";
import { painter } from "../../src/cli/output.js";
import { ContractError } from "../../src/contract/index.js";
import { EmulatorError } from "../../src/emulator/index.js";
import {
  ApiError,
  ConfigurationError,
  LoginRequiredError,
  RateLimitedError,
  RelaunchRequiredError,
  StoreError,
  TokenRequestError,
  TransportError,
  UnexpectedResponseError,
  VariantError,
} from "../../src/index.js";
import { cli } from "./command-line.js";

const detection = { served: { A: "no", B: "no" }, evidence: [], detectedAt: 0 } as const;
const retryAt = Date.UTC(2026, 0, 1);

const table = [
  { error: new ConfigurationError("key_invalid", "m"), exit: 2 },
  { error: new StoreError("store_unavailable", "m"), exit: 2 },
  { error: new EmulatorError("listen_failed", "m"), exit: 2 },
  { error: new ContractError("case_unknown", "m"), exit: 2 },
  { error: new TokenRequestError("m", { variant: "A", status: 400 }), exit: 3 },
  { error: new RateLimitedError("m", { retryAt }), exit: 3 },
  { error: new RelaunchRequiredError("launch_refused", "m"), exit: 3 },
  { error: new LoginRequiredError("login_refused", "m"), exit: 3 },
  { error: new VariantError("variant_unknown", "m", { detection }), exit: 4 },
  { error: new TransportError("tls_failed", "m", { retryable: false }), exit: 5 },
  {
    error: new UnexpectedResponseError("response_shape", "m", { status: 200, issues: ["a: b"] }),
    exit: 5,
  },
  {
    error: new ApiError("api_failed", "m", { variant: "A", status: 500, body: "hidden", retryAt }),
    exit: 6,
  },
];

const plain = painter({}, {});

describe("an error", () => {
  it.each(table)(
    "$error.name exits $exit and is printed with its code and message",
    ({ error, exit }) => {
      expect(exitCodeOf(error)).toBe(exit);
      const lines = errorLines(error, plain);
      expect(lines[0]).toBe(`error ${error.code}: m`);
      const { code, name } = error;
      expect(errorJson(error).error).toMatchObject({ code, message: "m", name, exitCode: exit });
      expect(JSON.stringify([lines, errorJson(error)])).not.toContain("hidden");
      if ("retryAt" in error)
        expect(lines).toContain("  Try again after 2026-01-01T00:00:00.000Z.");
      if ("issues" in error && error.issues.length > 0) expect(lines).toContain("  - a: b");
    },
  );

  it.each([
    { option: "retryDeadlineMs", says: "Set it with --retry-deadline-ms." },
    { option: "tenantId", says: "Set it with --tenant or BIVARIANT_TENANT." },
    { option: "clientId", says: "Set it with --a-client-id or BIVARIANT_A_CLIENT_ID." },
    {
      option: "clientId",
      variant: "B",
      says: "Set it with --b-client-id or BIVARIANT_B_CLIENT_ID.",
    },
  ] as const)(
    "about the option $option says where to set it: $says",
    ({ option, says, ...more }) => {
      const error = new ConfigurationError("option_invalid", "m", { option, ...more });
      expect(errorLines(error, plain)).toEqual(["error option_invalid: m", `  ${says}`]);
      expect(errorJson(error).error).toMatchObject({ message: "m", hint: says });
    },
  );

  it("that the login is over says to log in again, also in JSON", () => {
    const error = new LoginRequiredError("login_expired", "m");
    expect(errorLines(error, plain)).toEqual(["error login_expired: m", "  Run bivariant login."]);
    expect(errorJson(error).error).toMatchObject({ message: "m", hint: "Run bivariant login." });
  });

  it("lists the issues that its message does not contain", () => {
    const error = new EmulatorError("seed_invalid", "plugins: a", {
      issues: ["plugins: a", "operators: b"],
    });
    expect(errorLines(error, plain)).toEqual([
      "error seed_invalid: plugins: a",
      "  - operators: b",
    ]);
  });

  it("shows the reason of the system, without what follows it", () => {
    const cause = Object.assign(new Error("listen EACCES: permission denied 127.0.0.1:1"), {
      code: "EACCES",
      errno: -constants.errno.EACCES,
    });
    const error = new EmulatorError("listen_failed", "m", { cause });
    expect(errorLines(error, plain)).toEqual([
      "error listen_failed: m",
      "  EACCES: permission denied",
    ]);
    expect(errorJson(error).error).toMatchObject({ reason: "EACCES: permission denied" });
  });

  it("that is a fault of this program exits 70 and hides its message", () => {
    const fault = new TypeError("planted-in-message");
    expect(exitCodeOf(fault)).toBe(70);
    const printed = [...errorLines(fault, plain), JSON.stringify(errorJson(fault))].join("\n");
    expect(printed).toContain("TypeError");
    expect(printed).toMatch(/\n\s+at /);
    expect(printed).not.toContain("planted-in-message");
    expect(errorLines("a text that was thrown", plain)).toHaveLength(1);
  });
});

describe("colour", () => {
  const terminals = [
    { name: "a terminal", isTTY: true, env: {}, coloured: true },
    { name: "a pipe", isTTY: false, env: {}, coloured: false },
    { name: "a terminal under NO_COLOR", isTTY: true, env: { NO_COLOR: "1" }, coloured: false },
    {
      name: "a terminal under an empty NO_COLOR",
      isTTY: true,
      env: { NO_COLOR: "" },
      coloured: true,
    },
    { name: "a dumb terminal", isTTY: true, env: { TERM: "dumb" }, coloured: false },
  ];
  it.each(terminals)("is used on $name: $coloured", async ({ isTTY, env, coloured }) => {
    const { stderr } = await cli(["detect"], env, { isTTY });
    expect(stderr.includes("\u001b[31m")).toBe(coloured);
  });
});
