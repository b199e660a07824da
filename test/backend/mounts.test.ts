// The backend as a handler of web requests in a framework: Hono, which passes the request on as it is.
import { Hono } from "hono";
import { describe, expect, test } from "vitest";
import { unwrap } from "../../src/index.js";
import { OWN, rig, type SessionAnswer } from "./rig.js";
import { TestBrowser } from "./test-browser.js";

describe("in Hono", () => {
  test("the routes and the app's own live side by side", async () => {
    const parts = rig();
    const { backend } = parts;
    const app = new Hono();
    app.all("/auth/*", (context) => backend(context.req.raw));
    app.get("/devices", async (context) => {
      try {
        const service = await backend.connect(context.req.raw);
        return context.json(unwrap(await service.call("listDevices")) as object);
      } catch (error) {
        return backend.answer(error);
      }
    });
    const browser = new TestBrowser(async (request) => app.fetch(request), OWN);
    const { session } = await parts.launch(browser);
    const headers = { authorization: `Bearer ${session}` };
    expect(await (await browser.get("/devices", headers)).json()).toHaveLength(3);
    expect(await (await browser.get("/devices")).json()).toMatchObject({ error: "session_missing" });
    await parts.login(browser);
    const logged = (await (await browser.post("/auth/session")).json()) as SessionAnswer;
    expect(logged.variant).toBe("B");
    parts.clock.advance(3_600_000);
    const over = await browser.get("/devices", headers);
    expect([over.status, await over.json()]).toEqual([
      401,
      expect.objectContaining({ error: "relaunch_required", reason: "launch_expired" }),
    ]);
  });
});
