// A token endpoint of Variant B in a few lines, with refresh tokens that rotate: what the client is held against here.
import { type ScriptedFetch, scriptedFetch } from "../support/fetch.js";

export type Fault = (body: Record<string, string>) => Response | undefined | Promise<Response | undefined>;

export interface LoginServer {
  readonly fetch: ScriptedFetch;
  /** The bodies of the refresh requests. */
  readonly refreshes: Record<string, string>[];
  readonly codes: Record<string, string>[];
  /** Answers instead of the server, before or after it has committed. */
  before?: Fault | undefined;
  after?: Fault | undefined;
  /** Whether a refresh gives a new refresh token. */
  rotates: boolean;
}

export function loginServer(): LoginServer {
  let issued = 0;
  let live = "";
  const server: LoginServer = {
    refreshes: [],
    codes: [],
    rotates: true,
    fetch: scriptedFetch(async ({ body }) => {
      const fields = JSON.parse(body) as Record<string, string>;
      const isRefresh = fields.grant_type === "refresh_token";
      (isRefresh ? server.refreshes : server.codes).push(fields);
      const early = await server.before?.(fields);
      if (early !== undefined) return early;
      if (isRefresh && fields.refresh_token !== live)
        return Response.json({ error: "invalid_grant" }, { status: 400 });
      issued++;
      const renewed = !isRefresh || server.rotates;
      if (renewed) live = `refresh-token-${issued}`;
      const late = await server.after?.(fields);
      if (late !== undefined) return late;
      return Response.json({
        access_token: `access-token-${issued}`,
        ...(renewed ? { refresh_token: live } : {}),
      });
    }),
  };
  return server;
}
