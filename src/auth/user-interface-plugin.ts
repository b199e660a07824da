/** Variant A, with the operator who launched the plugin: authorization_code with PKCE and a client assertion. */
import type { PersonCredential, Settings } from "./credential.js";
import { personCredential } from "./person-credential.js";
import type { ServicePluginSettings } from "./service-plugin.js";

/** The same key material as a service plugin's: the grant differs, not the authentication. */
export type UserInterfacePluginSettings = ServicePluginSettings;

/**
 * The credential of a user-interface plugin: a page launched inside the host application (section 1 of the
 * description). It needs a code from a launch, so `connect` does not take it.
 *
 * @see the description, sections 4.1 and 5.3
 * @example
 * userInterfacePlugin({ clientId: "planner", privateKey })
 */
export function userInterfacePlugin(settings: Settings<UserInterfacePluginSettings>): PersonCredential<"A"> {
  return personCredential("A", settings);
}
