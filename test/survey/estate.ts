// Customers of both kinds at emulated deployments, some of them broken in known ways, with the
// truth about each.
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

/** A customer of one kind, whose failure shows the variant that is served, or null. */
const broken = (
  kind: Variant,
  name: string,
  code: string,
  how: Partial<Breakage>,
  variant: Variant | null = kind,
): Breakage => ({ name, kind, truth: { variant, works: false, code }, ...how });

const jwks = { keys: [{ ...publicJwk(otherRsaKey()), kid: "one" }] };
const notSet = { bClientSecretFile: undefined, bClientSecretVariable: "NOT_SET" };
const page = { type: "user_interface" };
const withKey = (aPrivateKeyFile: string) => ({ aPrivateKeyFile });

export const breakages: readonly Breakage[] = [
  broken("A", "a plugin that is not registered", "token_refused", { register: false }),
  broken("A", "a disabled plugin", "token_refused", { register: { enabled: false } }),
  broken("A", "a plugin with another key", "token_refused", { register: { jwks } }),
  broken("A", "a plugin without scopes", "api_forbidden", { register: { scopes: [] } }),
  broken("A", "a plugin of the other type", "token_refused", { register: page }),
  broken("A", "a file that is not a key", "key_invalid", { change: withKey("garbage.pem") }),
  broken("A", "a missing file", "credential_invalid", { change: withKey("missing.pem") }),
  broken("B", "a variable that is not set", "credential_invalid", { change: notSet }),
  broken("B", "another secret", "token_refused", { register: { clientSecret: "another-secret" } }),
  broken("B", "an account that is not registered", "token_refused", { register: false }),
  broken("A", "a plugin, but Variant B is served", "variant_not_served", { host: "b" }, "B"),
  broken("B", "an account, but Variant A is served", "variant_not_served", { host: "a" }, "A"),
  broken("A", "no server", "network_failed", { host: "down" }, null),
  broken("B", "nothing at any path", "variant_not_served", { host: "nothing" }, null),
  broken("A", "a page at every path", "variant_unknown", { host: "pages" }, null),
  broken("B", "a redirect from every path", "variant_unknown", { host: "moved" }, null),
  broken("A", "a rate limit for an hour", "rate_limited", { host: "limited" }, null),
];

const answers: Readonly<Record<string, () => Response>> = {
  nothing: () => new Response("<h1>Not found</h1>", { status: 404 }),
  pages: () => new Response("<h1>Log in</h1>", { headers: { "content-type": "text/html" } }),
  moved: () =>
    new Response(null, { status: 302, headers: { location: "https://elsewhere.example/" } }),
  limited: () => new Response(null, { status: 429, headers: { "retry-after": "3600" } }),
};

export interface Estate {
  readonly customers: readonly Customer[];
  /** By tenant id. */
  readonly truth: ReadonlyMap<string, Truth>;
  readonly fetch: Fetch;
  /**
   * How many requests each tenant got at the paths of Variant A, of which every customer is asked.
   */
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

/**
 * Makes so many customers. Every tenth is broken, in each of the ways in turn; the others are of
 * each kind in turn.
 */
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
  const plugin = { type: "service", jwks, scopes: ["devices:read"] } as const;
  const truth = new Map<string, Truth>();
  const customers = Array.from({ length: size }, (_, index): Customer => {
    const turn = Math.floor(index / brokenEvery) % breakages.length;
    const breakage = index % brokenEvery === brokenEvery - 1 ? breakages[turn] : undefined;
    const kind = breakage?.kind ?? (index % 2 === 0 ? "A" : "B");
    const tenantId = `t${index}`;
    const clientId = `client-${index}`;
    const account = { clientId, tenantId, clientSecret };
    truth.set(tenantId, breakage?.truth ?? { variant: kind, works: true });
    const host = breakage?.host ?? kind.toLowerCase();
    if (breakage?.register !== false && kind === "A")
      emulators.a.registerPlugin({ clientId, tenantId, ...plugin, ...breakage?.register });
    if (breakage?.register !== false && kind === "B")
      emulators.b.registerServiceAccount({ ...account, ...breakage?.register });
    const credential =
      kind === "A"
        ? { aClientId: clientId, aPrivateKeyFile: "key.pem", aKeyId: "one" }
        : { bClientId: clientId, bClientSecretFile: "secret" };
    const customer = { baseUrl: addressOf(host), tenantId, ...credential, ...breakage?.change };
    const inFolder = (path: string | undefined) => path && join(folder, path);
    return {
      ...customer,
      aPrivateKeyFile: inFolder(customer.aPrivateKeyFile),
      bClientSecretFile: inFolder(customer.bClientSecretFile),
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
      throw Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNREFUSED" } });
    return answer();
  };
  const remove = () => rmSync(folder, { recursive: true });
  return { customers, truth, fetch, requests, folder, delete: remove };
}
