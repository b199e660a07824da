// A lazy module that cannot be loaded causes a typed error, but never hides the error that it would
// explain. The file has a process of its own, since it replaces modules.
import { describe, expect, test, vi } from "vitest";
import { lazy } from "../../src/http/lazy.js";
import {
  createConnector,
  detectVariant,
  isTokenRequestError,
  isUnexpectedResponseError,
} from "../../src/index.js";
import { plugin } from "../support/deployment.js";
import { rejectionOf } from "../support/wait.js";

vi.mock("../support/load-at-once.js", () => ({}));
vi.mock("../../src/auth/credentials/diagnosis.js", () => {
  throw new Error("the chunk is gone");
});
vi.mock("../../src/client/call-diagnosis.js", () => {
  throw new Error("the chunk is gone");
});
vi.mock("../../src/client/any-call.js", () => {
  throw new Error("the chunk is gone");
});
vi.mock("../../src/choose-variant.js", () => {
  throw new Error("the chunk is gone");
});

async function rejectionFor(answer: () => Response): Promise<unknown> {
  const connector = createConnector({ credentials: [plugin()], fetch: async () => answer() });
  const service = await connector.connect({ baseUrl: "https://service.example", tenantId: "acme" });
  return rejectionOf(service.auth.getAccessToken());
}

describe("a lazy module that cannot be loaded", () => {
  test("changes nothing about a refusal but that its error has no causes", async () => {
    const error = await rejectionFor(() =>
      Response.json({ error: "invalid_client" }, { status: 400 }),
    );
    if (!isTokenRequestError(error)) throw error;
    expect(error).toMatchObject({ error: "invalid_client", status: 400, causes: [] });
    expect(error.retryAt).toBeGreaterThan(Date.now());
  });

  test("changes nothing about a wrong endpoint's answer but that its error has no detection", async () => {
    const error = await rejectionFor(() => new Response("<h1>Not here</h1>", { status: 404 }));
    if (!isUnexpectedResponseError(error)) throw error;
    expect(error).toMatchObject({ code: "response_not_json", status: 404 });
    expect(error).not.toHaveProperty("detection");
  });

  test("changes nothing about a refused call but that its error has no causes", async () => {
    const fetch = async (url: string) =>
      url.endsWith("/token")
        ? Response.json({ access_token: "token" })
        : new Response(null, { status: 403 });
    const connector = createConnector({ credentials: [plugin()], fetch });
    const service = await connector.connect({
      baseUrl: "https://service.example",
      tenantId: "acme",
    });
    const { ok, error } = await service.call("listDevices");
    expect({ ok, error }).toMatchObject({
      ok: false,
      error: { code: "api_forbidden", status: 403 },
    });
    expect(error?.message).toBe("listDevices was answered 403.");
    expect(error).not.toHaveProperty("causes");
  });

  test("makes a call reject with network_failed only if it needs the module, before the call is sent", async () => {
    const sent: string[] = [];
    const fetch = async (url: string) => {
      sent.push(url.slice(url.lastIndexOf("/")));
      return url.endsWith("/token") ? Response.json({ access_token: "token" }) : Response.json([]);
    };
    const connector = createConnector({ credentials: [plugin()], fetch });
    const service = await connector.connect({
      baseUrl: "https://service.example",
      tenantId: "acme",
    });
    expect((await service.call("listDevices")).ok).toBe(true);
    const streamed = service.call("listDevices", { parseAs: "stream" });
    await expect(streamed).rejects.toMatchObject({
      name: "TransportError",
      code: "network_failed",
    });
    expect(sent).toEqual(["/token", "/devices"]);
  });

  test("makes detectVariant reject with network_failed before any request", async () => {
    const fetch = () => expect.unreachable("nothing is asked");
    const detection = detectVariant({
      baseUrl: "https://service.example",
      tenantId: "acme",
      fetch,
    });
    await expect(detection).rejects.toMatchObject({
      name: "TransportError",
      code: "network_failed",
    });
  });

  test("causes network_failed and is requested again next time; once loaded, it is returned without a promise", async () => {
    let loads = 0;
    const needed = lazy(async () => {
      if (++loads === 1) throw new Error("offline");
      return { answer: 42 };
    });
    await expect(needed()).rejects.toMatchObject({
      name: "TransportError",
      code: "network_failed",
    });
    await expect(needed()).resolves.toEqual({ answer: 42 });
    expect(needed()).toEqual({ answer: 42 });
    expect(loads).toBe(2);
  });
});
