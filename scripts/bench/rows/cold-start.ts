// Compares new processes that get one token: with this package, and with the libraries that it
// uses, by hand.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { calculateJwkThumbprint, exportJWK, exportPKCS8, generateKeyPair } from "jose";
import { compareProcesses, duration, type Program, type Row } from "../measure.js";
import { startScript } from "../script.js";
import type { ServerTask } from "../token-server.js";

const CLIENT_ID = "bench";
const TENANT_ID = "acme";

/** What the programs get. */
interface Given {
  readonly main: string;
  readonly pem: string;
  readonly keyId: string;
  readonly tokenEndpoint: string;
}

const importedBy = ({ main }: Given): string =>
  `import { connect, servicePlugin } from ${JSON.stringify(main)};`;

const ours = (given: Given): string => `
  ${importedBy(given)}
  const credentials = [servicePlugin({ clientId: "${CLIENT_ID}", privateKey: ${JSON.stringify(given.pem)} })];
  const baseUrl = "${new URL(given.tokenEndpoint).origin}";
  const service = await connect({ baseUrl, tenantId: "${TENANT_ID}", credentials });
  const { value } = await service.auth.getAccessToken();
  process.exit(value === "" ? 1 : 0);
`;

/**
 * The program follows the documentation of the libraries. It imports jose whole, or the two parts
 * of it that it needs.
 */
const byHand = ({ pem, keyId, tokenEndpoint }: Given, jose: "whole" | "parts"): string => `
  ${
    jose === "whole"
      ? `import { importPKCS8, SignJWT } from "jose";`
      : `import { importPKCS8 } from "jose/key/import"; import { SignJWT } from "jose/jwt/sign";`
  }
  import * as oauth from "oauth4webapi";
  import createClient from "openapi-fetch";
  const [client, issuer, audience] = [{ client_id: "${CLIENT_ID}" }, "${tokenEndpoint}", "${tokenEndpoint}"];
  const key = await importPKCS8(${JSON.stringify(pem)}, "RS256");
  const authenticate = async (_server, { client_id }, body) => {
    const assertion = new SignJWT({ iss: client_id, sub: client_id, aud: audience, jti: crypto.randomUUID() })
      .setProtectedHeader({ alg: "RS256", kid: "${keyId}" }).setIssuedAt().setExpirationTime("60s");
    body.set("client_id", client_id);
    body.set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    body.set("client_assertion", await assertion.sign(key));
  };
  const server = { issuer, token_endpoint: issuer };
  const options = { [oauth.allowInsecureRequests]: true };
  const answer = await oauth.clientCredentialsGrantRequest(server, client, authenticate, {}, options);
  const { access_token } = await oauth.processClientCredentialsResponse(server, client, answer);
  createClient({ baseUrl: new URL(issuer).origin, headers: { authorization: "Bearer " + access_token } });
  process.exit(access_token === "" ? 1 : 0);
`;

export const coldStart: Row = {
  name: "cold-start",
  title: "a new process to its first token against jose, oauth4webapi and openapi-fetch by hand",
  unit: "times",
  aim: 1.1,
  seconds: 20,
  async measure(build, limit) {
    const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
    const publicJwk = await exportJWK(publicKey);
    const keyId = await calculateJwkThumbprint(publicJwk);
    const task: ServerTask = {
      kind: "emulator",
      emulatorMain: pathToFileURL(join(build.folder, "dist/src/emulator/index.js")).href,
      tenantIds: [TENANT_ID],
      clientId: CLIENT_ID,
      publicJwk: { ...publicJwk, kid: keyId },
    };
    const server = await startScript(build, "token-server", task);
    const pem = await exportPKCS8(privateKey);
    const given: Given = { main: build.main, pem, keyId, tokenEndpoint: String(server.answer) };
    const program = (name: string, source: string): Program => {
      writeFileSync(join(build.folder, `cold-start-${name}.mjs`), source);
      return { args: [`cold-start-${name}.mjs`], cwd: build.folder };
    };
    const started = { ours: program("ours", ours(given)), by: "cpuMs", aim: limit.aim } as const;
    const whole = program("whole", byHand(given, "whole"));
    const parts = program("parts", byHand(given, "parts"));
    const imported = program("imported", importedBy(given));
    const bare = program("bare", "");
    try {
      const seconds = 0.5 * limit.seconds;
      const { costs: _, ...figures } = await compareProcesses({
        ...started,
        theirs: whole,
        seconds,
      });
      const fewer = await compareProcesses({
        ...started,
        theirs: parts,
        seconds: 0.7 * limit.seconds,
      });
      const alone = { ours: imported, bare, by: "cpuMs", aim: 0 } as const;
      const loaded = await compareProcesses({ ...alone, seconds: limit.seconds });
      const ofParts = `${fewer.value.toFixed(2)} times where those import only the needed parts of jose`;
      const detail =
        `${ofParts}; importing bivariant alone takes ${duration(loaded.value)} CPU ` +
        "beyond Node's own start";
      return { ...figures, detail };
    } finally {
      await server.stop();
    }
  },
};
