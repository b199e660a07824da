/** oidc-provider at a token path of our choice, with one client that may only use client_credentials. */
import { generateKeyPairSync } from "node:crypto";
import { Provider, type ProviderError } from "oidc-provider";
import { type Served, serve } from "./serve.js";

export interface TokenServer extends Pick<Served, "close"> {
  readonly url: string;
  /** Why it refused, oldest first; never told to the client. */
  readonly refusals: readonly string[];
}

export interface TokenServerOptions {
  readonly tokenPath: string;
  readonly client: Readonly<Record<string, unknown>>;
  readonly method: "private_key_jwt" | "client_secret_post";
  /** Runs after the provider's own checks of an assertion. @throws what the request is refused with */
  readonly checkAssertion?: (
    assertion: {
      readonly claims: Readonly<Record<string, unknown>>;
      readonly header: Readonly<Record<string, unknown>>;
    },
    tokenUrl: string,
  ) => void;
}

export async function startTokenServer(options: TokenServerOptions): Promise<TokenServer> {
  const { tokenPath, client, method, checkAssertion } = options;
  const served = await serve();
  const refusals: string[] = [];
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const provider = new Provider(served.url, {
    routes: { token: tokenPath },
    clientAuthMethods: [method],
    clients: [
      {
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: [],
        token_endpoint_auth_method: method,
        ...client,
      },
    ],
    features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
    ttl: { ClientCredentials: 600 },
    // Its own keys and cookies have no part here; without them it warns that these are for development only.
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), use: "sig", alg: "RS256" }] },
    cookies: { keys: ["unused"] },
    assertJwtClientAuthClaimsAndHeader: (
      _context: unknown,
      claims: Readonly<Record<string, unknown>>,
      header: Readonly<Record<string, unknown>>,
    ) => checkAssertion?.({ claims, header }, served.url + tokenPath),
  });
  provider.on("grant.error", (_context, error: ProviderError) => {
    refusals.push(`${error.error}: ${error.error_detail ?? error.message}`);
  });
  served.handle(provider.callback());
  return { url: served.url, refusals, close: () => served.close() };
}
