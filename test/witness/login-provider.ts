/** oidc-provider as the authorization server of a login: whoever comes is signed in and consents, or declines. */
import { generateKeyPairSync } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Provider, type ProviderError } from "oidc-provider";
import { type Served, serve } from "./serve.js";

export interface LoginProvider extends Pick<Served, "close"> {
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  /** Why its token endpoint refused, oldest first; never told to the client. */
  readonly refusals: readonly string[];
  /** Whose an access token is; `undefined` when it is none, or none any more. */
  ownerOf(accessToken: string): Promise<string | undefined>;
}

export interface LoginProviderOptions {
  readonly clients: readonly Readonly<Record<string, unknown>>[];
  readonly scope: string;
  readonly accountId: string;
  /** Asked at the consent. */
  readonly consents: () => boolean;
}

const interactionPath = "/interaction/";

export async function startLoginProvider(options: LoginProviderOptions): Promise<LoginProvider> {
  const served = await serve();
  const refusals: string[] = [];
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const provider = new Provider(served.url, {
    clients: options.clients.map((client) => ({
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      ...client,
    })),
    clientAuthMethods: ["none", "client_secret_post"],
    scopes: [options.scope],
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context: unknown, { uid }: { readonly uid: string }) => interactionPath + uid },
    findAccount: (_context: unknown, accountId: string) => ({
      accountId,
      claims: () => ({ sub: accountId }),
    }),
    pkce: { required: () => true },
    // A refresh token without the scope of OpenID Connect that stands for it: Variant B gives one to every login.
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
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), use: "sig", alg: "RS256" }] },
    cookies: { keys: ["a key of the witness alone"] },
  });
  provider.on("grant.error", (_context, error: ProviderError) => {
    refusals.push(`${error.error}: ${error.error_detail ?? error.message}`);
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

/** What a person would do on two pages. */
async function interact(
  provider: Provider,
  { accountId, scope, consents }: LoginProviderOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { prompt, params } = await provider.interactionDetails(request, response);
  if (prompt.name === "login")
    return provider.interactionFinished(request, response, { login: { accountId } });
  if (!consents()) return provider.interactionFinished(request, response, { error: "access_denied" });
  const grant = new provider.Grant({ accountId, clientId: params.client_id });
  grant.addOIDCScope(scope);
  return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}
