// Two customers' host applications are at a.host.example and b.host.example. Browsers partition
// cookies by site (CHIPS), not by origin, so a plugin in a frame of either has the same cookies:
// the page of one customer frames the plugin and is around a session of the other, where it can
// lure the person into clicks (RFC 9700 section 4.16).
import { expect, test } from "vitest";
import { launching, loginCredential, rig } from "../backend/rig.js";

const hosts = ["https://a.host.example", "https://b.host.example"] as const;

function twoHosts(cookie: boolean) {
  const [hostOrigin, other] = hosts;
  const deployments = [
    { ...launching(), hostOrigin, login: loginCredential() },
    { ...launching(), hostOrigin: other },
  ];
  const parts = rig({ deployments, session: { cookie } });
  /**
   * What the page asks when it starts without a launch, with the embedding origin that the browser
   * names.
   */
  const resume = (hostOrigin?: string) => parts.browser.post("/auth/session", { hostOrigin });
  return { ...parts, resume };
}

/**
 * Expects that a page gets its session where it began, and nowhere else, whatever it says of that.
 */
async function expectOnlyAt(
  own: string | undefined,
  { resume }: ReturnType<typeof twoHosts>,
): Promise<void> {
  for (const other of [...hosts, undefined, "null", "undefined", ""].filter((host) => host !== own))
    expect((await resume(other)).status, String(other)).toBe(204);
  expect((await resume(own)).status).toBe(200);
}

test.each(hosts)(
  "the session of a launch at %s continues there and nowhere else",
  async (hostOrigin) => {
    const parts = twoHosts(true);
    expect(
      (await parts.browser.post("/auth/launch", { ...parts.launchBody(), hostOrigin })).status,
    ).toBe(200);
    await expectOnlyAt(hostOrigin, parts);
  },
);

test.each([{ cookie: true }, { cookie: false }])(
  "the session of a login begins and continues on a page of its own, and in no frame, with %j",
  async ({ cookie }) => {
    const parts = twoHosts(cookie);
    await parts.login();
    await expectOnlyAt(undefined, parts);
    if (cookie) await expectOnlyAt(undefined, parts);
  },
);
