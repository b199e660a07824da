// The registered clients of Variant B that people log in to, and the check of their secrets.
import { EmulatorError } from "../emulator-error.js";
import { shownClientId } from "../shown.js";
import { parseApiClient, parseApiClientIdentity, parseApiClientUpdate } from "./api-client-registration.js";
import { isSecretOf, secretDigest } from "./secret-digest.js";

/** A registered API client. Replaced as a whole by an update. The secret is held as a digest. */
export interface ApiClient {
  readonly clientId: string;
  readonly redirectUris: readonly string[];
  readonly secretDigest: Buffer | undefined;
  readonly scopes: ReadonlySet<string> | undefined;
  readonly name: string;
  readonly tenantId: string | undefined;
}

export class ApiClients {
  readonly #byClientId = new Map<string, ApiClient>();
  readonly #isTaken: (clientId: string) => boolean;

  /** `isTaken` tells the client_ids of Variant B's other registrations. */
  constructor(isTaken: (clientId: string) => boolean) {
    this.#isTaken = isTaken;
  }

  register(input: unknown): void {
    const sheet = parseApiClient(input);
    const { clientId } = sheet;
    if (this.find(clientId) !== undefined || this.#isTaken(clientId)) {
      throw new EmulatorError("already_registered", `client ${clientId} is already registered`);
    }
    this.#byClientId.set(clientId, {
      clientId,
      redirectUris: sheet.redirectUris,
      secretDigest: sheet.clientSecret === undefined ? undefined : secretDigest(sheet.clientSecret),
      scopes: sheet.scopes && new Set(sheet.scopes),
      name: sheet.name ?? clientId,
      tenantId: sheet.tenantId,
    });
  }

  update(input: unknown): void {
    const change = parseApiClientUpdate(input);
    const client = this.#registered(change.clientId);
    const { clientSecret, scopes = client.scopes, tenantId = client.tenantId } = change;
    this.#byClientId.set(client.clientId, {
      clientId: client.clientId,
      redirectUris: change.redirectUris ?? client.redirectUris,
      secretDigest: digestAfter(clientSecret, client.secretDigest),
      scopes: scopes === null ? undefined : scopes && new Set(scopes),
      name: change.name ?? client.name,
      tenantId: tenantId ?? undefined,
    });
  }

  /** Returns what is no longer registered. */
  unregister(input: unknown): ApiClient {
    const client = this.#registered(parseApiClientIdentity(input).clientId);
    this.#byClientId.delete(client.clientId);
    return client;
  }

  #registered(clientId: string): ApiClient {
    const client = this.find(clientId);
    if (client !== undefined) return client;
    throw new EmulatorError("not_registered", `API client ${shownClientId(clientId)} is not registered`);
  }

  find(clientId: string): ApiClient | undefined {
    return this.#byClientId.get(clientId);
  }

  /** In the order of their registration. */
  list(): ApiClient[] {
    return [...this.#byClientId.values()];
  }

  /** The client, if it is known and sent its secret, or if it is a public one and sent none. */
  authenticate(clientId: string, clientSecret: string | undefined): ApiClient | undefined {
    const client = this.find(clientId);
    if (client?.secretDigest === undefined || clientSecret === undefined) {
      return client?.secretDigest === undefined && clientSecret === undefined ? client : undefined;
    }
    return isSecretOf(client.secretDigest, clientSecret) ? client : undefined;
  }
}

function digestAfter(change: string | null | undefined, current: Buffer | undefined): Buffer | undefined {
  if (change === undefined) return current;
  return change === null ? undefined : secretDigest(change);
}
