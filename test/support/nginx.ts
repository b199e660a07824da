// A real nginx for the tests that need a gateway. If none is installed, they are skipped with a message.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, onTestFinished } from "vitest";

const candidates = [process.env.NGINX_PROGRAM, "/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx"];
const program = candidates.find((path) => path !== undefined && path !== "" && existsSync(path));

export function describeWithNginx(title: string, tests: () => void): void {
  if (program === undefined)
    console.warn(
      `skipped: "${title}" needs nginx (Debian: apt-get install nginx-light; or name one in NGINX_PROGRAM)`,
    );
  describe.skipIf(program === undefined)(title, tests);
}

/** Starts nginx with one server until the test ends, and returns its URL. */
export async function startNginx(port: number, server: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "bivariant-nginx-"));
  const buffers = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const paths = buffers.map((name) => `${name}_temp_path ${folder}/${name};`).join(" ");
  const http = `access_log off; ${paths} server { listen 127.0.0.1:${port}; ${server} }`;
  const settings = `daemon off; master_process off; pid ${folder}/pid; error_log stderr;`;
  writeFileSync(join(folder, "nginx.conf"), `${settings} events {} http { ${http} }`);
  const args = ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", "stderr"];
  const nginx = spawn(String(program), args, { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  nginx.stderr.on("data", (chunk) => {
    said += chunk;
  });
  const ended = once(nginx, "close");
  onTestFinished(async () => {
    nginx.kill();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  while (!(await isListening(port))) {
    if (nginx.exitCode !== null) throw new Error(`nginx did not start: ${said}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return `http://127.0.0.1:${port}`;
}

/** A port of 127.0.0.1 that was free just now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function isListening(port: number): Promise<boolean> {
  const socket = createConnection({ port, host: "127.0.0.1" });
  return new Promise((resolve) => {
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
  }).finally(() => socket.destroy()) as Promise<boolean>;
}
