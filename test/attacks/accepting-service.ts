// Deployments that accept each code and refresh token, and then answer as a gateway in between
// would. They count how often each was presented. A refresh token that is presented twice revokes
// the login (RFC 9700 section 4.14.2).
import type { ServerResponse } from "node:http";
import { expect } from "vitest";
import { recordingServer } from "../support/recording-server.js";

/** Answers in place of the service, whose own answer it gets. */
export type Shape = (response: ServerResponse, own: string) => unknown;

export const answer = (status: number, body = "", headers: Record<string, string> = {}): Shape => {
  return (response) => response.writeHead(status, headers).end(body);
};
export const page = (status: number, headers: Record<string, string> = {}): Shape =>
  answer(status, "<h1>No</h1>", { "content-type": "text/html", ...headers });
export const json = (status: number, body: object, headers: Record<string, string> = {}): Shape =>
  answer(status, JSON.stringify(body), { "content-type": "application/json", ...headers });

export class Deployment {
  readonly baseUrl: string;
  /** By code or refresh token: how often it was presented. */
  readonly presented: Map<string, number> = new Map();
  isRevoked = false;
  shape: Shape | undefined;
  /** An answer of the service itself, which spends nothing. */
  refusal: Shape | undefined;
  keepsRefreshToken = false;
  #live = "";

  constructor(baseUrl: string) {
    this.baseUrl = baseUrl;
  }

  respond(body: string, response: ServerResponse): unknown {
    const isOfB = body.startsWith("{");
    const fields = isOfB ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body));
    const token = fields.code ?? fields.refresh_token;
    const times = (this.presented.get(token) ?? 0) + 1;
    this.presented.set(token, times);
    if (this.refusal !== undefined) return this.refusal(response, "");
    this.isRevoked ||= fields.code === undefined ? token !== this.#live : times > 1;
    if (this.isRevoked) return json(400, { error: "invalid_grant" })(response, "");
    const count = this.presented.size;
    if (!this.keepsRefreshToken) this.#live = `refresh-token-${count}`;
    const token_type = "Bearer";
    const own = { access_token: `access-token-${count}`, token_type, refresh_token: this.#live };
    return (this.shape ?? json(200, own))(response, JSON.stringify(own));
  }

  expectNothingTwice(): void {
    expect([...this.presented].filter(([, times]) => times > 1)).toEqual([]);
    expect(this.isRevoked).toBe(false);
  }
}

/** Starts a deployment that closes itself when the test ends. */
export async function newDeployment(): Promise<Deployment> {
  const { url } = await recordingServer(
    ({ body }) =>
      (response) =>
        void deployment.respond(body, response),
  );
  const deployment = new Deployment(url);
  return deployment;
}
