/** Opens an address in the person's browser, without a shell in between. */
import { spawn } from "node:child_process";

/** What the system opens addresses with; on Windows `start` is the shell's own, which reads `&` as its own. */
const openers: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/**
 * Resolves with whether an opener took the address: `false` when there is none, or it failed before long.
 *
 * The address is seen in the list of processes. What it holds is of no use to whoever reads it there: a code that is
 * brought with its state is exchanged with a verifier that nobody else has (RFC 7636 section 1).
 */
export async function openBrowser(
  url: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<boolean> {
  const [program, ...args] = openers[process.platform] ?? ["xdg-open"];
  // The browser is told no secret of ours.
  const itsEnv = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("BIVARIANT_")));
  const child = spawn(program, [...args, url], { env: itsEnv, stdio: "ignore", detached: true });
  // It may live as long as the browser does, and is not waited for at the end.
  child.unref();
  return new Promise((resolve) => {
    const patience = setTimeout(() => resolve(true), failsWithinMs);
    const settle = (isOpened: boolean) => {
      clearTimeout(patience);
      resolve(isOpened);
    };
    child.once("error", () => settle(false));
    child.once("exit", (code) => settle(code === 0));
  });
}

const failsWithinMs = 3_000;
