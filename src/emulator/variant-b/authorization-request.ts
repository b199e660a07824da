// Reads an authorization request and decides whether to show a login page, an error page, or neither.
import { type Check, firstRefusal, type Refusal } from "../checks.js";
import { isCodeChallenge } from "../pkce.js";
import type { ApiClient } from "../registrations/api-clients.js";
import { isSameRedirectUri, scopeSchema } from "../registrations/fields.js";
import { shown, shownUri } from "../shown.js";
import type { AuthorizationRequest, Deployment } from "../state.js";

/** Characters. Anybody can begin a login, and what it asks for is kept until it ends. */
const MAXIMUM_QUERY_LENGTH = 4096;

/** Where an answer goes once client and redirect URI are known to be right. */
export type Callback = Pick<AuthorizationRequest, "client" | "redirectUri" | "state">;

/** `callback` is absent where the client must not be told (RFC 6749 section 4.1.2.1). */
export interface RefusedAuthorization {
  readonly refusal: Refusal;
  readonly callback?: Callback;
}

/** A parameter, once. RFC 6749 section 3.1: "Parameters sent without a value MUST be treated as if they were omitted". */
type Read = (name: string) => string | undefined;

interface Received {
  readonly client: ApiClient;
  readonly read: Read;
}

/** Of these the client is told: it is known where it wants to be told. */
const checks: readonly Check<Received>[] = [
  {
    rule: "authorization.response-type",
    find({ read }) {
      const type = read("response_type");
      return type === "code" ? undefined : { expected: "code", actual: shown(type) };
    },
  },
  {
    rule: "authorization.challenge-method",
    find({ read }) {
      const method = read("code_challenge_method");
      return method === "S256" ? undefined : { expected: "S256", actual: shown(method) };
    },
  },
  {
    rule: "authorization.challenge",
    find({ read }) {
      const challenge = read("code_challenge");
      if (isCodeChallenge(challenge)) return undefined;
      const actual = challenge === undefined ? "absent" : "another string";
      return { expected: "43 characters of base64url", actual };
    },
  },
  {
    rule: "authorization.scope",
    find({ client, read }) {
      const isGrantable = (scope: string) =>
        scopeSchema.safeParse(scope).success && (client.scopes?.has(scope) ?? true);
      if (read("scope")?.split(" ").every(isGrantable) !== false) return undefined;
      const expected = client.scopes === undefined ? "scopes" : `some of ${[...client.scopes].join(" ")}`;
      return { expected, actual: shown(read("scope")) };
    },
  },
];

export function readAuthorizationRequest(
  deployment: Deployment,
  parameters: URLSearchParams,
): AuthorizationRequest | RefusedAuthorization {
  const { switches } = deployment;
  const { length } = String(parameters);
  if (length > MAXIMUM_QUERY_LENGTH) {
    const finding = { expected: `at most ${MAXIMUM_QUERY_LENGTH} characters`, actual: `${length}` };
    const refusal = switches.refusal("authorization.length", finding);
    if (refusal !== undefined) return { refusal };
  }
  const names = [...parameters.keys()];
  const repeated = names.find((name, index) => names.indexOf(name) < index);
  if (repeated !== undefined) {
    const finding = { expected: "each parameter once", actual: shown(repeated) };
    const refusal = switches.refusal("authorization.duplicate-parameter", finding);
    if (refusal !== undefined) return { refusal };
  }
  const read: Read = (name) => parameters.get(name) || undefined;
  const client = findClient(deployment, read);
  if ("rule" in client) return { refusal: client };
  const redirectUri = readRedirectUri(deployment, client, read);
  if (typeof redirectUri !== "string") return { refusal: redirectUri };
  const callback = { client, redirectUri, state: read("state") };
  const refusal = firstRefusal(switches, checks, { client, read });
  if (refusal !== undefined) return { refusal, callback };
  const requested = read("scope")?.split(" ");
  const scopes = requested ? new Set(requested) : client.scopes;
  return { ...callback, codeChallenge: read("code_challenge"), scopes };
}

function findClient({ apiClients, switches }: Deployment, read: Read): ApiClient | Refusal {
  const clientId = read("client_id");
  const client = apiClients.find(clientId ?? "");
  if (client !== undefined) return client;
  // Not quoted: whoever swaps two settings sends the secret as client_id.
  const actual = clientId === undefined ? "absent" : "a client_id that is not registered";
  const finding = { expected: "a registered API client", actual };
  const redirectUri = read("redirect_uri");
  return (
    switches.refusal("authorization.client", finding) ?? {
      // Not what was sent: it would be shown.
      clientId: "unregistered",
      redirectUris: redirectUri !== undefined && URL.canParse(redirectUri) ? [redirectUri] : [],
      secretDigest: undefined,
      scopes: undefined,
      name: "An unregistered client",
      tenantId: undefined,
    }
  );
}

function readRedirectUri({ switches }: Deployment, client: ApiClient, read: Read): string | Refusal {
  const { redirectUris } = client;
  const requested = read("redirect_uri");
  if (requested !== undefined && redirectUris.some((uri) => isSameRedirectUri(uri, requested))) {
    return requested;
  }
  const isRuled = switches.isEnforced("authorization.redirect-uri");
  const anything = requested === undefined || !URL.canParse(requested) ? redirectUris[0] : requested;
  if (!isRuled && anything !== undefined) return anything;
  const expected = `one of ${redirectUris.map(shown).join(", ")}`;
  return { rule: "authorization.redirect-uri", expected, actual: shownUri(requested) };
}
