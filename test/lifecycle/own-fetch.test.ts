// The caller's own fetch gets a string and a plain RequestInit, so that undici works with
// certificates.
import { createServer, type ServerOptions } from "node:https";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import type { TLSSocket } from "node:tls";
import { Agent, type Dispatcher, fetch as undiciFetch } from "undici";
import { describe, expect, onTestFinished, test } from "vitest";
import { connect, type Fetch, type MachineCredential } from "../../src/index.js";
import { waitless } from "../support/clock.js";
import { account, credentialOf, deployment, plugin } from "../support/deployment.js";
import { servingOn } from "../support/recording-server.js";
import { rejectionOf } from "../support/wait.js";
import { certificates } from "./certificates.js";

/**
 * An emulated deployment behind https. `clients` holds the common name of each request's client
 * certificate.
 */
async function tlsDeployment(options: ServerOptions) {
  const clients: string[] = [];
  const server = createServer(options, async (incoming, response) => {
    const { subject } = (incoming.socket as TLSSocket).getPeerCertificate();
    clients.push(String(subject?.CN));
    const body = await text(incoming);
    const answer = await emulator.fetch(incoming.url ?? "/", {
      method: incoming.method ?? "GET",
      headers: incoming.headers as Record<string, string>,
      ...(body !== "" && { body }),
    });
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  });
  const url = `https://127.0.0.1:${await servingOn(server)}`;
  const emulator = deployment({ publicUrl: url });
  return { url, emulator, clients };
}

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

const target = { baseUrl: "http://service.localhost", tenantId: "acme" };

test.each<{ name: string; credentials: () => MachineCredential[]; route: string }>([
  { name: "Variant A", credentials: () => [plugin()], route: "api/v1/acme/devices" },
  { name: "Variant B", credentials: () => [account()], route: "v1/devices" },
  { name: "both", credentials: () => [plugin(), account()], route: "api/v1/acme/devices" },
])(
  "with credentials of $name every request is a string and a plain RequestInit",
  async ({ credentials, route }) => {
    const emulator = deployment();
    const faults: string[][] = [];
    const fetch: Fetch = (url, init) => {
      faults.push(faultsOf(url, init));
      return emulator.fetch(url, init);
    };
    const service = await connect({ ...target, credentials: credentials(), fetch });
    expect((await service.call("listDevices")).ok).toBe(true);
    expect((await service.fetch(route)).status).toBe(200);
    expect(faults.length).toBeGreaterThanOrEqual(3);
    expect(faults.flat()).toEqual([]);
  },
);

describe.each(["A", "B"] as const)("Variant %s over TLS", (variant) => {
  const connectWith = (baseUrl: string, fetch?: Fetch) => {
    const options = { credentials: [credentialOf(variant)], retryDeadlineMs: 0, fetch };
    return connect({ ...target, baseUrl, ...options });
  };

  test("is reached with a client certificate if it demands one, and not without", async () => {
    const { ca, server, client } = certificates();
    const demanding = { ...server, ca, requestCert: true, rejectUnauthorized: true };
    const { url, clients } = await tlsDeployment(demanding);
    const without = await connectWith(url, undiciWith(new Agent({ connect: { ca } })));
    const refused = { name: "TransportError", variant };
    expect(await rejectionOf(without.call("listDevices"))).toMatchObject(refused);
    expect(clients).toEqual([]);
    const agent = new Agent({ connect: { ca, ...client } });
    const service = await connectWith(url, undiciWith(agent));
    expect((await service.call("listDevices")).ok).toBe(true);
    expect(new Set(clients)).toEqual(new Set(["client"]));
  });

  test("with a certificate of no trusted authority causes tls_failed at once, which is not retryable", async () => {
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

test.each(["A", "B"] as const)(
  "a fetch whose bodies are streams of Node gets a token of Variant %s, and its calls are sent again",
  async (variant) => {
    const emulator = deployment();
    let failures = 1;
    const fetch: Fetch = async (url, init) => {
      const isFailure = url.includes("devices") && failures-- > 0;
      const answer = isFailure
        ? new Response("busy", { status: 503 })
        : await emulator.fetch(url, init);
      const body = Readable.from([Buffer.from(await answer.clone().arrayBuffer())]);
      return Object.defineProperty(answer, "body", { value: body });
    };
    const credentials = [credentialOf(variant)];
    const service = await connect({ ...target, credentials, fetch, clock: waitless() });
    expect(await service.call("listDevices")).toMatchObject({ ok: true, retries: 1 });
  },
);
