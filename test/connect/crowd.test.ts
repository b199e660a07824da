/** Many concurrent callers over several tenants: one token request per tenant, and no token on another tenant's route. */
import { expect, onTestFinished, test } from "vitest";
import { createConnector, serviceAccount } from "../../src/index.js";
import { ACCOUNT_ID, ACCOUNT_SECRET, account, deployment, plugin } from "../support/deployment.js";

const calls = 100;
const tenants = ["acme", "globex"];

/** Over HTTP: `aud` must name the base URL that is listened at. */
async function listening() {
  const emulator = deployment({ tenants, publicUrl: undefined });
  const { url, close } = await emulator.listen();
  onTestFinished(close);
  return { url, emulator };
}

/** In the second tenant the account has another client id. */
const accounts = () =>
  serviceAccount(({ tenantId }) => ({
    clientId: tenantId === "acme" ? ACCOUNT_ID : `${ACCOUNT_ID}-${tenantId}`,
    clientSecret: ACCOUNT_SECRET,
  }));

test.each([
  { name: "two tenants of Variant A", variant: "A", credentials: [plugin()], hosts: 1, statuses: [200] },
  { name: "two tenants of Variant B", variant: "B", credentials: [accounts()], hosts: 1, statuses: [200] },
  { name: "two base URLs of Variant B", variant: "B", credentials: [account()], hosts: 2, statuses: [200] },
  {
    name: "two tenants with credentials of both variants, after one detection each,",
    ...{ variant: "A", credentials: [plugin(), accounts()], hosts: 1, statuses: [400, 200] },
  },
])("100 concurrent connects and calls to $name send one token request per target", async (row) => {
  const hosts = await Promise.all(Array.from({ length: row.hosts }, listening));
  const targets = [0, 1].map((index) => ({
    baseUrl: hosts[index % row.hosts]?.url ?? "",
    tenantId: tenants[row.hosts === 1 ? index : 0] ?? "",
  }));
  const bearers = new Map<string, Set<string>>();
  const connector = createConnector({
    credentials: row.credentials,
    fetch: (url, init) => {
      const bearer = new Headers(init?.headers).get("authorization");
      if (bearer !== null) bearers.set(url, (bearers.get(url) ?? new Set()).add(bearer));
      return fetch(url, init);
    },
  });

  const held = await Promise.all(
    Array.from({ length: calls }, async (_, index) => {
      const service = await connector.connect(targets[index % 2] as (typeof targets)[0]);
      expect(await service.call("listDevices")).toMatchObject({ ok: true, variant: row.variant });
      return `${index % 2} ${(await service.auth.getAccessToken()).value}`;
    }),
  );

  expect(new Set(held).size).toBe(2);
  expect([...bearers.values()].flatMap((values) => [...values])).toHaveLength(2);
  for (const [url, values] of bearers)
    for (const bearer of values) {
      const holder = targets[Number(held.find((one) => bearer.endsWith(one.slice(2)))?.[0])];
      expect(url).toContain(holder?.baseUrl);
      if (row.variant === "A") expect(url).toContain(`/${holder?.tenantId}/`);
    }
  const journals = hosts.map(({ emulator }) => emulator.journal);
  for (const { tenantId } of targets)
    for (const journal of journals)
      expect(journal.tokenRequests({ tenantId }).map(({ status }) => status)).toEqual(row.statuses);
});
