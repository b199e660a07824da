// What the description leaves open and the handlers have to know: one member per option, with its default.
import { type Devices, defaultDevices } from "./api/device-list.js";

/** See `options` for what each of them decides. */
export interface Choices {
  readonly unauthenticatedAttemptSpendsCode: boolean;
  readonly requireKid: boolean;
  readonly refusedPluginError: "invalid_grant" | "invalid_client";
  readonly fixedTextFullStop: boolean;
  readonly revoShape: "nested" | "flat";
  readonly tokenResponseExtras: Readonly<Record<string, unknown>>;
  readonly bearerStatus: number;
  readonly pluginTokenRefusedStatus: number;
  /** By the value of `X-Envelope`: the member under which the body then is. */
  readonly envelope: Readonly<Record<string, string>>;
  readonly devices: Devices;
}

export const defaultChoices: Choices = {
  unauthenticatedAttemptSpendsCode: true,
  requireKid: true,
  refusedPluginError: "invalid_grant",
  fixedTextFullStop: true,
  revoShape: "nested",
  tokenResponseExtras: {},
  bearerStatus: 401,
  pluginTokenRefusedStatus: 401,
  envelope: {},
  devices: defaultDevices,
};

/** The settings where there are any, else the defaults. */
export function choicesOf(
  settings: { readonly [Name in keyof Choices]?: Choices[Name] | undefined },
): Choices {
  const names = Object.keys(defaultChoices) as (keyof Choices)[];
  return Object.fromEntries(
    names.map((name) => [name, settings[name] ?? defaultChoices[name]]),
  ) as unknown as Choices;
}
