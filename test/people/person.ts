// A token endpoint of Variant B with rotating refresh tokens, and a person who has logged in there.
import {
  apiClient,
  beginLogin,
  completeLogin,
  memoryStore,
  type PendingLogin,
  type PersonAuth,
  type TokenStore,
} from "../../src/index.js";
import { type SteppedClock, steppedClock } from "../support/clock.js";
import { type ScriptedFetch, scriptedFetch } from "../support/fetch.js";

type Fault = (body: Record<string, string>) => Response | undefined | Promise<Response | undefined>;

export interface LoginServer {
  readonly fetch: ScriptedFetch;
  /** The bodies of the refresh requests. */
  readonly refreshes: Record<string, string>[];
  readonly codes: Record<string, string>[];
  /** Returns a response instead of the server's, before or after the server has committed. */
  before?: Fault | undefined;
  after?: Fault | undefined;
  /** Whether a refresh returns a new refresh token. */
  rotates: boolean;
}

export function loginServer(): LoginServer {
  let issued = 0;
  let live = "";
  const server: LoginServer = {
    refreshes: [],
    codes: [],
    rotates: true,
    fetch: scriptedFetch(async ({ body }) => {
      const fields = JSON.parse(body) as Record<string, string>;
      const isRefresh = fields.grant_type === "refresh_token";
      (isRefresh ? server.refreshes : server.codes).push(fields);
      const early = await server.before?.(fields);
      if (early !== undefined) return early;
      if (isRefresh && fields.refresh_token !== live)
        return Response.json({ error: "invalid_grant" }, { status: 400 });
      issued++;
      const renewed = !isRefresh || server.rotates;
      if (renewed) live = `refresh-token-${issued}`;
      const late = await server.after?.(fields);
      if (late !== undefined) return late;
      return Response.json({
        access_token: `access-token-${issued}`,
        ...(renewed ? { refresh_token: live } : {}),
      });
    }),
  };
  return server;
}

export const client = {
  clientId: "portal",
  redirectUri: "https://portal.example/callback",
  authorizationEndpoint: "https://service.example/authorize",
};

/** A promise that resolves when `release` is called. */
export function latch(): { promise: Promise<void>; release: () => void } {
  let release = () => {};
  const promise = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { promise, release: () => release() };
}

/** Begins a login and comes back from the authorization endpoint. */
export async function backFromLogin(
  options: Parameters<typeof beginLogin>[0],
  query: (state: string) => string = (state) => `code=the-code&state=${state}`,
): Promise<{ login: PendingLogin; callbackUrl: string }> {
  const { login } = await beginLogin(options);
  return { login, callbackUrl: `${client.redirectUri}?${query(login.state)}` };
}

interface LoggedIn {
  readonly auth: PersonAuth<"B">;
  readonly server: LoginServer;
  readonly clock: SteppedClock;
  readonly store: TokenStore;
  readonly options: Parameters<typeof beginLogin>[0] & {
    readonly person: string;
    readonly store: TokenStore;
  };
}

export async function loggedIn(
  given: { store?: TokenStore; settings?: object; options?: object } = {},
): Promise<LoggedIn> {
  const clock = steppedClock();
  const server = loginServer();
  const store = given.store ?? memoryStore({ clock });
  const options = {
    baseUrl: "https://service.example",
    tenantId: "acme",
    credential: apiClient({ ...client, ...given.settings }),
    person: "session-1",
    store,
    fetch: server.fetch,
    clock,
    ...given.options,
  };
  const auth = await completeLogin({ ...options, ...(await backFromLogin(options)) });
  return { auth, server, clock, store, options };
}
