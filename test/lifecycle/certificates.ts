// Certificates of a test authority for servers and clients on loopback, made once per process.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "../support/keys.js";

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

export interface Certificates {
  /** The certificate of the authority, as PEM. */
  readonly ca: string;
  readonly server: Certificate;
  readonly client: Certificate;
  /** A self-signed certificate for 127.0.0.1. */
  readonly selfSigned: Certificate;
}

export const certificates: () => Certificates = once(make);

const extensions = `[server]
subjectAltName=IP:127.0.0.1,DNS:localhost
[client]
extendedKeyUsage=clientAuth
`;

function make(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), "certificates-"));
  const openssl = (command: string) =>
    execFileSync("openssl", command.split(" "), { cwd: folder, stdio: "pipe" });
  const read = (name: string) => readFileSync(join(folder, name), "utf8");
  const request = (name: string) =>
    "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes " +
    `-subj /CN=${name} -keyout ${name}.key`;
  const selfSigned = (name: string, more = "") =>
    openssl(`req -x509 ${request(name)} -days 2 -out ${name}.pem${more}`);
  const signed = (name: string) => {
    openssl(`req ${request(name)} -out ${name}.csr`);
    const authority = "-CA authority.pem -CAkey authority.key -CAcreateserial -days 2";
    const extension = `-extfile extensions.cnf -extensions ${name}`;
    openssl(`x509 -req -in ${name}.csr -out ${name}.pem ${authority} ${extension}`);
  };
  try {
    writeFileSync(join(folder, "extensions.cnf"), extensions);
    selfSigned("authority");
    signed("server");
    signed("client");
    selfSigned("alone", " -addext subjectAltName=IP:127.0.0.1");
    const pair = (name: string) => ({ key: read(`${name}.key`), cert: read(`${name}.pem`) });
    return {
      ca: read("authority.pem"),
      server: pair("server"),
      client: pair("client"),
      selfSigned: pair("alone"),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
