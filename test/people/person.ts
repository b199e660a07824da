// A person who has logged in, and what their Auth was given.
import {
  apiClient,
  beginLogin,
  completeLogin,
  memoryStore,
  type PersonAuth,
  type ServiceEvent,
  type TokenStore,
} from "../../src/index.js";
import { type SteppedClock, steppedClock } from "../support/clock.js";
import { type LoginServer, loginServer } from "./login-server.js";

export const client = {
  clientId: "portal",
  redirectUri: "https://portal.example/callback",
  authorizationEndpoint: "https://service.example/authorize",
};

export interface LoggedIn {
  readonly auth: PersonAuth<"B">;
  readonly server: LoginServer;
  readonly clock: SteppedClock;
  readonly store: TokenStore;
  readonly events: ServiceEvent[];
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
  const store = given.store ?? memoryStore({ now: clock.now });
  const events: ServiceEvent[] = [];
  const options = {
    baseUrl: "https://service.example",
    tenantId: "acme",
    credential: apiClient({ ...client, ...given.settings }),
    person: "session-1",
    store,
    fetch: server.fetch,
    now: clock.now,
    onEvent: (event: ServiceEvent) => void events.push(event),
    ...given.options,
  };
  const { login } = await beginLogin(options);
  const callbackUrl = `${client.redirectUri}?code=the-code&state=${login.state}`;
  const auth = await completeLogin({ ...options, login, callbackUrl });
  return { auth, server, clock, store, events, options };
}
