// One token request for all who wait, and each caller's abort is that caller's alone.
import { describe, expect, test } from "vitest";
import { createAuth, createConnector } from "../../src/index.js";
import { steppedClock } from "../support/clock.js";
import { credentialOf, deployment } from "../support/deployment.js";
import { gatedFetch, scriptedFetch, tokenAnswer } from "../support/fetch.js";
import { rejectionOf, settled } from "../support/wait.js";

const baseUrl = "https://service.example";
const tenantId = "acme";

describe.each([{ variant: "A" as const }, { variant: "B" as const }])("Variant $variant", ({ variant }) => {
  const credential = credentialOf(variant);
  const waiting = (options: object = {}) => {
    const fetch = gatedFetch();
    return { fetch, auth: createAuth({ baseUrl, tenantId, credential, fetch, ...options }) };
  };

  test("nothing is sent before the first getAccessToken", async () => {
    const { fetch } = waiting();
    await settled();
    expect(fetch.calls).toHaveLength(0);
  });

  test("a fresh token is served from memory, without a request, a store or a read of the credential", async () => {
    const fetch = scriptedFetch(() => tokenAnswer());
    let reads = 0;
    const store = {
      get: async () => void reads++,
      set: async (_key: string, value: string) => ({ value, version: "1" }),
      delete: async () => {},
      lock: <T>(_key: string, task: () => Promise<T>) => task(),
    } as never;
    const auth = createAuth({ baseUrl, tenantId, credential, fetch, store });
    const first = await auth.getAccessToken();
    for (let times = 0; times < 10; times++) expect(await auth.getAccessToken()).toBe(first);
    expect([fetch.calls.length, reads]).toEqual([1, 1]);
  });

  test("a caller without a signal keeps the request alive", async () => {
    const { auth, fetch } = waiting();
    const controller = new AbortController();
    const patient = auth.getAccessToken();
    const impatient = rejectionOf(auth.getAccessToken({ signal: controller.signal }));
    await fetch.arrived(1);
    controller.abort("gone");
    await impatient;
    expect(fetch.calls[0]?.init.signal?.aborted).toBe(false);
    fetch.answer(tokenAnswer());
    expect((await patient).value).toBe("token-1");
  });

  test("an abort closes nothing: it was no refusal", async () => {
    const { auth, fetch } = waiting({ now: steppedClock().now });
    const controller = new AbortController();
    const left = rejectionOf(auth.getAccessToken({ signal: controller.signal }));
    await fetch.arrived(1);
    controller.abort("gone");
    await left;
    const next = auth.getAccessToken();
    await fetch.arrived(2);
    fetch.answer(tokenAnswer("unwanted"));
    fetch.answer(tokenAnswer("token-2"));
    expect((await next).value).toBe("token-2");
  });

  test("a rejection is not kept: who comes when it is open again makes a new request", async () => {
    const clock = steppedClock();
    const { auth, fetch } = waiting({ now: clock.now });
    const refused = [rejectionOf(auth.getAccessToken()), rejectionOf(auth.getAccessToken())];
    await fetch.arrived(1);
    fetch.answer(Response.json({ error: "invalid_grant" }, { status: 400 }));
    const [one, other] = await Promise.all(refused);
    expect(one).toBe(other);
    clock.advance(60_000);
    const next = auth.getAccessToken();
    await fetch.arrived(2);
    fetch.answer(tokenAnswer());
    expect((await next).value).toBe("token-1");
  });

  test("shareInFlight: false: each caller makes a request of its own", async () => {
    const { auth, fetch } = waiting({ shareInFlight: false });
    const callers = Array.from({ length: 3 }, () => auth.getAccessToken());
    await fetch.arrived(3);
    for (let index = 1; index <= 3; index++) fetch.answer(tokenAnswer(`token-${index}`));
    const values = (await Promise.all(callers)).map(({ value }) => value);
    expect([...values].sort()).toEqual(["token-1", "token-2", "token-3"]);
    expect(values).toContain((await auth.getAccessToken()).value);
    expect(fetch.calls).toHaveLength(3);
  });

  test("two Auths share nothing: state belongs to the instance", async () => {
    const fetch = scriptedFetch((_call, index) => tokenAnswer(`token-${index}`));
    const [one, other] = [0, 1].map(() => createAuth({ baseUrl, tenantId, credential, fetch }));
    const values = await Promise.all([one, other].map((auth) => auth?.getAccessToken()));
    expect(new Set(values.map((token) => token?.value)).size).toBe(2);
  });

  test("one connector gives one identity's token to all its services", async () => {
    const fetch = scriptedFetch(() => tokenAnswer());
    const connector = createConnector({ credentials: [credential], fetch });
    const services = await Promise.all(
      Array.from({ length: 5 }, () => connector.connect({ baseUrl: `${baseUrl}/`, tenantId })),
    );
    const tokens = await Promise.all(services.map(({ auth }) => auth.getAccessToken()));
    expect(new Set(tokens).size).toBe(1);
    expect(fetch.calls).toHaveLength(1);
  });
});

describe("no identity gets another's token", () => {
  test("tenants, base URLs and clients at once, each with a token of its own", async () => {
    const fetch = scriptedFetch(({ url, body }) => tokenAnswer(`${url} ${body.length}`.replace(/\s/g, "+")));
    const connector = createConnector({ credentials: [credentialOf("A")], fetch });
    const targets = ["https://a.example", "https://b.example", "https://a.example/p"].flatMap((base) =>
      ["acme", "globex"].map((tenant) => ({ baseUrl: base, tenantId: tenant })),
    );
    const services = await Promise.all([...targets, ...targets].map((target) => connector.connect(target)));
    const tokens = await Promise.all(services.map(({ auth }) => auth.getAccessToken()));
    expect(new Set(tokens.map(({ value }) => value)).size).toBe(targets.length);
    for (const [index, { value }] of tokens.entries()) {
      const { baseUrl: base, tenantId: tenant } = targets[index % targets.length] ?? {
        baseUrl: "",
        tenantId: "",
      };
      expect(value.startsWith(`${base}/api/v1/${tenant}/`)).toBe(true);
    }
    expect(fetch.calls).toHaveLength(targets.length);
  });

  test("the emulator refuses a token on another tenant's route, so that a mix-up would show", async () => {
    const emulator = deployment({ tenants: ["acme", "globex"], variants: ["A"] });
    const options = { baseUrl: "http://service.localhost", credential: credentialOf("A") };
    const auth = createAuth({ ...options, tenantId: "acme", fetch: emulator.fetch });
    const { value } = await auth.getAccessToken();
    const authorization = `Bearer ${value}`;
    const statusOf = async (tenant: string) =>
      (await emulator.fetch(`/api/v1/${tenant}/devices`, { headers: { authorization } })).status;
    expect([await statusOf("acme"), await statusOf("globex")]).toEqual([200, 401]);
  });
});
