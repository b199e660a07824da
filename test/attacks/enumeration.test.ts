// Enumeration of customers (OWASP ASVS 5, 6.3.8): strangers ask for tenants, and compare the answers.
import { expect, test, vi } from "vitest";
import { apiClient, userInterfacePlugin } from "../../src/index.js";
import { HOST, launching, loginCredential, type Rig, rig, SERVICE } from "../backend/rig.js";

const shownAs = async (answer: Response) => [answer.status, [...answer.headers], await answer.text()];

/** Tenants of all kinds. `acme` works. */
const world = (): Rig => {
  const parts: Rig = rig({
    deployments: [
      { ...launching(), login: loginCredential() },
      { ...launching(), tenantId: "launch-only" },
      {
        ...launching(),
        tenantId: "without",
        launch: userInterfacePlugin(() => undefined),
        login: apiClient(() => undefined),
      },
      {
        ...{ tenantId: "mistaken", baseUrl: SERVICE, hostOrigin: HOST },
        launch: userInterfacePlugin(() => ({ clientId: "", privateKey: "none" })),
        login: loginCredential({ redirectUri: "https://elsewhere.example/auth/callback" }),
      },
    ],
    fetch: async (url, init) => {
      await new Promise((resolve) => setTimeout(resolve, 60));
      return parts.emulator.fetch(url, init);
    },
  });
  return parts;
};

test("a launch of an unknown tenant or host is answered like one whose code is refused, in like time, also when repeated", async () => {
  const { browser, told } = world();
  const timed = async (tenantId: string, hostOrigin: string) => {
    const startedAt = performance.now();
    const body = { code: `made-up-${tenantId}`, codeVerifier: "v".repeat(43), tenantId, hostOrigin };
    const answer = await shownAs(await browser.post("/auth/launch", body));
    return { answer, ms: performance.now() - startedAt };
  };
  const known = await timed("acme", HOST);
  expect(known.answer[0]).toBe(401);
  const others = [
    ["unknown", HOST],
    ["acme", "https://unknown.example"],
    ["without", HOST],
    ["mistaken", HOST],
    ["acme", HOST],
  ];
  for (const [tenantId = "", hostOrigin = ""] of [...others, ...others]) {
    const { answer, ms } = await timed(tenantId, hostOrigin);
    expect(answer, `${tenantId} ${hostOrigin}`).toEqual(known.answer);
    expect(ms).toBeGreaterThan(50);
  }
  const { error } = told.find(({ error }) => String(error).includes("unknown.example")) ?? {};
  expect(error).toMatchObject({ message: expect.stringContaining("add it to the option deployments") });
});

test("a login of an unknown tenant is answered like one of a known tenant that cannot begin, and onError is told which", async () => {
  const { browser, told } = world();
  const ask = async (tenant: string) => shownAs(await browser.get(`/auth/login?tenant=${tenant}`));
  const unknown = await ask("unknown");
  expect(unknown[0]).toBe(404);
  for (const tenant of ["launch-only", "without", "mistaken", "..", "x".repeat(300)])
    expect(await ask(tenant), tenant).toEqual(unknown);
  expect(told.map(({ error }) => (error as { code: string }).code)).toEqual([
    ...["credential_missing", "credential_missing", "credential_missing", "option_invalid"],
    ...["credential_missing", "credential_missing"],
  ]);
  expect(String(told[0]?.error)).toContain("the tenant unknown");
  expect((await browser.get("/auth/login?tenant=acme")).status).toBe(302);
});

test("without onError a mistake in the configuration is printed, and a flood of unknown tenants prints one line", async () => {
  const printed = vi.spyOn(console, "error").mockImplementation(() => {});
  const { another } = rig();
  const backend = another({ onError: undefined });
  for (let at = 0; at < 20; at++)
    await backend(new Request(`https://planner.example/auth/login?tenant=tenant-${at}`));
  expect(printed.mock.calls).toEqual([
    ["bivariant/backend, login:", expect.objectContaining({ code: "credential_missing" })],
  ]);
  printed.mockRestore();
});
