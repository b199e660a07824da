// A server in a process of its own. It answers token requests with a token, and all others with
// devices.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const devices = JSON.stringify(
  [1, 2, 3].map((id) => ({ id: `device-${id}`, name: `Device ${id}` })),
);
const token = JSON.stringify({ access_token: "token" });

const server = createServer((request, response) => {
  const body = request.url?.endsWith("/token") ? token : devices;
  request.resume();
  response.setHeader("content-type", "application/json").end(body);
});
process.on("disconnect", () => process.exit());
server.listen(0, "127.0.0.1", () =>
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
);
