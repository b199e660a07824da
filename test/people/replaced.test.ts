// Two logins under one person name, one after the other: neither is mistaken for the other.
import { describe, expect, test } from "vitest";
import { rememberLogin } from "../../src/cli/stored-login.js";
import {
  apiClient,
  beginLogin,
  completeLogin,
  memoryStore,
  type PersonAuth,
  resumeAuth,
  type TokenStore,
} from "../../src/index.js";
import { steppedClock } from "../support/clock.js";
import { rejectionOf } from "../support/wait.js";
import { client } from "./person.js";

const hourMs = 3_600_000;
const grantKey = JSON.stringify(["grant", "B", "https://service.example", "", "portal", "cli"]);

/** Logins under one name, in a store whose methods can be made to fail. */
function machine() {
  const clock = steppedClock();
  const inner = memoryStore({ clock });
  const down = new Set<keyof TokenStore>();
  const reject = () => Promise.reject(new Error("redis://user:password@host is down"));
  const store: TokenStore = {
    ...inner,
    set: (key, ...rest) =>
      down.has("set") && key.startsWith('["grant"') ? reject() : inner.set(key, ...rest),
    delete: (key) => (down.has("delete") ? reject() : inner.delete(key)),
  };
  let refreshes = 0;
  const options = {
    baseUrl: "https://service.example",
    credential: apiClient(client),
    person: "cli",
    store,
    clock,
    fetch: async (_url: string, { body }: RequestInit = {}) => {
      const { code, refresh_token = "" } = JSON.parse(String(body));
      const who = code ?? `${refresh_token.split("-")[2]}-${++refreshes}`;
      const tokens = { access_token: `access-of-${who}`, refresh_token: `refresh-of-${who}` };
      return Response.json(tokens);
    },
  };
  async function logIn(who: string): Promise<PersonAuth<"B">> {
    clock.advance(1_000);
    const { login } = await beginLogin(options);
    const callbackUrl = `${client.redirectUri}?code=${who}&state=${login.state}`;
    return completeLogin({ ...options, login, callbackUrl });
  }
  return { clock, store, inner, down, options, logIn };
}

async function tokenOf(auth: PersonAuth | undefined): Promise<string | undefined> {
  return (await auth?.getAccessToken())?.value;
}

describe("a login under the name of an earlier login", () => {
  test("replaces it, also if the store cannot delete", async () => {
    const { clock, down, options, logIn } = machine();
    await logIn("alice");
    down.add("delete");
    const bob = await logIn("bob");
    expect(await tokenOf(await resumeAuth(options))).toBe("access-of-bob");
    clock.advance(hourMs);
    expect(await tokenOf(bob)).toBe("access-of-bob-1");
  });

  test("that could not be stored is stored at its first renewal, and never returns tokens of the earlier login", async () => {
    const { clock, down, options, logIn } = machine();
    await logIn("alice");
    down.add("set");
    const bob = await logIn("bob");
    expect(await tokenOf(bob)).toBe("access-of-bob");
    clock.advance(hourMs);
    const message = "The store failed. See the cause.";
    const failed = { code: "store_unavailable", message };
    expect(await rejectionOf(bob.getAccessToken())).toMatchObject(failed);
    down.clear();
    expect(await tokenOf(bob)).toBe("access-of-bob-1");
    expect(await tokenOf(await resumeAuth(options))).toBe("access-of-bob-1");
  });

  test("that could not be stored does not replace a later one", async () => {
    const { clock, down, options, logIn } = machine();
    down.add("set");
    const alice = await logIn("alice");
    down.clear();
    await logIn("bob");
    clock.advance(hourMs);
    expect(await rejectionOf(alice.getAccessToken())).toMatchObject({ code: "login_expired" });
    expect(await tokenOf(await resumeAuth(options))).toBe("access-of-bob-1");
  });

  test("ends the earlier one at its token's expiry, in every process, and is kept when that is forgotten", async () => {
    const { clock, options, logIn } = machine();
    const alice = await logIn("alice");
    const elsewhere = await resumeAuth(options);
    await logIn("bob");
    await alice.forget();
    expect(await tokenOf(await resumeAuth(options))).toBe("access-of-bob");
    clock.advance(hourMs);
    for (const auth of [alice, elsewhere])
      expect(await rejectionOf(tokenOf(auth))).toMatchObject({ code: "login_expired" });
    expect(await tokenOf(await resumeAuth(options))).toBe("access-of-bob-1");
  });

  test.each(["forgotten", "refused"])(
    "is kept when it is completed while the earlier one is %s",
    async (how) => {
      const { clock, store, inner, options, logIn } = machine();
      const refusing = async () => Response.json({ error: "invalid_grant" }, { status: 400 });
      await logIn("alice");
      const alice = await resumeAuth({ ...options, fetch: refusing });
      clock.advance(hourMs);
      let isLater = false;
      const logInFirst = async (key: string) => {
        if (isLater || !key.startsWith('["grant"')) return;
        isLater = true;
        await logIn("bob");
      };
      store.delete = async (key) => logInFirst(key).then(() => inner.delete(key));
      const { set } = inner;
      store.set = async (key, value, given) => {
        if (value === "") await logInFirst(key);
        return set(key, value, given);
      };
      if (how === "forgotten") await alice?.forget();
      else expect(await rejectionOf(tokenOf(alice))).toHaveProperty("code");
      expect(isLater).toBe(true);
      expect(await tokenOf(await resumeAuth(options))).toBe("access-of-bob");
    },
  );

  test("is forgotten in a store that is full, which still deletes", async () => {
    const { store, options, logIn } = machine();
    await logIn("alice");
    const alice = await resumeAuth(options);
    store.set = async () => Promise.reject(new Error("out of memory"));
    await alice?.forget();
    expect(await resumeAuth(options)).toBeUndefined();
  });

  test("replaces a corrupt entry, which can also be forgotten", async () => {
    const { clock, inner, down, options, logIn } = machine();
    down.add("set");
    const bob = await logIn("bob");
    down.clear();
    await inner.set(grantKey, "torn");
    clock.advance(hourMs);
    expect(await tokenOf(bob)).toBe("access-of-bob-1");
    await inner.set(grantKey, "torn");
    clock.advance(hourMs);
    expect(await rejectionOf(bob.getAccessToken())).toMatchObject({ code: "login_expired" });
    await bob.forget();
    expect(await resumeAuth(options)).toBeUndefined();
  });

  test("that could not be stored is reported as an error by the command line", async () => {
    const { down, store, options, logIn } = machine();
    const person = { ...options, clientId: client.clientId, clientSecret: undefined };
    await rememberLogin(person, await logIn("alice"));
    down.add("set");
    const bob = await logIn("bob");
    const error = await rejectionOf(rememberLogin(person, bob));
    expect(error).toMatchObject({ name: "StoreError", code: "store_unavailable" });
    expect((await store.get(grantKey))?.value).toContain("access-of-alice");
  });
});
