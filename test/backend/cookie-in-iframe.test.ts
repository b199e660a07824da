// A session in a cookie where it is hardest: the plugin's page in another site's iframe, third-party cookies blocked.
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { toNodeHandler } from "../../src/backend/index.js";
import { describeInChromium } from "../support/chromium.js";
import { rig } from "./rig.js";

async function serving(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

describeInChromium("a session in a cookie, in an iframe of another site", (browser) => {
  test("is kept by the browser, counts for the plugin's page, and is no script's to read", async () => {
    const parts = rig({ session: { cookie: true } });
    const handler = toNodeHandler(parts.backend);
    const pluginPort = await serving((incoming, outgoing) => {
      if (incoming.url?.startsWith("/auth/")) return handler(incoming, outgoing);
      outgoing.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>plugin</title>");
    });
    const plugin = `http://127.0.0.1:${pluginPort}`;
    const hostPort = await serving((_incoming, outgoing) => {
      outgoing.writeHead(200, { "content-type": "text/html" });
      outgoing.end(`<!doctype html><title>host</title><iframe src="${plugin}/page"></iframe>`);
    });
    const context = await browser().newContext();
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await page.goto(`http://localhost:${hostPort}/`);
    const frame = await page.waitForSelector("iframe").then((element) => element.contentFrame());
    await frame?.waitForURL(`${plugin}/page`);
    const seen = await frame?.evaluate(async (body) => {
      const post = (route: string, sent: unknown, headers = {}) =>
        fetch(`/auth/${route}`, {
          ...{ method: "POST", body: JSON.stringify(sent) },
          headers: { "content-type": "application/json", ...headers },
        });
      const { csrf } = (await (await post("launch", body)).json()) as { csrf: string };
      const me = await fetch("/auth/me");
      const without = await post("logout", {});
      const again = (await (await post("session", {})).json()) as { csrf: string };
      const logout = await post("logout", {}, { "x-bivariant-csrf": again.csrf });
      const after = await fetch("/auth/me");
      return [document.cookie, me.status, without.status, again.csrf === csrf, logout.status, after.status];
    }, parts.launchBody());
    expect(seen).toEqual(["", 200, 403, true, 204, 401]);
  });
});
