// An MQTT broker that takes the password for a bearer token. It shows how a client behaves, not how
// the service does.
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { Aedes, type AuthenticateError, type Client } from "aedes";
import { onTestFinished } from "vitest";

/** Return code of a CONNACK: bad user name or password (MQTT 3.1.1, section 3.2.2.3). */
const BAD_PASSWORD = 4;

export interface Broker {
  readonly url: string;
  /** Each request to connect: its password, and whether that was accepted. */
  readonly requests: { readonly password: string; readonly isAccepted: boolean }[];
  publish(topic: string, payload: string): void;
  /** Closes each connection whose password is no longer accepted. */
  cut(): Promise<void>;
}

/** Starts a broker that closes itself when the test ends. */
export async function startBroker(accepts: (token: string) => Promise<boolean>): Promise<Broker> {
  const requests: Broker["requests"] = [];
  const connections = new Map<Client, string>();
  const broker = await Aedes.createBroker({
    async authenticate(client, _username, given, done) {
      const password = given?.toString() ?? "";
      const isAccepted = await accepts(password);
      requests.push({ password, isAccepted });
      if (isAccepted) return done(null, connections.set(client, password).has(client));
      done(
        Object.assign(new Error("refused"), { returnCode: BAD_PASSWORD }) as AuthenticateError,
        false,
      );
    },
  });
  broker.on("clientDisconnect", (client) => connections.delete(client));
  const server = createServer(broker.handle);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    await new Promise<void>((resolve) => broker.close(resolve));
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    publish: (topic, payload) =>
      broker.publish(
        { cmd: "publish", topic, payload, qos: 0, retain: false, dup: false },
        () => {},
      ),
    async cut() {
      for (const [client, password] of connections)
        if (!(await accepts(password))) client.conn.destroy();
    },
  };
}
