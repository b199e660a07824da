// https on this machine, with a self-signed certificate for customer.example and 127.0.0.1 that is made on the spot.
import { createSign, generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";

export interface SecureFront {
  readonly url: string;
  close(): void;
}

/** Serves what `fetch` answers, behind a certificate that is written to a file, for NODE_EXTRA_CA_CERTS. */
export async function startSecureFront(
  fetch: (request: Request) => Promise<Response>,
  certificateFile: string,
): Promise<SecureFront> {
  const { key, cert } = selfSigned();
  await writeFile(certificateFile, cert);
  const server = createServer({ key, cert }, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = "GET", url = "/", headers } = request;
    const body = chunks.length === 0 ? null : Buffer.concat(chunks);
    const answer = await fetch(
      new Request(new URL(url, `https://${headers.host}`), {
        method,
        body,
        headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
      }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** RFC 5280 section 4.1, written out in DER: no tool or package is needed for one certificate. */
function selfSigned(): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const algorithm = der(0x30, oid("2a864886f70d01010b"), der(0x05));
  const name = der(0x30, der(0x31, der(0x30, oid("550403"), der(0x0c, Buffer.from("customer.example")))));
  const day = 86_400_000;
  const validity = der(0x30, time(Date.now() - day), time(Date.now() + day));
  const names = der(0x30, der(0x82, Buffer.from("customer.example")), der(0x87, Buffer.from([127, 0, 0, 1])));
  const subjectAltName = der(0x30, oid("551d11"), der(0x04, names));
  const body = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, der(0x30, subjectAltName)),
  );
  const signature = createSign("sha256").update(body).sign(privateKey);
  const certificate = der(0x30, body, algorithm, der(0x03, Buffer.from([0]), signature));
  const lines = certificate.toString("base64").match(/.{1,64}/g) ?? [];
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n"),
  };
}

function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const head =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, "hex"));
}

/** UTCTime. */
function time(at: number): Buffer {
  return der(
    0x17,
    Buffer.from(
      `${new Date(at)
        .toISOString()
        .replace(/[-:T]|\.\d+/g, "")
        .slice(2)}`,
    ),
  );
}
