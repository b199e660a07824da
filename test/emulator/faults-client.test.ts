// The client never sends a code again that may be spent. test/auth and test/people have the other faults.
import { describe, expect, test } from "vitest";
import type { Fault } from "../../src/emulator/index.js";
import { apiClient, beginLogin, completeLogin, redeemLaunch, userInterfacePlugin } from "../../src/index.js";
import { rejectionOf } from "../support/wait.js";
import { LaunchedPlugin, pluginKey } from "./plugin-client.js";
import { CALLBACK, Portal } from "./portal.js";
import { ways } from "./two-ways.js";

describe.each(ways)("people, $name", ({ open }) => {
  const privateKey = pluginKey.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const base = (client: LaunchedPlugin | Portal) => ({
    baseUrl: client.emulator.publicUrl,
    tenantId: "acme",
    clock: { now: () => client.now },
    ...(client.emulator.url === undefined && { fetch: client.emulator.fetch }),
  });
  /** To the client these faults look alike: the code may be spent or not. */
  const unknown: { name: string; fault: Fault; isSpent: boolean }[] = [
    { name: "a lost answer", fault: { name: "lost-answer" }, isSpent: true },
    { name: "a reset before the token", fault: { name: "reset" }, isSpent: false },
    { name: "a truncated answer", fault: { name: "truncated" }, isSpent: true },
    { name: "malformed JSON", fault: { name: "malformed-json" }, isSpent: true },
    { name: "a late 504", fault: { name: "status", status: 504, at: "after-commit" }, isSpent: true },
  ];
  test.each(unknown)(
    "$name leaves the outcome of a launch unknown, and the code is not sent again",
    async (row) => {
      const plugin = new LaunchedPlugin();
      await open(plugin.emulator);
      const code = plugin.launchedCode();
      const credential = userInterfacePlugin({ clientId: "reporter", privateKey, keyId: "key-1" });
      plugin.emulator.faults.add(row.fault);
      const { code: value, codeVerifier } = code;
      const error = await rejectionOf(
        redeemLaunch({ ...base(plugin), credential, code: value, codeVerifier }),
      );
      expect(error).toMatchObject({ name: "RelaunchRequiredError", code: "launch_outcome_unknown" });
      const requests = plugin.emulator.journal.tokenRequests({ grant: "authorization_code" });
      expect(requests).toMatchObject([{ fault: row.fault.name, clientId: "reporter" }]);
      expect((await plugin.exchange(code)).status).toBe(row.isSpent ? 400 : 200);
    },
  );

  test.each(unknown)("$name leaves the outcome of a login unknown", async ({ fault }) => {
    const portal = new Portal();
    await open(portal.emulator);
    const authorizationEndpoint = `${portal.emulator.publicUrl}/v1/auth/authorize`;
    const credential = apiClient({ clientId: "portal", redirectUri: CALLBACK, authorizationEndpoint });
    const options = { ...base(portal), credential };
    const { url, login } = await beginLogin(options);
    const { callbackUrl } = portal.emulator.login({ url, userId: "ada" });
    portal.emulator.faults.add(fault);
    const error = { name: "LoginRequiredError", code: "login_outcome_unknown" };
    expect(await rejectionOf(completeLogin({ ...options, callbackUrl, login }))).toMatchObject(error);
    expect(portal.emulator.journal.tokenRequests()).toHaveLength(1);
  });
});
