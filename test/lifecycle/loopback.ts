// Servers on loopback for tests of real connections: TLS, client certificates and a CONNECT proxy.
// Each closes itself.
import { createServer } from "node:http";
import { createServer as createTlsServer, type ServerOptions } from "node:https";
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { Emulator } from "../../src/emulator/index.js";
import { deployment } from "../support/deployment.js";
import { servingOn } from "../support/recording-server.js";

export interface TlsDeployment {
  readonly url: string;
  readonly emulator: Emulator;
  /** The common name of each request's client certificate, or an empty string if it had none. */
  readonly clients: string[];
}

/** An emulated deployment behind https. */
export async function tlsDeployment(options: ServerOptions): Promise<TlsDeployment> {
  const clients: string[] = [];
  let emulator: Emulator | undefined;
  const server = createTlsServer(options, async (incoming, response) => {
    const peer = incoming.socket as unknown as {
      getPeerCertificate(): { subject?: { CN?: string } };
    };
    clients.push(peer.getPeerCertificate().subject?.CN ?? "");
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const answer = await emulator?.fetch(incoming.url ?? "/", {
      method: incoming.method ?? "GET",
      headers: Object.entries(incoming.headers).map(([name, value]): [string, string] => [
        name,
        String(value),
      ]),
      ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks).toString() }),
    });
    response.writeHead(answer?.status ?? 500, Object.fromEntries(answer?.headers ?? []));
    response.end(await answer?.text());
  });
  const url = `https://127.0.0.1:${await servingOn(server)}`;
  emulator = deployment({ publicUrl: url });
  return { url, emulator, clients };
}

export interface ConnectProxy {
  readonly url: string;
  /** The addresses that tunnels were requested to, as "host:port". */
  readonly tunnels: string[];
}

/** A proxy that knows only CONNECT (RFC 9110 section 9.3.6). */
export async function connectProxy(): Promise<ConnectProxy> {
  const tunnels: string[] = [];
  const server = createServer((_incoming, response) => void response.writeHead(501).end());
  server.on("connect", ({ url = "" }, socket: Socket, head: Buffer) => {
    tunnels.push(url);
    // The server no longer knows a socket that is a tunnel.
    onTestFinished(() => void socket.destroy());
    const { hostname, port } = new URL(`http://${url}`);
    const onward = connect(Number(port), hostname, () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      onward.write(head);
      onward.pipe(socket);
      socket.pipe(onward);
    });
    for (const end of [onward, socket]) end.on("error", () => end.destroy());
    socket.on("close", () => onward.destroy());
    onward.on("close", () => socket.destroy());
  });
  return { url: `http://127.0.0.1:${await servingOn(server)}`, tunnels };
}
