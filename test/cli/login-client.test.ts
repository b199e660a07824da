// Which client logs in, with which secret, and for which tenant.
import { describe, expect, it } from "vitest";
import {
  clientSecret,
  type LoginDeployment,
  leaksOf,
  logIn,
  startLoginDeployment,
} from "./cli-deployment.js";
import { cli, type Environment } from "./command-line.js";

const loginSecret = "planted-login-secret-9876543210";

/** With a service account and a confidential API client beside the public one. */
async function start(): Promise<LoginDeployment> {
  const deployment = await startLoginDeployment({ variants: ["B"] });
  const { emulator } = deployment;
  emulator.registerServiceAccount({ clientId: "account", clientSecret, tenantId: "acme" });
  const redirectUris = ["http://127.0.0.1/callback"];
  emulator.registerApiClient({ clientId: "confidential", clientSecret: loginSecret, redirectUris });
  return deployment;
}

const id = "BIVARIANT_B_LOGIN_CLIENT_ID";
const secret = "BIVARIANT_B_LOGIN_CLIENT_SECRET";
const account = { BIVARIANT_B_CLIENT_ID: "account", BIVARIANT_B_CLIENT_SECRET: clientSecret };
const call = (env: Environment, ...args: string[]) => cli(["call", "listDevices", ...args], env);

describe("beside a service account", () => {
  it.each([
    { name: "a public client", ofLogin: { [id]: "portal" } },
    { name: "a confidential client", ofLogin: { [id]: "confidential", [secret]: loginSecret } },
  ])(
    "$name of its own logs in with its own secret only, and call can use either identity",
    async ({ ofLogin }) => {
      const deployment = await start();
      const env = { ...deployment.env, ...account, ...ofLogin };
      const { ended } = await logIn(deployment, env);
      expect(ended).toMatchObject({ code: 0 });
      expect(ended.stderr).toContain("--login");
      const clients = () => deployment.emulator.journal.tokenRequests().map(({ clientId }) => clientId);
      expect(clients()).toEqual([ofLogin[id]]);
      expect(await call(env)).toMatchObject({ code: 0 });
      expect(clients().at(-1)).toBe("account");
      expect(await call(env, "--login")).toMatchObject({ code: 0 });
      expect(clients()).toHaveLength(2);
    },
  );

  it("a client named by a flag is not sent the secret of the client in the environment", async () => {
    const deployment = await start();
    const env = { ...deployment.env, ...account };
    const { ended } = await logIn(deployment, env, "--b-client-id", "portal");
    expect(ended.code).toBe(0);
    expect(await call(env, "--b-client-id", "portal")).toMatchObject({ code: 0 });
    expect(await call(env)).toMatchObject({ code: 0 });
  });
});

describe("a confidential client that shares the settings of service accounts", () => {
  it("is told at its login to use --login, or settings of its own", async () => {
    const deployment = await start();
    const shared = { BIVARIANT_B_CLIENT_ID: "confidential", BIVARIANT_B_CLIENT_SECRET: loginSecret };
    const env = { ...deployment.env, ...shared };
    const { ended } = await logIn(deployment, env);
    expect(ended).toMatchObject({ code: 0 });
    const refused = await call(env);
    expect(refused).toMatchObject({ code: 3, stdout: "" });
    expect(ended.stderr).toContain("--login");
    expect(ended.stderr).toContain("BIVARIANT_B_LOGIN_CLIENT_ID");
    expect(leaksOf(refused, [loginSecret])).toEqual([]);
    expect(await call(env, "--login")).toMatchObject({ code: 0 });
  });
});

describe("an API client of its own, without a service account,", () => {
  const ofLogin = { BIVARIANT_B_CLIENT_ID: "", BIVARIANT_B_LOGIN_CLIENT_ID: "portal" };

  it("is the identity of call, which exits 3 without a login", async () => {
    const deployment = await start();
    const env = { ...deployment.env, ...ofLogin };
    const before = await call(env);
    expect(before).toMatchObject({ code: 3 });
    expect(before.stderr).toContain("Run bivariant login.");
    await logIn(deployment, env);
    expect(await call(env)).toMatchObject({ code: 0 });
  });

  it.each([
    { name: "a secret without a client id", changes: { [id]: "", [secret]: loginSecret }, says: id },
    {
      ...{ name: "a secret given twice", says: "is set twice" },
      changes: { [secret]: loginSecret, [`${secret}_FILE`]: "/dev/null" },
    },
  ])("exits 2 for $name", async ({ changes, says }) => {
    const env = { BIVARIANT_BASE_URL: "http://127.0.0.1:1", ...ofLogin, ...changes };
    const result = await cli(["login"], { ...env, BIVARIANT_B_AUTHORIZATION_ENDPOINT: "/x" });
    expect(result).toMatchObject({ code: 2, stdout: "" });
    expect(result.stderr).toContain(says);
    expect(result.stderr).not.toContain(loginSecret);
  });
});

describe("a login for another tenant", () => {
  it.each([
    { name: "without a tenant", at: "", later: ["--tenant", "acme"], says: "There is one without a tenant" },
    { name: "for a tenant", at: "acme", later: [], says: "There is one for the tenant acme" },
  ])("$name is mentioned, and not used", async ({ at, later, says }) => {
    const deployment = await start();
    const env = { ...deployment.env, BIVARIANT_VARIANT: "B", BIVARIANT_TENANT: "" };
    await logIn(deployment, { ...env, BIVARIANT_TENANT: at });
    const unnamed = await call(env, ...later);
    expect(unnamed).toMatchObject({ code: 2, stdout: "" });
    expect(unnamed.stderr).toContain(says);
    expect(unnamed.stderr).toContain("BIVARIANT_TENANT");
    const named = await call(env, "--login", ...later);
    expect(named).toMatchObject({ code: 3 });
    expect(named.stderr).toContain(says);
    // Logins of other clients are not mentioned.
    const other = await call(env, "--login", "--b-login-client-id", "confidential");
    expect(other.stderr).not.toContain("There is one");
    await cli(["login", "--logout"], { ...env, BIVARIANT_TENANT: at });
    expect((await call(env, "--login", ...later)).stderr).not.toContain("There is one");
  });
});
