// The job over all customers of the README at the root, run as it is printed.
import { afterEach, expect, test, vi } from "vitest";
import {
  ACCOUNT_ID,
  ACCOUNT_SECRET,
  type DeploymentOptions,
  deployment,
  PLUGIN_ID,
} from "../support/deployment.js";
import { pkcs8, rsaKey } from "../support/keys.js";
import { importBlock } from "./pages.js";

interface Customer {
  readonly baseUrl: string;
  readonly tenantId: string;
}
/** What the program of the page leaves to its user. */
interface Yours {
  readonly customers?: readonly Customer[];
  readonly accounts?: readonly [
    tenantId: string,
    account: { clientId: string; clientSecret: string },
  ][];
}
interface Block {
  eachCustomer(customers: readonly Customer[]): Promise<{ customer: Customer; error: Error }[]>;
}

afterEach(() => void vi.unstubAllGlobals());

const publicUrl = "https://service.example";
const customerOf = (tenantId: string): Customer => ({ baseUrl: publicUrl, tenantId });

/** The job, a deployment of these tenants, and a network that counts the most requests at once. */
async function job(
  tenants: readonly string[],
  { customers = [], accounts = [], ...options }: DeploymentOptions & Yours = {},
) {
  const { fetch } = deployment({ publicUrl, tenants, ...options });
  const used: unknown[] = [];
  let now = 0;
  const most = { atOnce: 0 };
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    most.atOnce = Math.max(most.atOnce, ++now);
    await new Promise((resolve) => setImmediate(resolve));
    now--;
    if (!url.startsWith(publicUrl)) return new Response("<p>Hello");
    return fetch(url, { ...init, body: init.body && String(init.body) } as RequestInit);
  });
  vi.stubGlobal("use", (data: unknown) => void used.push(data));
  vi.stubGlobal("clientId", PLUGIN_ID);
  vi.stubGlobal("privateKey", pkcs8(rsaKey()));
  vi.stubGlobal("accounts", new Map(accounts));
  vi.stubGlobal("customers", customers);
  const reported = vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "log").mockImplementation(() => {});
  const { eachCustomer } = await importBlock<Block>("eachCustomer");
  return { eachCustomer, used, most, reported };
}

const names = Array.from({ length: 30 }, (_, index) => `customer-${index}`);

test("calls every customer, at most ten at a time", async () => {
  const { eachCustomer, used, most } = await job(names);
  expect(await eachCustomer(names.map(customerOf))).toEqual([]);
  expect(used).toHaveLength(30);
  expect(most.atOnce).toBeLessThanOrEqual(10);
  expect(most.atOnce).toBeGreaterThan(1);
});

test("goes on when customers fail, and says of each whose error it is and what to do", async () => {
  const { eachCustomer, used } = await job(names);
  const broken: Record<string, Customer> = {
    token_refused: customerOf("unknown"),
    base_url_invalid: { baseUrl: "customer.example", tenantId: "typo" },
    response_not_json: { baseUrl: "https://page.example", tenantId: "page" },
  };
  const failed = await eachCustomer([...Object.values(broken), ...names.map(customerOf)]);
  expect(used).toHaveLength(30);
  const reported = failed.map(({ customer, error }) => [Object(error).code, customer]);
  expect(Object.fromEntries(reported)).toEqual(broken);
  expect(failed).toHaveLength(3);
  const { error } = failed.find(({ customer }) => customer === broken.token_refused) ?? {};
  expect(error).toMatchObject({
    tenantId: "unknown",
    message: expect.stringContaining("Most likely"),
  });
});

test("a refused call of a customer is its error too", async () => {
  const { eachCustomer } = await job(["one"], { scopes: [] });
  const [failure] = await eachCustomer([customerOf("one")]);
  expect(failure).toMatchObject({
    customer: { tenantId: "one" },
    error: { code: "api_forbidden", tenantId: "one" },
  });
});

test("a customer with Variant B is called with its own account, and one that fails has a line of the report", async () => {
  const clientSecret = ACCOUNT_SECRET;
  const { used, reported } = await job(["one", "two"], {
    variants: ["B"],
    customers: ["one", "two", "three"].map(customerOf),
    accounts: [
      ["one", { clientId: ACCOUNT_ID, clientSecret }],
      ["two", { clientId: `${ACCOUNT_ID}-two`, clientSecret: "another" }],
    ],
  });
  expect(used).toHaveLength(1);
  const lines = reported.mock.calls.map(([line]) => line);
  expect(lines.sort()).toEqual([
    expect.stringMatching(/^three: /),
    expect.stringMatching(/^two: .*Most likely/),
  ]);
});
