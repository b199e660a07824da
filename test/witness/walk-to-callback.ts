/** A browser's part of a login, without one: follows redirects and keeps cookies, until it is sent to the callback. */

/** Well above the seven that a login takes. */
const mostSteps = 20;

/** Gives the address that the person comes back to; it is not fetched. */
export async function walkToCallback(url: string, redirectUri: string): Promise<string> {
  const jar = new Map<string, string>();
  let at = url;
  for (let step = 0; step < mostSteps; step++) {
    const response = await fetch(at, {
      redirect: "manual",
      headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join("; ") },
    });
    for (const line of response.headers.getSetCookie()) keep(jar, line);
    const location = response.headers.get("location");
    if (location === null) throw new Error(`${response.status} at ${at}: ${await response.text()}`);
    await response.body?.cancel();
    at = new URL(location, at).href;
    if (at.startsWith(`${redirectUri}?`)) return at;
  }
  throw new Error(`no callback after ${mostSteps} steps`);
}

/** Paths are left aside: no two cookies of the provider share a name. An empty value takes one away. */
function keep(jar: Map<string, string>, line: string): void {
  const [pair = ""] = line.split(";");
  const split = pair.indexOf("=");
  const [name, value] = [pair.slice(0, split), pair.slice(split + 1)];
  if (value === "") jar.delete(name);
  else jar.set(name, value);
}
