// Seed files in YAML and JSON are read and checked, and every mistake is reported with its line.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { createEmulator, parseSeedFile, readSeedFile } from "../../src/emulator/index.js";
import { rejectionOf } from "../support/wait.js";

const yaml = `# A customer's tenant.
options:
  variants: [A]
  tokenLifetimeSeconds: 600
  rules: { assertion.replay: false }
plugins:
  - clientId: reporter
    tenantId: acme
    type: service
    scopes: [devices:read]
operators:
  - { tenantId: acme, userId: ada, capabilities: [devices:read] }
clock: { at: 2026-01-01T12:00:00Z, frozen: true }
`;

test("the member options holds those of createEmulator, and all other members are the seed", () => {
  const options = parseSeedFile(yaml, "tenant.yaml");
  expect(options).toMatchObject({ variants: ["A"], tokenLifetimeSeconds: 600 });
  const emulator = createEmulator(options);
  expect(emulator.clock.now()).toBe(Date.UTC(2026, 0, 1, 12));
  expect(emulator.rules.off()).toEqual(["assertion.replay"]);
  expect(emulator.testKey({ tenantId: "acme", clientId: "reporter" }).kty).toBe("RSA");
});

test("a file is read as YAML or JSON", () => {
  const folder = mkdtempSync(join(tmpdir(), "seed-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const fromYaml = readSeedFile(write("tenant.yaml", yaml));
  const json = JSON.stringify({ ...fromYaml.seed, options: { ...fromYaml, seed: undefined } });
  expect(readSeedFile(write("tenant.json", json))).toEqual(fromYaml);
  const refused = expect.objectContaining({ code: "seed_invalid" });
  expect(() => readSeedFile(join(folder, "absent.yaml"))).toThrow(refused);
  if (process.platform !== "win32")
    expect(() => readSeedFile("/dev/zero")).toThrow(/^zero:1: the file has more/);
  expect(() => readSeedFile(write("bad.yaml", "plugins: 1"))).toThrow(/^bad\.yaml:1: plugins: /);
});

const SECRET = "hunter2-canary";
/** A secret that looks like a name. */
const LETTERS = "opensesame";

test("of a file with many mistakes the first hundred are named, and the others counted", async () => {
  const text = JSON.stringify({ plugins: Array.from({ length: 200 }, () => 1) });
  const refused = await rejectionOf((async () => parseSeedFile(text, "tenant.json"))());
  const named = Array.from({ length: 100 }, (_, at) =>
    expect.stringContaining(`:1: plugins.${at}: `),
  );
  expect(refused).toMatchObject({ issues: [...named, "tenant.json: 100 more mistakes"] });
});

const letters = [..."abcdefghijk"];
const aliases = letters.map((letter, at) =>
  at === 0 ? "a: &a [x,x]" : `${letter}: &${letter} [${`*${letters[at - 1]},`.repeat(9)}]`,
);
const twice = ["a", "b"].map((id) => `{ operationId: ${id}, method: GET, path: /v1/a }`);
const accounts = (...members: string[]) => `serviceAccounts:\n  - ${members.join("\n    ")}\n`;

test.each<[name: string, text: string, ...issues: RegExp[]]>([
  ["broken YAML", 'plugins:\n  - { clientId: "x\n', /:\d+: /],
  ["a duplicate key", "plugins: []\nplugins: []\n", /:2: .*duplicate key$/],
  ["a second document", "plugins: []\n---\nplugins: []\n", /:\d: .*multiple docs$/],
  ["aliases without end", aliases.join("\n"), /:1: the file cannot be read/],
  ["a million characters", "[".repeat(1_000_001), /:1: .* more than 1000000 characters/],
  ["an empty file", "", /:1: the file is empty/],
  ["an unknown member", "plugins: []\nplugin: []\n", /:2: unknown key: "plugin" \(use plugins\)$/],
  ["a seed inside the options", "options: { seed: {} }\n", /:1: options: seed/],
  [
    "an unknown rule",
    "options:\n  rules:\n    assertion.none: false\n",
    /:3: options\.rules: this is not a rule/,
  ],
  [
    "a route whose path is taken",
    `options:\n  routes:\n    - ${twice.join("\n    - ")}\n`,
    /:4: options\.routes\.1: b \(GET \/v1\/a\) is taken$/,
  ],
  [
    "a scope of the wrong form",
    "plugins:\n  - clientId: r\n    tenantId: acme\n    type: service\n    scopes:\n      - x\n",
    /:6: plugins\.0\.scopes\.0: /,
  ],
  [
    "two mistakes",
    accounts("clientId: a", "clientSecret: 1", "tenantId: .."),
    /:3: serviceAccounts\.0\.clientSecret: /,
    /:4: serviceAccounts\.0\.tenantId: /,
  ],
  [
    "the same twice",
    "operators:\n  - &ada { tenantId: acme, userId: ada, capabilities: [] }\n  - *ada\n",
    /:3: operators\.1: /,
  ],
  ["an instant without a zone", "clock:\n  at: 2026-01-01T00:00:00\n", /:2: clock: /],
  [
    "a secret where none belongs",
    accounts(`clientId: "${SECRET} "`, `clientSecret: ["${SECRET}"]`, `tenantId: "${SECRET}/"`),
    ...[/:3: /, /:4: /],
  ],
  [
    "a secret after a colon without its space",
    accounts("{ clientId: a, tenantId: acme,", `clientSecret:${SECRET} }`),
    ...[/:2: .*clientSecret: /, /:3: serviceAccounts\.0: unknown key: … \(it takes /],
  ],
  ["a secret of letters as a rule", `options:\n  rules:\n    ${LETTERS}: false\n`, /:3: options/],
  ["a secret as a tag", accounts(`clientSecret: !${SECRET}`), /:2: /],
  ["a secret without quotes after |", accounts(`clientSecret: |${SECRET}`), /:\d: /],
  ["a secret without quotes in braces", accounts(`clientSecret: {{${SECRET}}}`), /:\d: /],
  [
    "a secret as a member's name",
    `options:\n  envelope:\n    first: data\n    ${SECRET}: 1\n`,
    /:4: options\.envelope\.…: /,
  ],
])("%s is refused with its line and without its values", (_, text, ...issues) => {
  const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  onTestFinished(() => warned.mockRestore());
  let caught: unknown;
  try {
    parseSeedFile(text, "t.yaml");
  } catch (error) {
    caught = error;
  }
  expect(caught).toMatchObject({ code: "seed_invalid" });
  const { issues: found, message } = caught as { issues: string[]; message: string };
  for (const [index, issue] of issues.entries()) {
    expect(found[index]).toMatch(/^t\.yaml:\d+: /);
    expect(found[index]).toMatch(issue);
  }
  expect(message + found.join()).not.toContain(SECRET);
  expect(message + found.join()).not.toContain(LETTERS);
  expect(warned).not.toHaveBeenCalled();
});
