// Runs the plugin beside an emulated deployment that launches it and that people log in to.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type BackendOptions, toNodeHandler } from "../../../src/backend/index.js";
import { createEmulator, type Emulator } from "../../../src/emulator/index.js";
import { apiClient, userInterfacePlugin } from "../../../src/index.js";
import { createPlugin } from "./backend.js";

export interface Example {
  /** The host application's page, with the plugin in its sidebar (Variant A). */
  readonly hostUrl: string;
  /** The plugin's page opened on its own (Variant B). */
  readonly pluginUrl: string;
  readonly emulator: Emulator;
  close(): Promise<void>;
}

export interface ExampleOptions extends Partial<BackendOptions> {
  readonly hostPort?: number;
  readonly pluginPort?: number;
}

/** Two names of this machine stand for two sites: 127.0.0.1 is the host, localhost the plugin. */
export async function runExample({
  hostPort = 0,
  pluginPort = 0,
  ...options
}: ExampleOptions = {}): Promise<Example> {
  const emulator = createEmulator({ now: options.clock?.now });
  const { url: baseUrl, close } = await emulator.listen({ port: hostPort });

  let handler: (request: Request) => Promise<Response> = async () =>
    new Response(null, { status: 503 });
  const server = createServer(toNodeHandler((request) => handler(request)));
  server.listen(pluginPort, "localhost");
  await once(server, "listening");
  const pluginUrl = `http://localhost:${(server.address() as AddressInfo).port}`;
  const redirectUri = `${pluginUrl}/auth/callback`;

  const scopes = ["devices:read"];
  const tenantId = "acme";
  const pageUrl = `${pluginUrl}/`;
  const planner = { tenantId, clientId: "planner", name: "Planner", pageUrl };
  const app = { clientId: "planner-app", name: "Planner", redirectUris: [redirectUri] };
  const ada = { tenantId, userId: "ada", firstname: "Ada", lastname: "Lovelace" };
  const grace = { tenantId, userId: "grace", firstname: "Grace", lastname: "Hopper" };
  emulator.registerPlugin({ ...planner, type: "user_interface", scopes });
  emulator.registerApiClient(app);
  emulator.registerOperator({ ...ada, capabilities: scopes });
  emulator.registerOperator(grace);

  const hostOrigin = new URL(baseUrl).origin;
  handler = await createPlugin({
    hostOrigins: [hostOrigin],
    deployments: [
      {
        tenantId,
        baseUrl,
        hostOrigin,
        launch: userInterfacePlugin({ clientId: "planner", privateKey: emulator.testKey(planner) }),
        login: apiClient({
          clientId: "planner-app",
          redirectUri,
          authorizationEndpoint: `${baseUrl}/v1/auth/authorize`,
        }),
      },
    ],
    ...options,
  });
  return {
    hostUrl: `${baseUrl}/host/acme`,
    pluginUrl: `${pluginUrl}/`,
    emulator,
    async close() {
      server.closeAllConnections();
      await Promise.all([new Promise((resolve) => server.close(resolve)), close()]);
    },
  };
}
