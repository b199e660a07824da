/**
 * oidc-provider on loopback, as an independent judge of the client: for machine tokens and for a
 * login.
 */
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { Provider, type ProviderError } from "oidc-provider";
import { FormBrowser } from "../emulator/form-browser.js";

export interface Served {
  readonly url: string;
  handle(listener: RequestListener): void;
  close(): Promise<void>;
}

/** Listens before the handler exists, since an issuer is named by its port. */
async function serve(): Promise<Served> {
  let current: RequestListener = (_request, response) => response.writeHead(503).end();
  const server = createServer((request, response) => current(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    handle(listener) {
      current = listener;
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function startProvider(configuration: Readonly<Record<string, unknown>>) {
  const served = await serve();
  const refusals: string[] = [];
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const provider = new Provider(served.url, {
    // Without keys and cookies of its own it warns that its defaults are for development only.
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), use: "sig", alg: "RS256" }] },
    cookies: { keys: ["a key for this test"] },
    ...configuration,
  });
  provider.on("grant.error", (_context, error: ProviderError) => {
    refusals.push(`${error.error}: ${error.error_detail ?? error.message}`);
  });
  served.handle(provider.callback());
  return { served, provider, refusals };
}

export interface TokenServer extends Pick<Served, "url" | "close"> {
  /** The provider's reasons for its refusals, oldest first; the client does not get them. */
  readonly refusals: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

export interface TokenServerOptions {
  readonly tokenPath: string;
  readonly client: Fields;
  readonly method: "private_key_jwt" | "client_secret_post";
  /** Runs after the provider's own checks of an assertion, and may throw. */
  readonly checkAssertion?: (claims: Fields, header: Fields) => void;
}

/**
 * oidc-provider at a token path of our choice, with one client that may only use
 * client_credentials.
 */
export async function startTokenServer(options: TokenServerOptions): Promise<TokenServer> {
  const { tokenPath, client, method, checkAssertion } = options;
  const grant = { grant_types: ["client_credentials"], redirect_uris: [], response_types: [] };
  const { served, refusals } = await startProvider({
    routes: { token: tokenPath },
    clientAuthMethods: [method],
    clients: [{ ...grant, token_endpoint_auth_method: method, ...client }],
    features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
    ttl: { ClientCredentials: 600 },
    assertJwtClientAuthClaimsAndHeader: (_context: unknown, claims: Fields, header: Fields) =>
      checkAssertion?.(claims, header),
  });
  return { url: served.url, refusals, close: () => served.close() };
}

export interface LoginProvider extends Pick<TokenServer, "refusals" | "close"> {
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  /** The account of an access token; `undefined` if the token is not valid. */
  ownerOf(accessToken: string): Promise<string | undefined>;
}

export interface LoginProviderOptions {
  readonly clients: readonly Readonly<Record<string, unknown>>[];
  readonly scope: string;
  readonly accountId: string;
  /** Decides the consent of the person. */
  readonly consents: () => boolean;
}

const interactionPath = "/interaction/";

/** oidc-provider as the authorization server of a login that signs every visitor in. */
export async function startLoginProvider(options: LoginProviderOptions): Promise<LoginProvider> {
  const grant = { grant_types: ["authorization_code", "refresh_token"], response_types: ["code"] };
  const { served, provider, refusals } = await startProvider({
    clients: options.clients.map((client) => ({ ...grant, ...client })),
    clientAuthMethods: ["none", "client_secret_post"],
    scopes: [options.scope],
    features: { devInteractions: { enabled: false } },
    interactions: {
      url: (_context: unknown, { uid }: { readonly uid: string }) => interactionPath + uid,
    },
    findAccount: (_context: unknown, accountId: string) => ({
      accountId,
      claims: () => ({ sub: accountId }),
    }),
    pkce: { required: () => true },
    // Variant B returns a refresh token for every login, without OpenID Connect's scope for it.
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
    ttl: {
      AccessToken: 3600,
      AuthorizationCode: 60,
      Grant: 3600,
      Interaction: 60,
      RefreshToken: 3600,
      Session: 60,
    },
  });
  const answer = provider.callback();
  served.handle((request, response) => {
    if (!request.url?.startsWith(interactionPath)) return answer(request, response);
    interact(provider, options, request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  return {
    authorizationEndpoint: `${served.url}/auth`,
    tokenEndpoint: `${served.url}/token`,
    refusals,
    ownerOf: async (accessToken) => (await provider.AccessToken.find(accessToken))?.accountId,
    close: () => served.close(),
  };
}

/** Does what a person would do on the two pages of a login. */
async function interact(
  provider: Provider,
  { accountId, scope, consents }: LoginProviderOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { prompt, params } = await provider.interactionDetails(request, response);
  if (prompt.name === "login")
    return provider.interactionFinished(request, response, { login: { accountId } });
  if (!consents())
    return provider.interactionFinished(request, response, { error: "access_denied" });
  const grant = new provider.Grant({ accountId, clientId: params.client_id });
  grant.addOIDCScope(scope);
  return provider.interactionFinished(request, response, {
    consent: { grantId: await grant.save() },
  });
}

/** A request as the front received it. */
export interface Seen {
  readonly contentType: string | undefined;
  readonly fields: unknown;
}

interface JsonToFormOptions {
  readonly target: string;
  readonly seen: Seen[];
  /** The fields of a success that the client gets; if absent, all of them. */
  readonly only?: () => readonly string[] | undefined;
}

/**
 * A front that undoes Variant B's two differences from RFC 6749 and changes nothing else: it posts
 * the JSON fields to `target` as a form, and adds the grant_type that a code exchange lacks
 * (section 4.2). A body that is not a JSON object is posted as it is.
 */
export async function serveFront({ target, seen, only }: JsonToFormOptions): Promise<Served> {
  const front = await serve();
  front.handle(async (request, response) => {
    if (request.method !== "POST" || request.url !== "/v1/auth/token")
      return response.writeHead(404).end();
    const contentType = request.headers["content-type"];
    const body = await text(request);
    const fields = contentType === "application/json" ? fieldsOf(body) : undefined;
    seen.push({ contentType, fields });
    const form = fields && new URLSearchParams(fields);
    if (form?.has("code") && !form.has("grant_type")) form.set("grant_type", "authorization_code");
    const { authorization } = request.headers;
    const headers = {
      "content-type": form ? "application/x-www-form-urlencoded" : (contentType ?? ""),
      ...(authorization !== undefined && { authorization }),
    };
    const answer = await fetch(target, { method: "POST", headers, body: form?.toString() ?? body });
    const answered = (await answer.json()) as Record<string, unknown>;
    const kept = (answer.ok ? only?.() : undefined) ?? Object.keys(answered);
    const shown = Object.entries(answered).filter(([name]) => kept.includes(name));
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(JSON.stringify(Object.fromEntries(shown)));
  });
  return front;
}

function fieldsOf(body: string): Record<string, string> | undefined {
  try {
    const fields: unknown = JSON.parse(body);
    const isObject = typeof fields === "object" && fields !== null && !Array.isArray(fields);
    return isObject ? (fields as Record<string, string>) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Walks through a login as a browser does, with its cookies, and returns the callback URL without
 * fetching it.
 */
export async function walkToCallback(url: string, redirectUri: string): Promise<string> {
  const browser = new FormBrowser({ fetch });
  let at = url;
  // A login takes seven steps.
  for (let step = 0; step < 20; step++) {
    const { location, response, html } = await browser.open(at);
    if (location === "") throw new Error(`${response.status} at ${at}: ${html}`);
    at = new URL(location, at).href;
    if (at.startsWith(`${redirectUri}?`)) return at;
  }
  throw new Error("no callback after 20 steps");
}
