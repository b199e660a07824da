// Counts the token requests for many tenants that are called in turn through one connector.
import type { Row } from "../measure.js";

const TENANTS = 25_000;
const CONCURRENCY = 50;

export const tenantsInTurn: Row = {
  name: "tenants-in-turn",
  title: `token requests of the second round, of ${TENANTS} tenants that are called in turn through one connector`,
  unit: "requests",
  aim: 0,
  seconds: 6,
  async measure({ main }) {
    const { createConnector, servicePlugin } = (await import(main)) as typeof import("../../../src/index.js");
    // A real signature would take most of the time.
    const privateKey = { keyId: "key-1", sign: () => new Uint8Array(256) };
    let requests = 0;
    const connector = createConnector({
      credentials: [servicePlugin({ clientId: "bench", privateKey })],
      fetch: async () => {
        requests++;
        return Response.json({ access_token: "token", token_type: "Bearer", expires_in: 3600 });
      },
    });
    /** The token requests of a round. */
    const round = async (): Promise<number> => {
      const before = requests;
      let next = 0;
      const worker = async () => {
        while (next < TENANTS) {
          const tenantId = `tenant-${next++}`;
          const service = await connector.connect({ baseUrl: "https://service.example", tenantId });
          await service.auth.getAccessToken();
        }
      };
      await Promise.all(Array.from({ length: CONCURRENCY }, worker));
      return requests - before;
    };
    const [first, second] = [await round(), await round()];
    const words = { ours: `${second} requests`, detail: `${first} requests in the first round` };
    return { value: second, low: second, high: second, ...words };
  },
};
