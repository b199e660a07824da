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
const refused = { variant: "A", status: 500, body: "hidden", retryAt } as const;
const unexpected = { status: 200, issues: ["a: b"] };

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
  { error: new UnexpectedResponseError("response_shape", "m", unexpected), exit: 5 },
  { error: new ApiError("api_failed", "m", refused), exit: 6 },
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

  const about = (option: string, variant?: "B") =>
    new ConfigurationError("option_invalid", "m", { option, ...(variant && { variant }) });
  it.each([
    { error: about("retryDeadlineMs"), says: "Set it with --retry-deadline-ms." },
    { error: about("tenantId"), says: "Set it with --tenant or BIVARIANT_TENANT." },
    { error: about("clientId"), says: "Set it with --a-client-id or BIVARIANT_A_CLIENT_ID." },
    { error: about("clientId", "B"), says: "Set it with --b-client-id or BIVARIANT_B_CLIENT_ID." },
    { error: new LoginRequiredError("login_expired", "m"), says: "Run bivariant login." },
  ])("says in its lines and in JSON what to do: $says", ({ error, says }) => {
    expect(errorLines(error, plain)).toEqual([`error ${error.code}: m`, `  ${says}`]);
    expect(errorJson(error).error).toMatchObject({ message: "m", hint: says });
  });

  it("lists the issues that its message does not contain, and the reason of the system alone", () => {
    const system = { code: "EACCES", errno: -constants.errno.EACCES };
    const failed = new Error("listen EACCES: permission denied 127.0.0.1:1");
    const cause = Object.assign(failed, system);
    const issues = ["plugins: a", "operators: b"];
    const error = new EmulatorError("listen_failed", "plugins: a", { issues, cause });
    expect(errorLines(error, plain)).toEqual([
      "error listen_failed: plugins: a",
      "  EACCES: permission denied",
      "  - operators: b",
    ]);
    expect(errorJson(error).error).toMatchObject({ reason: "EACCES: permission denied" });
  });

  it("that is a fault of this program exits 70 and hides its message", () => {
    const fault = new TypeError("planted-in-message");
    expect(exitCodeOf(fault)).toBe(70);
    const printed = [...errorLines(fault, plain), JSON.stringify(errorJson(fault))].join("\n");
    expect(printed).toMatch(/TypeError[\s\S]*\n\s+at /);
    expect(printed).not.toContain("planted-in-message");
    expect(errorLines("a text that was thrown", plain)).toHaveLength(1);
  });
});

const dumb = { TERM: "dumb" };
it.each([
  { name: "a terminal", isTTY: true, env: {}, coloured: true },
  { name: "a pipe", isTTY: false, env: {}, coloured: false },
  { name: "a terminal under NO_COLOR", isTTY: true, env: { NO_COLOR: "1" }, coloured: false },
  { name: "one under an empty NO_COLOR", isTTY: true, env: { NO_COLOR: "" }, coloured: true },
  { name: "a dumb terminal", isTTY: true, env: dumb, coloured: false },
])("colour is used on $name: $coloured", async ({ isTTY, env, coloured }) => {
  const { stderr } = await cli(["detect"], env, { isTTY });
  expect(stderr.includes("\u001b[31m")).toBe(coloured);
});
