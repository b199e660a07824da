// A public URL with a path: every route is under it, however it is spelled, and nothing else is.
import { describe, expect, onTestFinished, test } from "vitest";
import { createEmulator } from "../../src/emulator/index.js";
import { PluginClient } from "./plugin-client.js";

const paths = [
  { name: "that is plain", path: "/site", spelled: "/site" },
  { name: "of more than one segment", path: "/a/b/", spelled: "/a/b" },
  { name: "that is not ASCII", path: "/café", spelled: "/caf%C3%A9" },
  { name: "with an escaped space", path: "/my%20app", spelled: "/my%20app" },
  { name: "with an escape that needs none", path: "/%7Euser", spelled: "/~user" },
  { name: "with an escaped slash", path: "/a%2Fb", spelled: "/a%2Fb" },
  { name: "with an escaped percent sign", path: "/100%25", spelled: "/100%25" },
  { name: "that looks like a parameter", path: "/:tenant", spelled: "/:tenant" },
  { name: "that looks like a wildcard", path: "/*", spelled: "/*" },
  { name: "that looks like an expression", path: "/:a{.+}", spelled: "/:a%7B.+%7D" },
];

describe.each(paths)("under a path $name", ({ path, spelled }) => {
  test("tokens are had and used, and the pages are there", async () => {
    const plugin = new PluginClient({ publicUrl: `https://customer.example${path}` });
    const { url, close } = await plugin.emulator.listen();
    onTestFinished(close);
    expect(new URL(`${plugin.emulator.publicUrl}/`).origin).toBe("https://customer.example");
    const token = await plugin.accessToken();
    const base = new URL(url).origin + spelled;
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`${base}/api/v1/acme/devices`, { headers })).status).toBe(200);
    expect((await fetch(`${base}/_emulator`)).status).toBe(200);
    expect((await fetch(`${base}/host/acme`)).status).toBe(200);
  });

  test("what is not under it is not there", async () => {
    const emulator = createEmulator({ publicUrl: `https://customer.example${path}` });
    for (const other of ["", "/other", "/other/more", `${spelled}x`, `${spelled}/more`]) {
      const answers = [`${other}/v1/devices`, `${other}/_emulator`].map((at) => emulator.fetch(at));
      expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([404, 404]);
    }
  });

  test("a relative URL is relative to it", async () => {
    const emulator = createEmulator({ publicUrl: `https://customer.example${path}` });
    expect((await emulator.fetch("v1/devices")).status).toBe(401);
    expect(await emulator.fetch("devices").then(({ status }) => status)).toBe(404);
    expect(emulator.customerLog.last()).toMatchObject({ rule: "path.version" });
  });
});
