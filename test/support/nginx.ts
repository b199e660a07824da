// A real nginx for the tests that need a gateway. If none is installed, they are skipped with a
// message.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished } from "vitest";

const candidates = [process.env.NGINX_PROGRAM, "/usr/sbin/nginx", "/usr/local/sbin/nginx"];
const program = candidates.find((path) => path !== undefined && path !== "" && existsSync(path));

export function describeWithNginx(title: string, tests: () => void): void {
  const how = "Debian: apt-get install nginx-light; or name one in NGINX_PROGRAM";
  if (program === undefined) console.warn(`skipped: "${title}" needs nginx (${how})`);
  describe.skipIf(program === undefined)(title, tests);
}

/**
 * Starts nginx on a port of 127.0.0.1 until the test ends, with these directives in its `server`.
 */
export async function startNginx(port: number, directives: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "bivariant-nginx-"));
  const settings = join(folder, "nginx.conf");
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const paths = temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join(" ");
  writeFileSync(
    settings,
    `daemon off; master_process off; pid ${folder}/pid; error_log stderr; events {}
     http { access_log off; ${paths} server { listen 127.0.0.1:${port}; ${directives} } }`,
  );
  const nginx = spawn(String(program), ["-p", folder, "-c", settings, "-e", "stderr"], {
    stdio: "inherit",
  });
  const ended = once(nginx, "close");
  onTestFinished(async () => {
    nginx.kill();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  const answers = () =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    );
  await expect.poll(answers).toBe(true);
}
