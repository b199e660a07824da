// The caller's own fetch gets a string and a plain RequestInit, so that undici works with proxies
// and certificates.
import { Agent, type Dispatcher, ProxyAgent, fetch as undiciFetch } from "undici";
import { describe, expect, onTestFinished, test } from "vitest";
import { connect, type Fetch, type MachineCredential } from "../../src/index.js";
import { account, credentialOf, deployment, plugin } from "../support/deployment.js";
import { rejectionOf } from "../support/wait.js";
import { certificates } from "./certificates.js";
import { connectProxy, tlsDeployment } from "./loopback.js";

/** Returns the parts of a call of fetch that another copy of fetch would not understand. */
function faultsOf(url: unknown, init: RequestInit | undefined): string[] {
  const isPlain = (value: unknown) => Object.getPrototypeOf(value) === Object.prototype;
  const faults: string[] = [];
  if (typeof url !== "string") faults.push("a URL that is not a string");
  if (init === undefined || !isPlain(init)) return [...faults, "no plain RequestInit"];
  if (init.headers !== undefined && !isPlain(init.headers))
    faults.push("headers that are not a plain object");
  if (init.body !== undefined && /^\[object/.test(String(init.body)))
    faults.push("a body whose string is not its text");
  if (!(init.signal instanceof AbortSignal)) faults.push("no signal");
  if (init.redirect !== "manual") faults.push("a redirect that is followed unseen");
  return faults;
}

function undiciWith(dispatcher: Dispatcher): Fetch {
  onTestFinished(() => dispatcher.close());
  return (url, init) =>
    undiciFetch(url, { ...(init as object), dispatcher }) as unknown as Promise<Response>;
}

const settings: {
  name: string;
  credentials: () => readonly MachineCredential[];
  variant: "A" | "B";
}[] = [
  { name: "Variant A", credentials: () => [plugin()], variant: "A" },
  { name: "Variant B", credentials: () => [account()], variant: "B" },
  { name: "both, A first", credentials: () => [plugin(), account()], variant: "A" },
  { name: "both, B first", credentials: () => [account(), plugin()], variant: "B" },
];

describe.each(settings)("with credentials of $name", ({ credentials, variant }) => {
  test("every request is a string and a plain RequestInit", async () => {
    const emulator = deployment();
    const faults: string[] = [];
    let calls = 0;
    const fetch: Fetch = (url, init) => {
      calls++;
      faults.push(...faultsOf(url, init));
      return emulator.fetch(url, init);
    };
    const service = await connect({
      baseUrl: emulator.publicUrl,
      tenantId: "acme",
      credentials: credentials(),
      fetch,
    });
    expect((await service.call("listDevices")).ok).toBe(true);
    expect(
      (await service.fetch(variant === "A" ? "api/v1/acme/devices" : "v1/devices")).status,
    ).toBe(200);
    expect(calls).toBeGreaterThanOrEqual(3);
    expect(faults).toEqual([]);
  });

  test("undici's own fetch goes through a proxy, over TLS", async () => {
    const { ca, server } = certificates();
    const { url, emulator } = await tlsDeployment(server);
    const proxy = await connectProxy();
    const service = await connect({
      baseUrl: url,
      tenantId: "acme",
      credentials: credentials(),
      fetch: undiciWith(new ProxyAgent({ uri: proxy.url, requestTls: { ca } })),
    });
    expect(service.variant).toBe(variant);
    expect((await service.call("listDevices")).ok).toBe(true);
    expect(new Set(proxy.tunnels)).toEqual(new Set([new URL(url).host]));
    expect(emulator.journal.tokenRequests({ status: 200 })).toHaveLength(1);
  });

  test("undici's own fetch sends a client certificate to a service that demands one", async () => {
    const { ca, server, client } = certificates();
    const deployed = await tlsDeployment({
      ...server,
      ca,
      requestCert: true,
      rejectUnauthorized: true,
    });
    const service = await connect({
      baseUrl: deployed.url,
      tenantId: "acme",
      credentials: credentials(),
      fetch: undiciWith(new Agent({ connect: { ca, ...client } })),
    });
    expect((await service.call("listDevices")).ok).toBe(true);
    expect(new Set(deployed.clients)).toEqual(new Set(["client"]));
  });
});

describe.each(["A", "B"] as const)("Variant %s over a connection that fails", (variant) => {
  const connectWith = (baseUrl: string, fetch?: Fetch) =>
    connect({
      baseUrl,
      tenantId: "acme",
      credentials: [credentialOf(variant)],
      fetch,
      retryDeadlineMs: 0,
    });

  test("a proxy that refuses tunnels causes network_failed", async () => {
    const { server } = certificates();
    const { url, emulator } = await tlsDeployment(server);
    const proxy = await connectProxy({ refuses: true });
    const fetch = undiciWith(new ProxyAgent({ uri: proxy.url }));
    const service = await connectWith(url, fetch);
    const error = await rejectionOf(service.call("listDevices"));
    expect(error).toMatchObject({ name: "TransportError", code: "network_failed" });
    expect(proxy.tunnels).toHaveLength(1);
    expect(emulator.journal.entries()).toEqual([]);
  });

  test("without a demanded client certificate the token request fails and nothing reaches the service", async () => {
    const { ca, server } = certificates();
    const deployed = await tlsDeployment({
      ...server,
      ca,
      requestCert: true,
      rejectUnauthorized: true,
    });
    const service = await connectWith(deployed.url, undiciWith(new Agent({ connect: { ca } })));
    expect(await rejectionOf(service.call("listDevices"))).toMatchObject({
      name: "TransportError",
      variant,
    });
    expect(deployed.clients).toEqual([]);
  });

  test("a certificate without a trusted authority causes tls_failed at once, and the error is not retryable", async () => {
    const { url, emulator } = await tlsDeployment(certificates().selfSigned);
    const service = await connectWith(url);
    expect(await rejectionOf(service.call("listDevices"))).toMatchObject({
      name: "TransportError",
      code: "tls_failed",
      retryable: false,
      message: expect.stringContaining("SELF_SIGNED_CERT"),
    });
    expect(emulator.journal.entries()).toEqual([]);
  });
});
