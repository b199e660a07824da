// The replicas, each a process of its own, and a round-robin proxy in front of them.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("replica.ts", import.meta.url));

/** It can be killed and started again, on the same port. */
export class Replica {
  readonly port: number;
  isUp = false;
  readonly #env: Readonly<Record<string, string | undefined>>;
  #child: ChildProcess | undefined;

  constructor(port: number, settings: Readonly<Record<string, string>>) {
    this.port = port;
    const { PATH, HOME } = process.env;
    this.#env = { PATH, HOME, ...settings, PORT: String(port) };
  }

  /** Resolves when it is ready, or was killed. */
  async start(): Promise<void> {
    const command = ["--import", "tsx", script];
    const child = spawn(process.execPath, command, {
      env: this.#env,
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child = child;
    const ended = once(child, "exit");
    await Promise.race([once(child.stdout, "data"), ended]);
    this.isUp = child === this.#child && child.exitCode === null;
    if (child.exitCode !== null) throw new Error("A replica did not start.");
  }

  /** SIGKILL: it can finish nothing. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    this.isUp = false;
    if (child?.kill("SIGKILL")) await once(child, "exit");
  }
}

/**
 * Sends each request to the next replica. If that refuses the connection, nothing was sent, and the
 * next one gets the request. If the connection breaks later, the replica may have done what it was
 * asked: the answer is a 502.
 */
export async function startProxy(replicas: readonly Replica[]): Promise<string> {
  // A connection that is kept alive may be one to a replica that has died since.
  const agent = new Agent({ keepAlive: false });
  let turn = 0;
  const server = createServer(async (incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const body = Buffer.concat(await incoming.toArray());
    const first = turn++;
    const attempt = (tried: number) => {
      const replica = replicas[(first + tried) % replicas.length] as Replica;
      const fail = ({ code }: NodeJS.ErrnoException) => {
        if (code === "ECONNREFUSED" && tried + 1 < replicas.length) return attempt(tried + 1);
        // Only a replica that was killed may break a connection.
        const error = replica.isUp ? "connection_broken" : "replica_lost";
        outgoing
          .writeHead(502, { "content-type": "application/json" })
          .end(JSON.stringify({ error }));
      };
      const sent = request(
        { host: "127.0.0.1", port: replica.port, method, path, headers, agent },
        (answer) => {
          // The whole answer is read first, since a replica may die in the middle of it.
          const pass = (chunks: Buffer[]) =>
            outgoing.writeHead(answer.statusCode ?? 502, answer.headers).end(Buffer.concat(chunks));
          answer.toArray().then(pass, fail);
        },
      );
      sent.once("error", fail).end(body);
    };
    attempt(0);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
