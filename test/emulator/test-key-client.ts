// Token requests signed with the key that the emulator made for a plugin.
import { createPrivateKey, type JsonWebKey, sign } from "node:crypto";
import type { Emulator, PluginIdentity } from "../../src/emulator/index.js";
import { ASSERTION_TYPE } from "./plugin-client.js";
import { compactJws } from "./signing-key.js";

let count = 0;

/** The form of section 4.1, at the emulator's own time. */
export function signedForm(emulator: Emulator, plugin: PluginIdentity): URLSearchParams {
  const jwk = emulator.testKey(plugin);
  const key = createPrivateKey({ key: jwk as JsonWebKey, format: "jwk" });
  const iat = Math.floor(emulator.clock.now() / 1000);
  const { tenantId, clientId } = plugin;
  const aud = `${emulator.publicUrl}/api/v1/${tenantId}/external-plugin/oauth/token`;
  const claims = { iss: clientId, sub: clientId, aud, jti: `jti-${count++}`, iat, exp: iat + 60 };
  const assertion = compactJws({ alg: "RS256", kid: jwk.kid }, claims, (input) => sign("sha256", input, key));
  return new URLSearchParams({
    grant_type: "client_credentials",
    client_id: clientId,
    client_assertion_type: ASSERTION_TYPE,
    client_assertion: assertion,
  });
}
