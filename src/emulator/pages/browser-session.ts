// Who is signed in, in one browser, at the host application or at the authorization server.

/** What the value of a session cookie stands for. */
export interface BrowserSession {
  /** In every form and every request of a script: other sites can send the cookie along, but not this. */
  readonly formToken: string;
  /** Undefined until somebody has signed in. */
  readonly operator: { readonly tenantId: string; readonly userId: string } | undefined;
  /** Epoch milliseconds; from this instant on nobody is signed in. */
  readonly expiresAt: number;
}
