// After a 421 Node's fetch sends a request again by itself, as RFC 9110 section 15.5.20 allows for
// any method. A gateway that answers 421 after it has passed a request on so makes the service
// create an order twice, or see a `jti` again.
import { fetch as undiciFetch } from "undici";
import { describe, expect, test } from "vitest";
import {
  createAuth,
  createService,
  type Fetch,
  serviceAccount,
  servicePlugin,
} from "../../src/index.js";
import { START } from "../support/clock.js";
import { pkcs8, rsaKey } from "../support/keys.js";
import { numberedAuth } from "../support/numbered-auth.js";
import { jsonAnswer, recordingServer } from "../support/recording-server.js";
import { rejectionOf } from "../support/wait.js";

/** A service whose token is a minute old, so that a refused one is renewed. */
const serviceAt = (baseUrl: string, options: Parameters<typeof createService>[1] = {}) => {
  const auth = numberedAuth({ variant: "A", baseUrl, now: () => START });
  return createService(auth, { clock: { now: () => START + 60_000 }, ...options });
};
const misdirected = () => recordingServer(() => ({ status: 421 }));
const form = () => {
  const fields = new FormData();
  fields.set("name", "Ada");
  fields.set("file", new Blob(["\u00e9\0"], { type: "image/png" }), "a.png");
  return fields;
};
const bodies: { name: string; body?: () => RequestInit["body"] }[] = [
  { name: "text", body: () => "é" },
  { name: "no body" },
  { name: "a form", body: form },
  { name: "parameters", body: () => new URLSearchParams({ a: "é&" }) },
  { name: "a buffer", body: () => new Uint8Array([0, 255, 195]).buffer },
  { name: "a blob", body: () => new Blob(["\u00e9\0"], { type: "image/png" }) },
  { name: "a view of a buffer", body: () => new Uint8Array([9, 0, 255, 195, 9]).subarray(1, 4) },
];
const undici: Fetch = (url, init) =>
  undiciFetch(url, init as object) as unknown as Promise<Response>;
const fetches: { name: string; fetch?: Fetch }[] = [
  { name: "Node's fetch" },
  { name: "a fetch around it", fetch: (url, init) => globalThis.fetch(url, init) },
  { name: "undici's own fetch", fetch: undici },
];

/** What arrives of a request, with the same boundary in each form. */
const arrived = ({
  headers,
  body,
}: {
  headers: Readonly<Record<string, string>>;
  body: string;
}) => {
  const boundary = /boundary=(.*)/.exec(headers["content-type"] ?? "")?.[1] ?? "none";
  const {
    "content-type": type = "",
    "content-length": length,
    "transfer-encoding": coding,
  } = headers;
  return [type.replace(boundary, "B"), length, coding, body.replaceAll(boundary, "B")];
};

describe("a request that a 421 answers is sent once, with the body and the headers that fetch gives it:", () => {
  test.each(bodies)("service.fetch, POST with $name", async ({ body }) => {
    const { url, requests } = await misdirected();
    const init = { method: "POST", body: body?.() } as RequestInit;
    await globalThis.fetch(url, init);
    // The runtime's fetch alone sends it twice.
    expect(requests).toHaveLength(2);
    const service = serviceAt(url);
    expect((await service.fetch("orders", init)).status).toBe(421);
    expect(requests).toHaveLength(3);
    const [byFetch, , ours] = requests.map(arrived);
    expect(ours).toEqual(byFetch);
  });

  describe.each(fetches)("$name", ({ fetch }) => {
    const operation = (method: string) => ({
      method,
      path: "/orders",
      success: [200],
      failure: [],
    });
    const operations = {
      add: operation("POST"),
      change: operation("PATCH"),
      put: operation("PUT"),
      remove: operation("DELETE"),
    };
    const api = { operations: { A: operations, B: operations } } as never;

    test.each([
      { name: "add", init: { body: { id: 1 } }, sent: ['{"id":1}'] },
      { name: "change", init: { body: { id: 1 } }, sent: ['{"id":1}'] },
      // An idempotent request may be repeated.
      { name: "put", init: { body: { id: 1 } }, sent: ['{"id":1}', '{"id":1}'] },
      { name: "put", init: { body: { id: 1 }, idempotent: false }, sent: ['{"id":1}'] },
      { name: "remove", init: { idempotent: false }, sent: [""] },
    ])("call of $name with $init", async ({ name, init, sent }) => {
      const { url, requests } = await misdirected();
      const service = serviceAt(url, { api, ...(fetch && { fetch }) });
      const call = service.call as (...args: unknown[]) => Promise<{ status: number }>;
      expect((await call(name, init)).status).toBe(421);
      expect(requests.map(({ body }) => body)).toEqual(sent);
    });

    test.each([
      servicePlugin({ clientId: "reports", privateKey: pkcs8(rsaKey()) }),
      serviceAccount({ clientId: "reports", clientSecret: "a-secret" }),
    ])("the token request of Variant $variant", async (credential) => {
      const { url, requests } = await misdirected();
      const limits = { retryDeadlineMs: 0, ...(fetch && { fetch }) };
      const auth = createAuth({ baseUrl: url, tenantId: "acme", credential, ...limits });
      expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ status: 421 });
      expect(requests).toHaveLength(1);
    });
  });
});

test.each(bodies)(
  "a POST with $name is sent again with a new token, since it can be",
  async ({ body }) => {
    const { url, requests } = await recordingServer(() =>
      jsonAnswer(requests.length === 1 ? 401 : 200, {}),
    );
    const service = serviceAt(url);
    expect(
      (await service.fetch("orders", { method: "POST", body: body?.() } as RequestInit)).status,
    ).toBe(200);
    const [first, second] = requests;
    expect(requests.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer token-1",
      "Bearer token-2",
    ]);
    expect(second && arrived(second)).toEqual(first && arrived(first));
  },
);

// Undici 7.19 to 7.24, in Node 24.14 and 24.15, makes a network fault of a 401 to a body that it
// cannot make again.
test("a POST asks for no login, which would make a 401 a network fault in some versions of Node", async () => {
  const seen: unknown[] = [];
  const fetch: Fetch = async (_url, init) => {
    seen.push(init?.credentials);
    return new Response();
  };
  const service = serviceAt("https://service.example", { fetch });
  const init = { method: "POST", body: "x" };
  await service.fetch("orders", init);
  await service.fetch("orders", { ...init, body: new ReadableStream() });
  await service.fetch("orders", { ...init, credentials: "include" });
  await service.fetch("orders");
  expect(seen).toEqual(["omit", "omit", "include", undefined]);
});

test("a fetch of the caller's own gets a form as it is", async () => {
  const seen: unknown[] = [];
  const fetch: Fetch = async (_url, init) => {
    seen.push(init?.body);
    return new Response();
  };
  const body = form();
  await serviceAt("https://service.example", { fetch }).fetch("orders", { method: "POST", body });
  expect(seen[0]).toBe(body);
});
