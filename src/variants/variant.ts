/** What every part of the core knows of a variant: where its token endpoint is and what it is bound to. */
import type { Variant } from "../errors.js";

export type { Variant };

/** The deployment and the tenant that something is about. `baseUrl` is parsed: no trailing slash. */
export interface Target {
  readonly baseUrl: string;
  readonly tenantId: string;
}

/** One client: fetch is always called with a string and a RequestInit, so that undici's own fetch works. */
export type Fetch = (url: string, init?: RequestInit) => Promise<Response>;
