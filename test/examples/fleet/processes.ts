// The processes of the fleet (Redis and the replicas), and a round-robin proxy in front of the replicas.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";

/** A program with a port of its own. It can be killed and started again. */
export class Program {
  readonly port: number;
  isUp = false;
  readonly #command: readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;

  constructor(port: number, command: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.port = port;
    this.#command = command;
    this.#env = env;
  }

  /** Resolves when it prints that it is ready, or was killed. */
  async start(): Promise<void> {
    const [program = "", ...args] = this.#command;
    const { PATH, HOME } = process.env;
    const child = spawn(program, args, { env: { PATH, HOME, ...this.#env } });
    this.#child = child;
    let printed = "";
    await new Promise((resolve, reject) => {
      for (const output of [child.stdout, child.stderr])
        output.on("data", (text) => {
          printed = (printed + text).slice(-2_000);
          if (/^Ready$|Ready to accept/m.test(printed)) resolve(undefined);
        });
      child.once("error", reject);
      child.once("exit", (status) => (status === null ? resolve(undefined) : reject(new Error(printed))));
    });
    this.isUp = child === this.#child;
  }

  /** SIGKILL: it can finish nothing. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    this.isUp = false;
    if (child?.kill("SIGKILL")) await once(child, "exit");
  }
}

/** Redis with its writes in a file: killed and started again, it has the same data. */
export async function createRedis(folder: string): Promise<Program> {
  const isInstalled = (name: string) => spawnSync(name, ["--version"]).status === 0;
  const program = ["redis-server", "valkey-server"].find(isInstalled);
  if (program === undefined)
    throw new Error(
      "The fleet needs Redis or Valkey. Debian: apt-get install redis-server. macOS: brew install redis.",
    );
  const port = await freePort();
  const network = ["--port", String(port), "--bind", "127.0.0.1"];
  return new Program(port, [program, ...network, "--dir", folder, "--appendonly", "yes", "--save", ""]);
}

export async function createReplica(settings: Readonly<Record<string, string>>): Promise<Program> {
  const script = fileURLToPath(new URL("replica.ts", import.meta.url));
  const port = await freePort();
  const command = [process.execPath, "--import", "tsx", script];
  return new Program(port, command, { ...settings, PORT: String(port) });
}

/**
 * Sends each request to the next replica. If that refuses the connection, nothing was sent, and the next one gets the
 * request. If the connection breaks later, the replica may have done what it was asked, so the browser gets a 502.
 */
export async function startProxy(replicas: readonly Program[]): Promise<{ url: string; close(): void }> {
  // A connection that is kept alive may be one to a replica that has died since.
  const agent = new Agent({ keepAlive: false });
  let turn = 0;
  const server = createServer(async (incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const body = Buffer.concat(await incoming.toArray());
    const attempt = (left: number) => {
      const replica = replicas[turn++ % replicas.length] as Program;
      const target = { host: "127.0.0.1", port: replica.port, method, path, headers, agent };
      const fail = ({ code }: NodeJS.ErrnoException) => {
        if (code === "ECONNREFUSED" && left > 1) return attempt(left - 1);
        // Only a replica that was killed may break a connection.
        const error = replica.isUp ? "connection_broken" : "replica_lost";
        outgoing.writeHead(502, { "content-type": "application/json" }).end(JSON.stringify({ error }));
      };
      const sent = request(target, (answer) => {
        // The whole answer is read first, since a replica may die in the middle of it.
        const pass = (chunks: Buffer[]) =>
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers).end(Buffer.concat(chunks));
        answer.toArray().then(pass, fail);
      });
      sent.once("error", fail).end(body);
    };
    attempt(replicas.length);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
