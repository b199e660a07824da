// Customers of both kinds over one connector, whose credentials are functions that may have none
// for a tenant.
import { expect, test } from "vitest";
import {
  connect,
  createConnector,
  type Service,
  serviceAccount,
  servicePlugin,
  type Variant,
} from "../../src/index.js";
import { type SteppedClock, steppedClock } from "../support/clock.js";
import {
  ACCOUNT_ID,
  ACCOUNT_SECRET,
  account,
  deployment,
  PLUGIN_ID,
} from "../support/deployment.js";
import { pkcs8, rsaKey } from "../support/keys.js";
import { rejectionOf } from "../support/wait.js";

interface Customer {
  readonly tenantId: string;
  /** The variants that the customer's deployment serves: "A", "B" or "AB". */
  readonly serves: string;
  /** The variants that the customer has a credential of. */
  readonly has: string;
}

/**
 * One connector for customers who each have a deployment. If it `isSilent`, it answers 403 to a
 * detection.
 */
function connectorFor(customers: readonly Customer[], isSilent = false) {
  const tokenRequests: string[] = [];
  /** The functions that were called: the variant and the tenant. */
  const calls = new Set<string>();
  const fetches = new Map(
    customers.map(({ tenantId, serves }) => {
      const options = { publicUrl: `http://${tenantId}.localhost`, tenants: [tenantId] };
      return [tenantId, deployment({ ...options, variants: [...serves] as Variant[] }).fetch];
    }),
  );
  const settings = <T>(variant: Variant, value: T) => {
    return async ({ tenantId }: { readonly tenantId: string }) => {
      calls.add(`${variant} ${tenantId}`);
      return customers.find((one) => one.tenantId === tenantId)?.has.includes(variant)
        ? value
        : undefined;
    };
  };
  const connector = createConnector({
    credentials: [
      servicePlugin(settings("A", { clientId: PLUGIN_ID, privateKey: pkcs8(rsaKey()) })),
      serviceAccount(settings("B", { clientId: ACCOUNT_ID, clientSecret: ACCOUNT_SECRET })),
    ],
    fetch: async (url, init) => {
      const tenantId = new URL(url).hostname.replace(".localhost", "");
      const isForToken = String(init?.body).includes("client_credentials");
      if (isForToken) tokenRequests.push(tenantId);
      if (isSilent && init?.method === "POST" && !isForToken)
        return new Response(null, { status: 403 });
      return fetches.get(tenantId)?.(url, init) ?? Response.error();
    },
  });
  const serve = async (tenantId: string): Promise<Service> => {
    const service = await connector.connect({ baseUrl: `http://${tenantId}.localhost`, tenantId });
    expect((await service.call("listDevices")).ok).toBe(true);
    return service;
  };
  return { serve, tokenRequests, calls };
}

test.each([
  { count: 5, way: "in a loop" },
  { count: 40, way: "at once" },
])(
  "$count customers, of A, B or both, are served by their own variant with one token request, $way",
  async ({ count, way }) => {
    const customers = Array.from({ length: count }, (_, at) => {
      const serves = ["A", "A", "B", "B", "AB"][at % 5] ?? "";
      return { tenantId: `tenant-${at}`, serves, has: serves };
    });
    const { serve, tokenRequests, calls } = connectorFor(customers);
    const services: Promise<Service>[] = [];
    for (const { tenantId } of customers) {
      services.push(serve(tenantId));
      if (way === "in a loop") await services.at(-1);
    }
    const variants = (await Promise.all(services)).map(({ variant }) => variant);
    expect(variants).toEqual(customers.map(({ serves }) => serves[0]));
    expect(tokenRequests.toSorted()).toEqual(customers.map(({ tenantId }) => tenantId).toSorted());
    expect(calls).toEqual(
      new Set(customers.map(({ tenantId, serves }) => `${serves[0]} ${tenantId}`)),
    );
  },
);

const needs = (kind: string) =>
  `credential_missing: The tenant acme at http://acme.localhost needs ${kind},`;
test.each([
  { serves: "B", has: "A", asked: "B", outcome: needs("a credential of Variant B") },
  { serves: "AB", has: "", asked: "AB", outcome: needs("a credential of Variant A or B") },
  { serves: "AB", has: "B", asked: "AB", outcome: "B, undetected" },
  { serves: "A", has: "A", isSilent: true, asked: "AB", outcome: "A, undetected" },
  { serves: "AB", has: "AB", isSilent: true, asked: "AB", outcome: "variant_unknown" },
])(
  "a customer served by '$serves' (silently: $isSilent) that has '$has' gets $outcome",
  async (row) => {
    const { serve, calls, tokenRequests } = connectorFor(
      [{ tenantId: "acme", ...row }],
      row.isSilent,
    );
    const outcome = await serve("acme").then(
      ({ variant, detection }) =>
        `${variant}, ${detection === undefined ? "undetected" : "detected"}`,
      (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
    );
    expect(outcome).toContain(row.outcome);
    expect([...calls].map((call) => call[0]).join("")).toBe(row.asked);
    expect(tokenRequests).toHaveLength(row.outcome.endsWith("detected") ? 1 : 0);
  },
);

/** Connects over a function that reads a vault. */
const overVault = (read: () => unknown, options: object = {}) => {
  const credentials = [serviceAccount(read as never)];
  return connect({ baseUrl: "https://service.example", tenantId: "acme", credentials, ...options });
};
const ofAcme =
  'function of the Variant B credential for the tenant "acme" at https://service.example';

test("the vault's error is kept as the cause, and the message names variant and tenant", async () => {
  const cause = { message: "connect ECONNREFUSED 10.0.0.7:8200", code: "EVAULT" };
  const vault = () => Promise.reject(Object.assign(new Error(cause.message), cause));
  const message = expect.stringContaining(`see the cause. Look at the ${ofAcme}.`);
  const failure = { code: "credential_invalid", variant: "B", message, cause };
  expect(await rejectionOf(overVault(vault))).toMatchObject(failure);
});

test("settings that a function returns without clientId are refused with the option, variant and tenant", async () => {
  const message = `clientId must be a string that is not empty. Look at the ${ofAcme}.`;
  expect(await rejectionOf(overVault(() => ({})))).toMatchObject({ option: "clientId", message });
  const none = "or undefined if the tenant has none. Look at the function";
  expect(String(await rejectionOf(overVault(() => null)))).toContain(none);
});

test("a vault that hangs is given up after timeoutMs, with an error that is retryable", async () => {
  const clock = steppedClock();
  const vault = () => new Promise(() => {});
  const message = expect.stringContaining(`from the ${ofAcme} within 10000 ms`);
  const failure = { code: "timed_out", retryable: true, message };
  expect(await rejectionOf(clock.through(overVault(vault, { clock })))).toMatchObject(failure);
});

test.each(["A", "AB"])(
  "with credentials of %s the vault is not read while a token is valid",
  async (has) => {
    const clock = steppedClock();
    const { connector, vault } = connectorOverVault(has, clock);
    const connecting = () =>
      connector.connect({ baseUrl: "http://acme.localhost", tenantId: "acme" });
    await (await connecting()).call("listDevices");
    const { reads } = vault;
    vault.isDown = true;
    expect((await (await connecting()).call("listDevices")).ok).toBe(true);
    expect(vault.reads).toBe(reads);
    clock.advance(3_600_000);
    expect(await rejectionOf(connecting())).toMatchObject({ code: "credential_invalid" });
  },
);

function connectorOverVault(has: string, clock: SteppedClock) {
  const vault = { reads: 0, isDown: false };
  const { fetch } = deployment({ publicUrl: "http://acme.localhost", now: clock.now });
  const read = () => {
    vault.reads++;
    if (vault.isDown) throw new Error("sealed");
    return { clientId: PLUGIN_ID, privateKey: pkcs8(rsaKey()) };
  };
  const credentials = [servicePlugin(read), ...(has === "AB" ? [account()] : [])];
  return { vault, connector: createConnector({ credentials, fetch, clock }) };
}
