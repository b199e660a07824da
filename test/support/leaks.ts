// Before each test file. Files of the short suite share a process, so a file fails that leaves a
// global, an environment variable, a listener of the process or a listening server behind.
import { afterAll, expect, vi } from "vitest";

const EVENTS = ["exit", "SIGINT", "SIGTERM", "uncaughtException", "unhandledRejection", "warning"];
/** Methods that tests replace, each with the object that holds it. */
const METHODS: readonly (readonly [string, object, readonly string[]])[] = [
  ["Date", Date, ["now"]],
  ["Math", Math, ["random"]],
  ["performance", performance, ["now"]],
  ["crypto", crypto, ["getRandomValues", "randomUUID"]],
  ["console", console, ["debug", "error", "info", "log", "warn"]],
  ["process", process, ["emitWarning", "hrtime", "kill", "nextTick", "on"]],
  ["process.stdout", process.stdout, ["write"]],
  ["process.stderr", process.stderr, ["write"]],
];
/** What libraries and this folder keep in globalThis. */
const KEPT = /^(__|VITEST|realGenerateKeyPairSync|lastingKeys|regeneratorRuntime)/;

function state(): Map<string, unknown> {
  const found = new Map<string, unknown>();
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    if (!KEPT.test(name)) found.set(`globalThis.${name}`, Reflect.get(globalThis, name));
  }
  for (const [holder, object, names] of METHODS) {
    for (const name of names) found.set(`${holder}.${name}`, Reflect.get(object, name));
  }
  for (const [name, value] of Object.entries(process.env)) {
    if (!name.includes("VITEST")) found.set(`process.env.${name}`, value);
  }
  for (const event of EVENTS) found.set(`listeners of ${event}`, process.listenerCount(event));
  return found.set("the working directory", process.cwd());
}

const servers = () =>
  process.getActiveResourcesInfo().filter((resource) => resource === "TCPServerWrap").length;

const before = state();
const serversBefore = servers();

afterAll(async () => {
  vi.restoreAllMocks().unstubAllGlobals().unstubAllEnvs();
  const after = state();
  const names = new Set([...before.keys(), ...after.keys()]);
  const changed = [...names].filter((name) => !Object.is(before.get(name), after.get(name)));
  expect(
    changed,
    "The file leaves these changed. Restore them in an afterEach() or onTestFinished().",
  ).toEqual([]);
  const closed =
    "The file leaves a server listening. Close it in an afterAll() or onTestFinished().";
  await vi.waitFor(() => expect(servers(), closed).toBeLessThanOrEqual(serversBefore));
});
