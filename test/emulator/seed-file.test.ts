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
  const json = JSON.stringify(
    { ...fromYaml.seed, options: { ...fromYaml, seed: undefined } },
    null,
    2,
  );
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

test.each([
  { name: "broken YAML", text: 'plugins:\n  - { clientId: "x\n', issues: [/:\d+: /] },
  { name: "a duplicate key", text: "plugins: []\nplugins: []\n", issues: [/:2: .*duplicate key$/] },
  {
    name: "a second document",
    text: "plugins: []\n---\nplugins: []\n",
    issues: [/:\d: .*multiple docs$/],
  },
  {
    name: "aliases without end",
    text:
      `a: &a [x,x]\n` +
      `${[..."bcdefghijk"].map((letter, index) => `${letter}: &${letter} [${`*${"abcdefghij"[index]},`.repeat(9)}]`).join("\n")}`,
    issues: [/:1: the file cannot be read/],
  },
  {
    name: "a million characters",
    text: "[".repeat(1_000_001),
    issues: [/:1: .* more than 1000000 characters/],
  },
  { name: "an empty file", text: "", issues: [/:1: the file is empty/] },
  {
    name: "an unknown member",
    text: "plugins: []\nplugin: []\n",
    issues: [/:2: unknown key: "plugin" \(use plugins\)$/],
  },
  {
    name: "a seed inside the options",
    text: "options: { seed: {} }\n",
    issues: [/:1: options: seed/],
  },
  {
    name: "an unknown rule",
    text: "options:\n  rules:\n    assertion.none: false\n",
    issues: [/:3: options\.rules: this is not a rule/],
  },
  {
    name: "a route whose path is taken",
    text:
      "options:\n  routes:\n    - { operationId: a, method: GET, path: " +
      "/v1/a }\n    - { operationId: b, method: GET, path: /v1/a }\n",
    issues: [/:4: options\.routes\.1: b \(GET \/v1\/a\) is taken$/],
  },
  {
    name: "a scope of the wrong form",
    text:
      "plugins:\n  - clientId: r\n    tenantId: acme\n    type: " +
      "service\n    scopes:\n      - devices:read\n      - devices\n",
    issues: [/:7: plugins\.0\.scopes\.1: /],
  },
  {
    name: "two mistakes",
    text:
      "serviceAccounts:\n  - { clientId: a, clientSecret: 1, tenantId: " +
      "acme }\n  - { clientId: b, clientSecret: x, tenantId: .. }\n",
    issues: [/:2: serviceAccounts\.0\.clientSecret: /, /:3: serviceAccounts\.1\.tenantId: /],
  },
  {
    name: "the same twice",
    text: "operators:\n  - &ada { tenantId: acme, userId: ada, capabilities: [] }\n  - *ada\n",
    issues: [/:3: operators\.1: /],
  },
  {
    name: "an instant without a time zone",
    text: "plugins: []\nclock:\n  at: 2026-01-01T00:00:00\n",
    issues: [/:3: clock: /],
  },
  {
    name: "a secret where none belongs",
    text:
      `serviceAccounts:\n  - clientId: "${SECRET} "\n    clientSecret: ` +
      `["${SECRET}"]\n    tenantId: "${SECRET}/"\n`,
    issues: [/:3: /, /:4: /],
  },
  {
    name: "a secret after a colon without its space",
    text:
      `serviceAccounts:\n  - {\n    clientId: a, tenantId: ` +
      `acme,\n    clientSecret:${SECRET} }\n`,
    issues: [/:2: .*clientSecret: /, /:4: serviceAccounts\.0: unknown key: … \(it takes /],
  },
  {
    name: "a secret of letters alone as a rule's name",
    text: `options:\n  rules:\n    ${LETTERS}: false\n`,
    issues: [/:3: options\.rules: this is not a rule/],
  },
  {
    name: "a secret as a tag",
    text: `serviceAccounts:\n  - clientSecret: !${SECRET}\n`,
    issues: [/:2: /],
  },
  ...["|", "{{"].map((character) => ({
    name: `a secret that begins with ${character} and has no quotes`,
    text:
      `serviceAccounts:\n  - clientSecret: ` +
      `${character}${SECRET}${character === "{{" ? "}}" : ""}\n`,
    issues: [/:\d: /],
  })),
  {
    name: "a secret as a member's name",
    text: `options:\n  variants: [A]\n  envelope:\n    first: data\n    ${SECRET}: 1\n`,
    issues: [/:5: options\.envelope\.…: /],
  },
])("$name is refused with its line and without its values", ({ text, issues }) => {
  const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  onTestFinished(() => warned.mockRestore());
  let caught: unknown;
  try {
    parseSeedFile(text, "t.yaml");
  } catch (error) {
    caught = error;
  }
  expect(caught).toMatchObject({ code: "seed_invalid" });
  const { issues: told, message } = caught as { issues: string[]; message: string };
  for (const [index, issue] of issues.entries()) {
    expect(told[index]).toMatch(/^t\.yaml:\d+: /);
    expect(told[index]).toMatch(issue);
  }
  expect(message + told.join()).not.toContain(SECRET);
  expect(message + told.join()).not.toContain(LETTERS);
  expect(warned).not.toHaveBeenCalled();
});
