// A small SignalR server: the JSON protocol over WebSockets, one method, and a check of the bearer.
// It shows how a client behaves, not how the service does.
import { createServer, type IncomingMessage } from "node:http";
import { type WebSocket, WebSocketServer } from "ws";
import { servingOn } from "../../support/recording-server.js";

/** Ends each message of the JSON protocol. */
const END = "\u001e";

export interface Hub {
  readonly url: string;
  /** Each request to connect: its address, its token, and whether that was accepted. */
  readonly requests: {
    readonly path: string;
    readonly token: string;
    readonly isAccepted: boolean;
  }[];
  /** Closes each connection whose token is no longer accepted. */
  cut(): Promise<void>;
}

/** Starts a hub that closes itself when the test ends. */
export async function startHub(accepts: (token: string) => Promise<boolean>): Promise<Hub> {
  const requests: Hub["requests"] = [];
  const connections = new Map<WebSocket, string>();
  const check = async ({ url: path = "", headers }: IncomingMessage) => {
    const token = headers.authorization?.replace(/^Bearer /, "") ?? "";
    const isAccepted = await accepts(token);
    requests.push({ path, token, isAccepted });
    return { token, isAccepted };
  };

  const server = createServer(async (request, response) => {
    const { isAccepted } = await check(request);
    const availableTransports = [{ transport: "WebSockets", transferFormats: ["Text"] }];
    response.writeHead(isAccepted ? 200 : 401, { "content-type": "application/json" });
    response.end(
      JSON.stringify({
        negotiateVersion: 1,
        connectionId: "1",
        connectionToken: "1",
        availableTransports,
      }),
    );
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", async (request, socket, head) => {
    const { token, isAccepted } = await check(request);
    if (!isAccepted) return void socket.end("HTTP/1.1 401 Unauthorized\r\n\r\n");
    sockets.handleUpgrade(request, socket, head, (connection) => {
      connections.set(connection, token);
      connection.on("close", () => connections.delete(connection));
      connection.on("message", (data) => {
        for (const text of data.toString().split(END).filter(Boolean)) {
          const { protocol, invocationId, arguments: [result] = [] } = JSON.parse(text);
          if (protocol === "json") connection.send(`{}${END}`);
          else if (invocationId)
            connection.send(JSON.stringify({ type: 3, invocationId, result }) + END);
        }
      });
    });
  });
  return {
    url: `http://127.0.0.1:${await servingOn(server)}/hub`,
    requests,
    async cut() {
      for (const [connection, token] of connections)
        if (!(await accepts(token))) connection.terminate();
    },
  };
}
