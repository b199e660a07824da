// Customers of both kinds at emulated deployments, some of them broken in known ways, with the truth about each.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEmulator } from "../../src/emulator/index.js";
import type { Fetch, Variant } from "../../src/index.js";
import type { Customer, SurveyResult } from "../../src/survey/index.js";
import { otherRsaKey, pkcs8, publicJwk, rsaKey } from "../support/keys.js";

export const clientSecret = "estate-secret-0123456789";

export interface Truth {
  readonly variant: Variant | null;
  readonly works: boolean;
  readonly code?: string;
}

/** What is wrong, at which host, and what a survey must say of it. */
interface Breakage {
  readonly name: string;
  readonly kind: Variant;
  readonly truth: Truth;
  readonly host?: string;
  readonly change?: Partial<Customer>;
  /** How the client is registered: not at all, or with changes. */
  readonly register?: object | false;
}

const fails = (variant: Variant | null, code: string): Truth => ({ variant, works: false, code });

export const breakages: readonly Breakage[] = [
  { name: "a plugin that is not registered", kind: "A", register: false, truth: fails("A", "token_refused") },
  { name: "a disabled plugin", kind: "A", register: { enabled: false }, truth: fails("A", "token_refused") },
  {
    name: "a plugin with another key",
    kind: "A",
    register: { jwks: { keys: [{ ...publicJwk(otherRsaKey()), kid: "one" }] } },
    truth: fails("A", "token_refused"),
  },
  {
    name: "a plugin without scopes",
    kind: "A",
    register: { scopes: [] },
    truth: fails("A", "api_forbidden"),
  },
  {
    name: "a plugin of the other type",
    kind: "A",
    register: { type: "user_interface" },
    truth: fails("A", "token_refused"),
  },
  {
    name: "a file that is not a key",
    kind: "A",
    change: { aPrivateKeyFile: "garbage.pem" },
    truth: fails("A", "key_invalid"),
  },
  {
    name: "a missing file",
    kind: "A",
    change: { aPrivateKeyFile: "missing.pem" },
    truth: fails("A", "credential_invalid"),
  },
  {
    name: "a variable that is not set",
    kind: "B",
    change: { bClientSecretFile: undefined, bClientSecretVariable: "NOT_SET" },
    truth: fails("B", "credential_invalid"),
  },
  {
    name: "another secret",
    kind: "B",
    register: { clientSecret: "another-secret" },
    truth: fails("B", "token_refused"),
  },
  {
    name: "an account that is not registered",
    kind: "B",
    register: false,
    truth: fails("B", "token_refused"),
  },
  {
    name: "a plugin, but Variant B is served",
    kind: "A",
    host: "b",
    truth: fails("B", "variant_not_served"),
  },
  {
    name: "an account, but Variant A is served",
    kind: "B",
    host: "a",
    truth: fails("A", "variant_not_served"),
  },
  { name: "no server", kind: "A", host: "down", truth: fails(null, "network_failed") },
  { name: "nothing at any path", kind: "B", host: "nothing", truth: fails(null, "variant_not_served") },
  { name: "a page at every path", kind: "A", host: "pages", truth: fails(null, "variant_unknown") },
  { name: "a redirect from every path", kind: "B", host: "moved", truth: fails(null, "variant_unknown") },
  { name: "a rate limit for an hour", kind: "A", host: "limited", truth: fails(null, "rate_limited") },
];

const answers: Readonly<Record<string, () => Response>> = {
  nothing: () => new Response("<h1>Not found</h1>", { status: 404 }),
  pages: () => new Response("<h1>Log in</h1>", { headers: { "content-type": "text/html" } }),
  moved: () => new Response(null, { status: 302, headers: { location: "https://elsewhere.example/" } }),
  limited: () => new Response(null, { status: 429, headers: { "retry-after": "3600" } }),
};

export interface Estate {
  readonly customers: readonly Customer[];
  /** By tenant id. */
  readonly truth: ReadonlyMap<string, Truth>;
  readonly fetch: Fetch;
  /** How many requests each tenant got at the paths of Variant A, of which every customer is asked. */
  readonly requests: ReadonlyMap<string, number>;
  readonly folder: string;
  delete(): void;
}

/** The hosts that answer. */
export const hosts: readonly string[] = ["a", "b", ...Object.keys(answers)];

/** What a survey says of a customer, as far as there is a truth about it. */
export function verdictOf({ variant, works, code }: SurveyResult): Truth {
  return { variant, works, ...(code !== undefined && { code }) };
}

interface EstateOptions {
  readonly brokenEvery?: number | undefined;
  readonly now?: (() => number) | undefined;
  /** Returns the base URL of a host. */
  readonly addressOf?: (host: string) => string;
}

/** Makes so many customers. Every tenth is broken, in each of the ways in turn; the others are of each kind in turn. */
export function makeEstate(
  size: number,
  {
    brokenEvery = 10,
    now = Date.now,
    addressOf = (host: string) => `https://${host}.example`,
  }: EstateOptions = {},
): Estate {
  const folder = mkdtempSync(join(tmpdir(), "survey-"));
  for (const [name, text] of [
    ["key.pem", pkcs8(rsaKey())],
    ["secret", `${clientSecret}\n`],
    ["garbage.pem", "-----BEGIN PRIVATE KEY-----\nbm8=\n-----END PRIVATE KEY-----\n"],
  ] as const)
    writeFileSync(join(folder, name), text);
  const emulators = {
    a: createEmulator({ variants: ["A"], publicUrl: addressOf("a"), now }),
    b: createEmulator({ variants: ["B"], publicUrl: addressOf("b"), now }),
  };
  const jwks = { keys: [{ ...publicJwk(rsaKey()), kid: "one" }] };
  const truth = new Map<string, Truth>();
  const customers = Array.from({ length: size }, (_, index): Customer => {
    const isBroken = index % brokenEvery === brokenEvery - 1;
    const breakage = isBroken ? breakages[Math.floor(index / brokenEvery) % breakages.length] : undefined;
    const kind = breakage?.kind ?? (index % 2 === 0 ? "A" : "B");
    const tenantId = `t${index}`;
    const clientId = `client-${index}`;
    truth.set(tenantId, breakage?.truth ?? { variant: kind, works: true });
    const host = breakage?.host ?? kind.toLowerCase();
    if (breakage?.register !== false && kind === "A")
      emulators.a.registerPlugin({
        ...{ clientId, tenantId, type: "service", jwks, scopes: ["devices:read"] },
        ...breakage?.register,
      });
    if (breakage?.register !== false && kind === "B")
      emulators.b.registerServiceAccount({ clientId, tenantId, clientSecret, ...breakage?.register });
    const credential =
      kind === "A"
        ? { aClientId: clientId, aPrivateKeyFile: "key.pem", aKeyId: "one" }
        : { bClientId: clientId, bClientSecretFile: "secret" };
    const customer = { baseUrl: addressOf(host), tenantId, ...credential, ...breakage?.change };
    const inFolder = (path: string | undefined) => path && join(folder, path);
    return {
      ...customer,
      ...{ aPrivateKeyFile: inFolder(customer.aPrivateKeyFile) },
      ...{ bClientSecretFile: inFolder(customer.bClientSecretFile) },
      other: { region: `region ${index % 3}` },
    };
  });
  const requests = new Map<string, number>();
  const fetch: Fetch = async (url, init) => {
    const { origin, pathname } = new URL(url);
    const tenantId = /^\/api\/v1\/([^/]+)\//.exec(pathname)?.[1];
    if (tenantId !== undefined) requests.set(tenantId, (requests.get(tenantId) ?? 0) + 1);
    const host = hosts.find((one) => addressOf(one) === origin) ?? "";
    if (host === "a" || host === "b") return emulators[host].fetch(url, init);
    const answer = answers[host];
    if (answer === undefined)
      throw new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ECONNREFUSED" }) });
    return answer();
  };
  return { customers, truth, fetch, requests, folder, delete: () => rmSync(folder, { recursive: true }) };
}
