// A small service for tests of time and order: the test answers its token requests.
import "../support/load-at-once.js";
import {
  type AccessToken,
  type ConnectorOptions,
  type CreateAuthOptions,
  createConnector,
  type MachineCredential,
  serviceAccount,
  servicePlugin,
  type Variant,
} from "../../src/index.js";
import { BASE_URL, type RecordedAuth, recordedAuth } from "../support/auth.js";
import { steppedClock } from "../support/clock.js";
import { tokenAnswer } from "../support/fetch.js";
import { settle } from "../support/wait.js";

export interface SeenTokenRequest {
  readonly tenantId: string;
  readonly signal: AbortSignal;
  /** Answers the request. An Error stands for a network fault. */
  readonly answer: (response: Response | Error) => void;
}

export interface FakeServiceOptions {
  readonly variant: Variant;
  readonly lifetimeSeconds?: number;
  /** Called for each token request. By default each is answered with a token at once. */
  readonly onTokenRequest?: (request: SeenTokenRequest) => void;
}

export interface FakeService {
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>;
  readonly tokenRequests: SeenTokenRequest[];
  /** The most token requests of one tenant that were in flight at once. */
  readonly mostInFlight: () => number;
  readonly credential: MachineCredential;
  /** Makes an answer with a fresh token of a tenant. */
  readonly token: (tenantId: string) => Response;
}

export function fakeService(options: FakeServiceOptions): FakeService {
  const { variant, lifetimeSeconds = 3_600 } = options;
  let issued = 0;
  const tokenRequests: SeenTokenRequest[] = [];
  const inFlight = new Map<string, number>();
  let most = 0;

  const token = (tenantId: string) => tokenAnswer(`token-${tenantId}-${++issued}`, lifetimeSeconds);

  const requestToken = (tenantId: string, signal: AbortSignal) => {
    const count = (by: number) =>
      inFlight.set(tenantId, (inFlight.get(tenantId) ?? 0) + by).get(tenantId) ?? 0;
    most = Math.max(most, count(1));
    return new Promise<Response>((resolve, reject) => {
      let isOver = false;
      const over = () => {
        if (!isOver) count(-1);
        isOver = true;
      };
      signal.addEventListener("abort", () => {
        over();
        reject(signal.reason);
      });
      const answer = (response: Response | Error) => {
        over();
        if (response instanceof Error) reject(response);
        else resolve(response);
      };
      const request = { tenantId, signal, answer };
      tokenRequests.push(request);
      if (options.onTokenRequest === undefined) answer(token(tenantId));
      else options.onTokenRequest(request);
    });
  };

  return {
    tokenRequests,
    mostInFlight: () => most,
    token,
    credential: variant === "A" ? unsignedPlugin() : accountOfTenant(),
    async fetch(url, init = {}) {
      const { pathname } = new URL(url);
      const signal = init.signal ?? new AbortController().signal;
      signal.throwIfAborted();
      if (pathname === "/v1/auth/token")
        return requestToken(
          JSON.parse(String(init.body)).client_id.slice("account-".length),
          signal,
        );
      const [, , , tenantId = ""] = pathname.split("/");
      return requestToken(tenantId, signal);
    },
  };
}

/** Returns a function that gets a token of a tenant from one connector to a service. */
export function tokensOf(
  { credential, fetch }: Pick<FakeService, "credential" | "fetch">,
  options: Omit<ConnectorOptions, "credentials" | "fetch">,
): (tenantId: string) => Promise<AccessToken> {
  const connector = createConnector({ ...options, credentials: [credential], fetch });
  return async (tenantId) =>
    (await connector.connect({ baseUrl: BASE_URL, tenantId })).auth.getAccessToken();
}

export interface AnsweredAuth extends RecordedAuth {
  readonly service: FakeService;
  /** The token requests that have no answer yet. */
  readonly pending: SeenTokenRequest[];
  /** Answers them, by default with a token each, and does what follows from it. */
  answer(response?: () => Response | Error): Promise<void>;
  /** The number of token requests, after all work that needs no time. */
  requested(): Promise<number>;
  /** Gets a token and moves the clock to its expiry, or to an instant before. */
  untilExpiry(beforeMs?: number): Promise<void>;
}

/** An Auth whose token requests wait until the test answers them. */
export function answeredAuth(
  variant: Variant,
  options: Partial<CreateAuthOptions> = {},
): AnsweredAuth {
  const clock = steppedClock();
  const pending: SeenTokenRequest[] = [];
  const onTokenRequest = (one: SeenTokenRequest) => void pending.push(one);
  const service = fakeService({ variant, onTokenRequest });
  const { credential, fetch } = service;
  const recorded = recordedAuth({ credential, fetch, clock, ...options });
  const answer: AnsweredAuth["answer"] = async (response) => {
    await settle();
    for (const one of pending.splice(0)) one.answer(response?.() ?? service.token(one.tenantId));
    await settle();
  };
  const requested = async () => {
    await settle();
    return service.tokenRequests.length;
  };
  const untilExpiry = async (beforeMs = 0) => {
    const first = recorded.auth.getAccessToken();
    await answer();
    clock.advance((await first).expiresAt - clock.now() - beforeMs);
  };
  return { ...recorded, clock, service, pending, answer, requested, untilExpiry };
}

/**
 * Its signer makes no real signature, which would take real time. This service does not check
 * signatures.
 */
function unsignedPlugin(): MachineCredential<"A"> {
  const privateKey = { keyId: "key-1", sign: () => new Uint8Array(256) };
  return servicePlugin({ clientId: "plugin", privateKey });
}

function accountOfTenant(): MachineCredential<"B"> {
  return serviceAccount(({ tenantId }) => ({
    clientId: `account-${tenantId}`,
    clientSecret: "secret-of-the-account",
  }));
}
