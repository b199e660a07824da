// A hostile token endpoint echoes codes, verifiers and refresh tokens: no output of the core shows them.
import { describe, expect, test } from "vitest";
import {
  apiClient,
  beginLogin,
  completeLogin,
  memoryStore,
  redeemLaunch,
  type ServiceEvent,
  userInterfacePlugin,
} from "../../src/index.js";
import { steppedClock } from "../support/clock.js";
import { scriptedFetch } from "../support/fetch.js";
import { pkcs8, rsaKey } from "../support/keys.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";

const code = "canary-code-3f1b9c7d5e";
const codeVerifier = "canary-verifier-canary-verifier-canary-verifier";
const clientSecret = "canary-client-secret-77aa";
const accessToken = "canary-access-token-11bb";
const refreshToken = "canary-refresh-token-22cc";
const planted = [code, codeVerifier, clientSecret, accessToken, refreshToken, "eyJhbGciOi"];

const valuesOf = (body: string): string[] =>
  body.startsWith("{") ? Object.values(JSON.parse(body)) : [...new URLSearchParams(body).values()];

const echoes = [
  { name: "the whole body", echo: (body: string) => [body] },
  { name: "each value", echo: valuesOf },
  {
    name: "the half of each value",
    echo: (body: string) => valuesOf(body).map((value) => value.slice(0, value.length / 2)),
  },
];
const places = [
  { place: "error_description", of: (echo: string) => ({ error: "invalid_grant", error_description: echo }) },
  { place: "error", of: (echo: string) => ({ error: echo }) },
  { place: "error_uri", of: (echo: string) => ({ error: "invalid_client", error_uri: echo }) },
  { place: "a field's name", of: (echo: string) => ({ [echo]: "x" }) },
];
const table = echoes.flatMap((one) => places.map((other) => ({ ...one, ...other })));

function expectNone(...outputs: unknown[]): void {
  const text = outputs.map((output) => shown(output)).join("\n");
  const found = planted.filter((secret) => text.includes(secret) || text.includes(secret.slice(0, 12)));
  expect(found).toEqual([]);
}

/** Runs once for each value that the endpoint can echo. */
async function eachEcho(
  echo: (body: string) => string[],
  of: (echo: string) => object,
  run: (fetch: ReturnType<typeof scriptedFetch>, onEvent: (event: ServiceEvent) => void) => Promise<unknown>,
): Promise<void> {
  for (let index = 0; index < 8; index++) {
    const events: ServiceEvent[] = [];
    const fetch = scriptedFetch(({ body }) =>
      Response.json(of(echo(body)[index] ?? "none"), { status: 400 }),
    );
    const error = await run(fetch, (event) => void events.push(event));
    expectNone(error, events);
  }
}

describe.each(table)("an echo of $name in $place by the token endpoint", ({ echo, of }) => {
  test("of a launch is not shown", async () => {
    await eachEcho(echo, of, (fetch, onEvent) => {
      const credential = userInterfacePlugin({ clientId: "planner", privateKey: pkcs8(rsaKey()) });
      const options = { baseUrl: "https://service.example", tenantId: "acme", credential, fetch, onEvent };
      return rejectionOf(redeemLaunch({ ...options, code, codeVerifier }));
    });
  });

  test("of a login or a refresh is not shown", async () => {
    await eachEcho(echo, of, async (refuse, onEvent) => {
      const clock = steppedClock();
      let refuses = true;
      const fetch = (url: string, init?: RequestInit) =>
        refuses
          ? refuse(url, init)
          : Promise.resolve(Response.json({ access_token: accessToken, refresh_token: refreshToken }));
      const options = {
        baseUrl: "https://service.example",
        credential: apiClient({
          clientId: "portal",
          clientSecret,
          redirectUri: "https://portal.example/callback",
          authorizationEndpoint: "https://service.example/authorize",
        }),
        store: memoryStore({ now: clock.now }),
        now: clock.now,
        fetch,
        onEvent,
      };
      const logIn = async (suffix: string) => {
        const begun = await beginLogin(options);
        const login = { ...begun.login, codeVerifier };
        const callbackUrl = `https://portal.example/callback?code=${code}${suffix}&state=${login.state}`;
        return completeLogin({ ...options, login, callbackUrl });
      };
      const refused = await rejectionOf(logIn("1"));
      refuses = false;
      const auth = await logIn("2");
      refuses = true;
      const token = await auth.getAccessToken();
      clock.advance(3_600_000);
      return [refused, auth, { ...token }, await rejectionOf(auth.getAccessToken())];
    });
  });
});
