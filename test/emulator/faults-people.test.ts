// What our own client makes of faults where a person is behind the request: nothing that may be spent is sent twice.
import { describe, expect, test } from "vitest";
import type { Fault } from "../../src/emulator/index.js";
import {
  apiClient,
  beginLogin,
  completeLogin,
  type PersonAuth,
  redeemLaunch,
  userInterfacePlugin,
} from "../../src/index.js";
import { HELD_LIMIT_MS, heldTimeLimit } from "../support/clock.js";
import { rejectionOf } from "../support/wait.js";
import { LaunchedPlugin } from "./launched-plugin.js";
import { pluginKey } from "./plugin-client.js";
import { CALLBACK, Portal } from "./portal.js";
import { ways } from "./two-ways.js";

const pem = () => pluginKey.privateKey.export({ type: "pkcs8", format: "pem" }).toString();

/** However the answer is lost, the client cannot tell it from another way of losing it. */
const lost: { name: string; fault: Fault; isSpent: boolean }[] = [
  { name: "a lost answer", fault: { name: "lost-answer" }, isSpent: true },
  { name: "a reset before the token", fault: { name: "reset" }, isSpent: false },
  { name: "a truncated answer", fault: { name: "truncated" }, isSpent: true },
  { name: "malformed JSON", fault: { name: "malformed-json" }, isSpent: true },
  {
    name: "a 504 after the commit",
    fault: { name: "status", status: 504, at: "after-commit" },
    isSpent: true,
  },
];

describe.each(ways)("$name", ({ open }) => {
  const base = ({ emulator, now }: LaunchedPlugin | Portal) => ({
    baseUrl: emulator.publicUrl,
    tenantId: "acme",
    now: () => now,
    timeoutMs: HELD_LIMIT_MS,
    ...(emulator.url === undefined && { fetch: emulator.fetch }),
  });

  test.each(lost)(
    "a launch: $name leaves the outcome unknown, and the code unsent",
    async ({ fault, isSpent }) => {
      const plugin = new LaunchedPlugin();
      await open(plugin.emulator);
      const code = plugin.launchedCode();
      const credential = userInterfacePlugin({ clientId: "reporter", privateKey: pem(), keyId: "key-1" });
      plugin.emulator.faults.add(fault);
      const redeem = () => redeemLaunch({ ...base(plugin), credential, ...code });
      expect(await rejectionOf(redeem())).toMatchObject({
        name: "RelaunchRequiredError",
        code: "launch_outcome_unknown",
      });
      expect(plugin.emulator.journal.tokenRequests({ grant: "authorization_code" })).toMatchObject([
        { fault: fault.name, clientId: "reporter" },
      ]);
      expect((await plugin.exchange(code)).status).toBe(isSpent ? 400 : 200);
    },
  );

  async function loggedIn(fault?: Fault): Promise<{ portal: Portal; completed: Promise<PersonAuth<"B">> }> {
    const portal = new Portal();
    await open(portal.emulator);
    const authorizationEndpoint = `${portal.emulator.publicUrl}/v1/auth/authorize`;
    const credential = apiClient({ clientId: "portal", redirectUri: CALLBACK, authorizationEndpoint });
    const options = { ...base(portal), now: () => portal.now, credential };
    const { url, login } = await beginLogin(options);
    const { callbackUrl } = portal.emulator.login({ url, userId: "ada" });
    if (fault !== undefined) portal.emulator.faults.add(fault);
    return { portal, completed: completeLogin({ ...options, callbackUrl, login }) };
  }

  test.each(lost)("a login: $name leaves the outcome unknown", async ({ fault }) => {
    const { portal, completed } = await loggedIn(fault);
    expect(await rejectionOf(completed)).toMatchObject({
      name: "LoginRequiredError",
      code: "login_outcome_unknown",
    });
    expect(portal.emulator.journal.tokenRequests()).toHaveLength(1);
  });

  test.each(lost.filter(({ fault }) => fault.name !== "status"))(
    "a refresh: $name leaves the outcome unknown, and the old refresh token unsent",
    async ({ fault }) => {
      const { portal, completed } = await loggedIn();
      const auth = await completed;
      portal.now += 3_600_000;
      portal.emulator.faults.add({ ...fault, match: { grant: "refresh_token", clientId: "portal" } });
      for (let round = 0; round < 2; round++) {
        expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code: "login_outcome_unknown" });
      }
      const asked = portal.emulator.journal.tokenRequests({ grant: "refresh_token" });
      expect(asked).toMatchObject([{ fault: fault.name, tenantId: "acme" }]);
    },
  );

  test("a refresh that was waited for too long is unknown too: the server committed it", async () => {
    const { expire } = heldTimeLimit();
    const { portal, completed } = await loggedIn();
    const auth = await completed;
    portal.now += 3_600_000;
    const handle = portal.emulator.faults.add({ name: "slow", delayMs: 600_000 });
    const rejection = rejectionOf(auth.getAccessToken());
    await expect.poll(() => handle.fired).toBe(1);
    expire();
    expect(await rejection).toMatchObject({ code: "login_outcome_unknown" });
    const [entry] = await portal.emulator.journal.waitFor({ fault: "slow" });
    expect(entry).toMatchObject({ grant: "refresh_token", status: 0 });
    expect(entry).not.toHaveProperty("rule");
  });
});
