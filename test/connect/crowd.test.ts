/** Many concurrent callers over several tenants: one token request per tenant, and no token on another tenant's route. */
import { afterEach, describe, expect, test } from "vitest";
import type { Emulator } from "../../src/emulator/index.js";
import { createConnector, type Fetch, type MachineCredential, serviceAccount } from "../../src/index.js";
import { ACCOUNT_ID, ACCOUNT_SECRET, account, deployment, plugin } from "../support/deployment.js";

const CALLS = 100;
const TENANTS = ["acme", "globex"] as const;
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

/** Over HTTP: `aud` must name the base URL that is listened at. */
async function listening(tenants: readonly string[]): Promise<{ url: string; emulator: Emulator }> {
  const emulator = deployment({ tenants, publicUrl: undefined });
  const { url, close } = await emulator.listen();
  closing.push(close);
  return { url, emulator };
}

interface Seen {
  readonly fetch: Fetch;
  /** The values of Authorization that each URL was called with. */
  readonly bearers: ReadonlyMap<string, ReadonlySet<string>>;
  readonly calls: () => number;
}

function recordingFetch(): Seen {
  const bearers = new Map<string, Set<string>>();
  let calls = 0;
  return {
    bearers,
    calls: () => calls,
    fetch: (url, init) => {
      const bearer = new Headers(init?.headers).get("authorization");
      if (bearer !== null) {
        calls++;
        bearers.set(url, (bearers.get(url) ?? new Set()).add(bearer));
      }
      return fetch(url, init);
    },
  };
}

/** Every URL got exactly one bearer, and no two URLs got the same. */
function expectOneTokenPerRoute({ bearers, calls }: Seen, routes: readonly string[]): void {
  expect([...bearers.keys()].sort()).toEqual([...routes].sort());
  expect([...bearers.values()].map((values) => values.size)).toEqual(routes.map(() => 1));
  expect(new Set([...bearers.values()].flatMap((values) => [...values])).size).toBe(routes.length);
  expect(calls()).toBe(CALLS);
}

/** Connects anew for every call, taking the targets in turn. */
async function crowd(
  credentials: readonly MachineCredential[],
  targets: readonly { baseUrl: string; tenantId: string }[],
  { fetch }: Seen,
): Promise<Set<string>> {
  const connector = createConnector({ credentials, fetch });
  const outcomes = await Promise.all(
    Array.from({ length: CALLS }, async (_, index) => {
      const service = await connector.connect(targets[index % targets.length] as (typeof targets)[0]);
      const { ok, variant } = await service.call("listDevices");
      return `${variant} ${ok}`;
    }),
  );
  return new Set(outcomes);
}

describe(`${CALLS} concurrent calls, each after a connect of its own`, () => {
  test("to two tenants of Variant A make two token requests, and each token stays on its tenant's route", async () => {
    const { url, emulator } = await listening(TENANTS);
    const seen = recordingFetch();

    const outcomes = await crowd(
      [plugin()],
      TENANTS.map((tenantId) => ({ baseUrl: url, tenantId })),
      seen,
    );

    expect(outcomes).toEqual(new Set(["A true"]));
    expectOneTokenPerRoute(
      seen,
      TENANTS.map((tenantId) => `${url}/api/v1/${tenantId}/devices`),
    );
    expect(emulator.journal.tokenRequests()).toHaveLength(2);
    for (const tenantId of TENANTS) expect(emulator.journal.tokenRequests({ tenantId })).toHaveLength(1);
  });

  test("with credentials of both variants send one detection and one token request per tenant", async () => {
    const { url, emulator } = await listening(TENANTS);
    const seen = recordingFetch();

    const outcomes = await crowd(
      [plugin(), account()],
      TENANTS.map((tenantId) => ({ baseUrl: url, tenantId })),
      seen,
    );

    expect(outcomes).toEqual(new Set(["A true"]));
    for (const tenantId of TENANTS) {
      const statuses = emulator.journal.tokenRequests({ tenantId }).map(({ status }) => status);
      expect(statuses).toEqual([400, 200]);
    }
  });

  test("to two base URLs of Variant B make one token request at each", async () => {
    const deployments = await Promise.all(TENANTS.map((tenantId) => listening([tenantId])));
    const seen = recordingFetch();

    const outcomes = await crowd(
      [account()],
      deployments.map(({ url }) => ({ baseUrl: url, tenantId: "acme" })),
      seen,
    );

    expect(outcomes).toEqual(new Set(["B true"]));
    expectOneTokenPerRoute(
      seen,
      deployments.map(({ url }) => `${url}/v1/devices`),
    );
    for (const { emulator } of deployments) expect(emulator.journal.tokenRequests()).toHaveLength(1);
  });

  test("to two tenants at one base URL of Variant B make two token requests, though the route is the same", async () => {
    const { url, emulator } = await listening(TENANTS);
    const seen = recordingFetch();
    const connector = createConnector({
      credentials: [
        serviceAccount(({ tenantId }) => ({
          clientId: tenantId === "acme" ? ACCOUNT_ID : `${ACCOUNT_ID}-${tenantId}`,
          clientSecret: ACCOUNT_SECRET,
        })),
      ],
      fetch: seen.fetch,
    });

    const tokens = await Promise.all(
      Array.from({ length: CALLS }, async (_, index) => {
        const tenantId = TENANTS[index % 2] as string;
        const service = await connector.connect({ baseUrl: url, tenantId });
        const { value } = await service.auth.getAccessToken();
        return `${tenantId} ${value} ${(await service.call("listDevices")).ok}`;
      }),
    );

    expect(new Set(tokens).size).toBe(2);
    expect(tokens.every((token) => token.endsWith(" true"))).toBe(true);
    for (const tenantId of TENANTS) expect(emulator.journal.tokenRequests({ tenantId })).toHaveLength(1);
    expect(seen.bearers.get(`${url}/v1/devices`)?.size).toBe(2);
  });
});
