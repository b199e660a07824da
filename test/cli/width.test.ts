// The width of what people read: every help and every command fits the terminal, except for what cannot be broken.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { wrap } from "../../src/cli/output.js";
import { type CliDeployment, signingKey, startDeployment } from "./cli-deployment.js";
import { cli, startCli } from "./command-line.js";
import { closedUrl } from "./servers.js";

/** The lines that are too wide, except for single words, such as a URL or a path, JSON, and lines for a shell. */
function tooWide(text: string, width: number): string[] {
  const isWhole = (line: string) => /^ *(?:\S+|"\w+": ".*|export .*)$/.test(line);
  return text.split("\n").filter((line) => line.length > width && !isWhole(line));
}

let deployment: CliDeployment;
let forbidding: CliDeployment;
beforeAll(async () => {
  [deployment, forbidding] = await Promise.all([
    startDeployment(),
    startDeployment({ variants: ["A"], scopes: [] }),
  ]);
  const jwks = { keys: [{ ...signingKey.publicJwk, kid: "other" }] };
  await writeFile(join(deployment.folder, "jwks.json"), JSON.stringify(jwks));
});

const commands = "demo detect token call login doctor emulate generate contract unknowns".split(" ");
const keyCommands = ["keys", "keys new", "keys jwks", "keys registration"];
const helps = ["", ...commands, ...keyCommands].map((command) => `${command} --help`.trim());

const runs = [
  "unknowns | emulate --rules | demo | detect | doctor | doctor --jwks FOLDER/jwks.json | token",
  "doctor --variant B --tenant x | keys jwks | call listDevices | call nothing | call listDevices --api none.js",
  "keys registration --scope a:read | keys new --out FOLDER/jwks.json | token --a-private-key-file none.pem",
  "token --a-client-id other | token --a-key-id other --audience https://x.example/t | login --port x",
  "contract | contract --list | contract --only x | contract --a-client-id other --baseline FOLDER/jwks.json",
  "frobnicate | generate | generate --out x | detect --timeout-ms x | emulate --seed-file none.yaml",
].flatMap((line) => line.split(" | "));

describe.each([60, 80])("at %i columns no line is too wide:", (width) => {
  const narrow = async (args: string, more: Readonly<Record<string, string>> = {}) => {
    const words = args.split(" ").map((word) => word.replace("FOLDER", deployment.folder));
    const { stdout, stderr } = await cli(words, { ...deployment.env, COLUMNS: String(width), ...more });
    expect(stdout + stderr).not.toBe("");
    expect(tooWide(stdout + stderr, width)).toEqual([]);
  };

  it.each([...helps, ...runs])("%s", (args) => narrow(args));

  it("the errors without settings, without a server and without a scope", async () => {
    const nothing = { BIVARIANT_BASE_URL: "", BIVARIANT_A_CLIENT_ID: "", BIVARIANT_A_PRIVATE_KEY_FILE: "" };
    await narrow("detect", nothing);
    await narrow("token", nothing);
    await narrow("doctor", { BIVARIANT_BASE_URL: closedUrl });
    await narrow("call listDevices", forbidding.env);
  });

  it("the requests and refusals that emulate prints", async () => {
    const running = startCli(["emulate", "--variant", "B"], { COLUMNS: String(width) });
    const [, url = ""] = await running.seen(/BASE_URL=(\S+)/);
    await fetch(`${url}/v1/auth/token`, { method: "POST", body: "{}" });
    await running.seen(/\(section/);
    running.interrupt();
    const { stdout, stderr } = await running.ended;
    expect(tooWide(stdout + stderr, width)).toEqual([]);
  });
});

describe("a line that is too wide", () => {
  it("is found by the check of these tests", async () => {
    const { stdout } = await cli(["unknowns"], { COLUMNS: "999" });
    expect(tooWide(stdout, 80)).not.toEqual([]);
  });

  const red = "\u001b[31maa bb\u001b[0m cc";
  it.each([
    ["below the last of its columns", "a   b   ccc ddd eee", 16, "a   b   ccc ddd\n        eee"],
    ["below the text of its marker", "  1. aa bb cc", 10, "  1. aa bb\n     cc"],
    ["with a backslash in a command", "  $ call id --a b", 14, "  $ call id \\\n      --a b"],
    ["but never within a word", "at https://x.example now", 10, "at\nhttps://x.example\nnow"],
    ["and its colours are not counted", red, 8, red],
  ])("is continued %s", (_, line, width, wrapped) => {
    expect(wrap(line, width)).toBe(wrapped);
  });
});

describe("the width", () => {
  const widest = async (env: Readonly<Record<string, string>>, columns?: number) => {
    const { stdout } = await cli(["unknowns"], env, columns === undefined ? {} : { isTTY: true, columns });
    return Math.max(...stdout.split("\n").map((line) => line.length));
  };

  it("is that of the terminal, up to 100 columns; without a terminal 80; and always COLUMNS, if it is set", async () => {
    const plain = { COLUMNS: "", NO_COLOR: "1" };
    expect(await widest(plain)).toBeGreaterThan(70);
    expect(await widest(plain)).toBeLessThanOrEqual(80);
    expect(await widest(plain, 50)).toBeLessThanOrEqual(50);
    expect(await widest(plain, 300)).toBeGreaterThan(80);
    expect(await widest(plain, 300)).toBeLessThanOrEqual(100);
    expect(await widest({ ...plain, COLUMNS: "500" }, 50)).toBeGreaterThan(100);
  });
});

/** Commander prints the other defaults, and hands them over. What is said in words here has the test named beside it. */
const defaultsInWords = {
  "--a-key-id": "that of the JWK, else the thumbprint", // keys.test.ts
  "--audience": "that URL", // doctor.test.ts
  "--refresh-path": "the token path", // login.test.ts
  "--store-file": "bivariant/grants in $XDG_STATE_HOME or ~/.local/state", // login.test.ts
  "--store-key-file": "<store file>.key", // login.test.ts
  "--port": "a free one", // emulate.test.ts, login.test.ts
  "--scope": "none|devices:read and those of the documents", // login.test.ts, emulate.test.ts
  "--refs": "that of the document", // documents.test.ts of test/generate
  "--max-requests": "60, and 1000 for a deployment on this machine", // cases.test.ts of test/contract
  "--variant-a": "the one of this package", // of diff: diff.test.ts of test/generate
  "--variant-b": "the one of this package",
};

describe("help", () => {
  it("states no other defaults in words than those that have a test", async () => {
    const texts = await Promise.all(
      [...helps, "diff --help"].map(async (args) => (await cli(args.split(" "))).stdout),
    );
    const stated = new Map<string, Set<string>>();
    for (const [, flag = "", text = ""] of texts
      .join("\n")
      .matchAll(/^ +(--[a-z-]+)(?:[^\n]|\n {8,})*?\(default: ([^)]+)\)/gm))
      if (!/^(?:\d+|"[^"]*"|true|false)$/.test(text))
        stated.set(flag, (stated.get(flag) ?? new Set()).add(text));
    const found = Object.fromEntries(
      [...stated].map(([flag, all]) => [flag, [...all].sort().reverse().join("|")]),
    );
    expect(found).toEqual(defaultsInWords);
  });

  it.each(helps)("names no default twice: %s", async (args) => {
    const { stdout } = await cli(args.split(" "));
    expect(stdout.match(/\(default .*|default.*\(default.*/g) ?? []).toEqual([]);
  });
});

it.each([0, undefined])("a terminal that reports %s columns counts as one of 80", async (columns) => {
  const help = (terminal: { isTTY: boolean; columns?: number | undefined }) =>
    cli(["contract", "--help"], { COLUMNS: "" }, terminal as { isTTY: true });
  const { stdout } = await help({ isTTY: true, columns });
  expect(stdout).toBe((await help({ isTTY: true, columns: 80 })).stdout);
  expect(stdout).not.toBe((await help({ isTTY: true, columns: 40 })).stdout);
});
