// A deployment of Variant B whose token is known to the test, and whose API answers as the test says.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listen } from "./cli-deployment.js";
import type { Environment } from "./command-line.js";

export const plantedToken = "planted-access-token-9876543210";

export interface PlantedServer {
  readonly env: Environment;
  /** Of the API, in order. */
  readonly requests: readonly { readonly request: IncomingMessage; readonly body: string }[];
  close(): void;
}

/** `api` answers every request but those for a token. */
export async function startPlanted(api: (response: ServerResponse) => void): Promise<PlantedServer> {
  const requests: { request: IncomingMessage; body: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    response.setHeader("content-type", "application/json");
    if (request.url === "/v1/auth/token") {
      response.end(JSON.stringify({ access_token: plantedToken }));
      return;
    }
    requests.push({ request, body });
    api(response);
  });
  const { url, close } = await listen(server);
  return {
    requests,
    env: {
      BIVARIANT_BASE_URL: url,
      BIVARIANT_VARIANT: "B",
      BIVARIANT_B_CLIENT_ID: "account",
      BIVARIANT_B_CLIENT_SECRET: "planted-client-secret-0123456789",
    },
    close,
  };
}
