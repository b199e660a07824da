/** The part of oidc-provider that the witnesses use: the package brings no types. */
declare module "oidc-provider" {
  import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";

  export class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>);
    callback(): RequestListener;
    on(event: "grant.error", listener: (context: unknown, error: ProviderError) => void): this;
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>;
    /** Sends the person on to the next step. */
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: Readonly<Record<string, unknown>>,
    ): Promise<void>;
    readonly AccessToken: {
      find(value: string): Promise<{ readonly accountId: string } | undefined>;
    };
    readonly Grant: new (owner: {
      readonly accountId: string;
      readonly clientId: string;
    }) => Grant;
  }

  export interface Interaction {
    readonly prompt: { readonly name: "login" | "consent" };
    readonly params: { readonly client_id: string };
  }

  export interface Grant {
    addOIDCScope(scope: string): void;
    save(): Promise<string>;
  }

  export const errors: { readonly InvalidClientAuth: new (reason: string) => Error };

  /** The error of a refusal. `error_detail` is the real reason, which the answer leaves out. */
  export interface ProviderError extends Error {
    readonly error: string;
    readonly error_detail?: string;
  }
}
