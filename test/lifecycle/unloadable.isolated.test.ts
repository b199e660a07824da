// A lazy module that cannot be loaded causes a typed error, but never hides the error that it would
// explain. The file has a process of its own, since it replaces modules.
import { describe, expect, test, vi } from "vitest";
import { lazy } from "../../src/http/lazy.js";
import { createConnector, detectVariant, isTokenRequestError } from "../../src/index.js";
import { plugin } from "../support/deployment.js";
import { rejectionOf } from "../support/wait.js";

vi.mock("../support/load-at-once.js", () => ({}));
const gone = vi.hoisted(() => () => {
  throw new Error("the chunk is gone");
});
vi.mock("../../src/auth/credentials/diagnosis.js", gone);
vi.mock("../../src/client/call-diagnosis.js", gone);
vi.mock("../../src/client/any-call.js", gone);
vi.mock("../../src/choose-variant.js", gone);

const target = { baseUrl: "https://service.example", tenantId: "acme" };
const broken = { name: "TransportError", code: "network_failed" };

/** A service whose token endpoint and API give these answers. `sent` holds the last segments. */
async function serviceOf(token: () => Response, api = () => Response.json([])) {
  const sent: string[] = [];
  const fetch = async (url: string) => {
    sent.push(url.slice(url.lastIndexOf("/")));
    return url.endsWith("/token") ? token() : api();
  };
  const service = await createConnector({ credentials: [plugin()], fetch }).connect(target);
  return { service, sent };
}

const issued = () => Response.json({ access_token: "token" });

describe("a lazy module that cannot be loaded", () => {
  test("changes nothing about a refusal but that its error has no causes", async () => {
    const refusal = () => Response.json({ error: "invalid_client" }, { status: 400 });
    const { service } = await serviceOf(refusal);
    const error = await rejectionOf(service.auth.getAccessToken());
    if (!isTokenRequestError(error)) throw error;
    expect(error).toMatchObject({ error: "invalid_client", status: 400, causes: [] });
    expect(error.retryAt).toBeGreaterThan(Date.now());
  });

  test("changes nothing about a wrong endpoint's answer but that its error has no detection", async () => {
    const { service } = await serviceOf(() => new Response("<h1>No</h1>", { status: 404 }));
    const error = await rejectionOf(service.auth.getAccessToken());
    expect(error).toMatchObject({ code: "response_not_json", status: 404 });
    expect(error).not.toHaveProperty("detection");
  });

  test("changes nothing about a refused call but that its error has no causes", async () => {
    const { service } = await serviceOf(issued, () => new Response(null, { status: 403 }));
    const { error } = await service.call("listDevices");
    const message = "listDevices was answered 403.";
    expect(error).toMatchObject({ code: "api_forbidden", status: 403, message });
    expect(error).not.toHaveProperty("causes");
  });

  test("makes a call reject with network_failed only if it needs the module, before the call is sent", async () => {
    const { service, sent } = await serviceOf(issued);
    expect((await service.call("listDevices")).ok).toBe(true);
    const streamed = service.call("listDevices", { parseAs: "stream" });
    await expect(streamed).rejects.toMatchObject(broken);
    expect(sent).toEqual(["/token", "/devices"]);
  });

  test("makes detectVariant reject with network_failed before any request", async () => {
    const fetch = () => expect.unreachable("nothing is asked");
    await expect(detectVariant({ ...target, fetch })).rejects.toMatchObject(broken);
  });

  test("causes network_failed and is requested again next time; once loaded, it is returned without a promise", async () => {
    let loads = 0;
    const needed = lazy(async () => {
      if (++loads === 1) throw new Error("offline");
      return { answer: 42 };
    });
    await expect(needed()).rejects.toMatchObject(broken);
    await expect(needed()).resolves.toEqual({ answer: 42 });
    expect(needed()).toEqual({ answer: 42 });
    expect(loads).toBe(2);
  });
});
