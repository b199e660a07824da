/** A credential that is begun and lacks its client id: silently leaving it out would choose another identity. */
import { ConfigurationError, type Variant } from "../../errors.js";
import { namesOf, type SettingName } from "./setting-table.js";

export function incomplete(variant: Variant, option: SettingName): ConfigurationError {
  return new ConfigurationError(
    "credential_missing",
    `Variant ${variant}'s credential is incomplete: the client id is missing. Set it with ${namesOf(option)}.`,
    { option, variant },
  );
}
