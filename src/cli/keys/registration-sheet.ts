/** What a customer needs to register a plugin, as a sheet to hand over (sections 1 and 2.1 of the description). */
import type { PublicJwks } from "./public-jwks.js";

export interface Registration {
  /** Left out: a line to fill in. */
  readonly clientId?: string | undefined;
  readonly type: "service" | "user interface";
  readonly scopes: readonly string[];
  readonly devices?: readonly string[] | undefined;
  readonly jwks: PublicJwks;
}

export function registrationSheet({ clientId, type, scopes, devices, jwks }: Registration): string {
  const grant =
    type === "service"
      ? "A service plugin has no user to narrow against: an administrator authorises its grant at install time."
      : "A user-interface plugin reaches its scopes only as far as the operator who launched it does.";
  return [
    "Registration of an external plugin",
    "",
    "Where          Settings, Tenant Settings, External Plugins",
    "Who            a person holding the permission write:tenant-settings",
    `Client id      ${clientId ?? "(agree on one with the customer)"}`,
    `Type           ${type}`,
    `Scopes         ${scopes.join(", ") || "(name them with --scope, of the form area:read, area:write or area:execute)"}`,
    `Devices        ${devices?.join(", ") ?? "no restriction"}`,
    "Enabled        yes",
    "JWKS           the public keys below; they hold nothing secret",
    "",
    JSON.stringify(jwks, null, 2),
    "",
    grant,
    "A narrowing of the grant takes effect within minutes. A scope granted later reaches only the next token.",
  ].join("\n");
}
