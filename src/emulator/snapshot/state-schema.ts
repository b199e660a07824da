// What each part of a snapshot's state must be, so that a state that somebody wrote by hand breaks nothing later on.
import { KeyObject } from "node:crypto";
import { z } from "zod";
import { parseFault } from "../faults/parse-fault.js";

const text = z.string();
/** Epoch milliseconds, a duration, a count. */
const number = z.number();
const flag = z.boolean();
const scopes = z.set(text);
/** SHA-256: of another length it could not be compared. */
const digest = z.instanceof(Uint8Array).refine((bytes) => bytes.length === 32);
const roles = z.array(z.strictObject({ name: text, group: text }));
const rsaKey = z.custom<KeyObject>(
  (value) => value instanceof KeyObject && value.asymmetricKeyType === "rsa",
);

const grant = z.strictObject({ scopes, devices: z.set(text).optional() });
const plugin = z.strictObject({
  tenantId: text,
  clientId: text,
  type: z.enum(["service", "user_interface"]),
  enabled: flag,
  roles,
  name: text,
  pageUrl: text.refine((url) => URL.canParse(url)).optional(),
  keys: z.array(z.strictObject({ kid: text.optional(), publicKey: rsaKey })),
  grant,
  formerGrants: z.array(z.strictObject({ grant, from: number, until: number })),
});
const operator = z.strictObject({
  tenantId: text,
  userId: text,
  firstname: text.optional(),
  lastname: text.optional(),
  capabilities: scopes,
  roles,
  passwordDigest: digest.optional(),
});
const serviceAccount = z.strictObject({
  tenantId: text,
  clientId: text,
  secretDigest: digest,
  scopes: scopes.optional(),
});
const apiClient = z.strictObject({
  clientId: text,
  redirectUris: z.array(text.refine((url) => URL.canParse(url))),
  secretDigest: digest.optional(),
  scopes: scopes.optional(),
  name: text,
  tenantId: text.optional(),
});

/** Reaches as far as a Date. */
const instant = number.min(-8.64e15).max(8.64e15);
const clock = z.union([
  z.strictObject({ offsetMs: number.min(-1e17).max(1e17) }),
  z.strictObject({ frozenAt: instant }),
]);
const armed = z.array(z.strictObject({ id: text, fault: z.unknown(), fired: number, drawn: number }));
const faults = z.strictObject({ added: number.int(), armed: text.refine(areArmedFaults) });

/** Throws what the parsing throws: either way it is no snapshot. */
function areArmedFaults(json: string): boolean {
  for (const { fault } of armed.parse(JSON.parse(json))) parseFault(fault);
  return true;
}

const expiring = <Value extends z.ZodType>(value: Value) => z.array(z.tuple([text, value]));
const kept = <Value extends z.ZodType>(value: Value) =>
  expiring(z.strictObject({ value, expiresAt: number }));
const person = { tenantId: text, clientId: text, userId: text };
const granted = { ...person, scopes: scopes.optional() };
const session = z.strictObject({
  operator: z.strictObject({ tenantId: text, userId: text }).optional(),
  expiresAt: number,
});

/** By the names of `stateOf`. */
export const stateSchema: Readonly<Record<string, z.ZodType>> = {
  clock,
  random: number.int().min(0),
  rulesOff: z.array(text),
  faults,
  plugins: z.array(plugin),
  serviceAccounts: z.array(serviceAccount),
  apiClients: z.array(apiClient),
  operators: z.array(operator),
  accessTokens: kept(
    z.strictObject({
      ...granted,
      variant: z.enum(["A", "B"]),
      userId: text.optional(),
      authorizationId: text.optional(),
      expiresAt: number,
      unregistered: z.enum(["plugin", "service account", "operator"]).optional(),
    }),
  ),
  usedAssertionIds: expiring(z.strictObject({ expiresAt: number })),
  launches: kept(
    z.strictObject({
      ...person,
      answers: z.enum(["opaque_code", "launch-parameter"]),
      used: flag,
      expiresAt: number,
    }),
  ),
  launchCodes: kept(
    z.strictObject({ ...person, codeChallenge: text.optional(), spent: flag, expiresAt: number }),
  ),
  pendingLogins: kept(
    z.strictObject({
      request: z.strictObject({
        client: apiClient,
        redirectUri: text.refine((url) => URL.canParse(url)),
        state: text.optional(),
        codeChallenge: text.optional(),
        scopes: scopes.optional(),
      }),
      isDecided: flag,
      expiresAt: number,
    }),
  ),
  authorizationCodes: kept(
    z.strictObject({
      ...granted,
      redirectUri: text,
      codeChallenge: text.optional(),
      authorizationId: text.optional(),
      expiresAt: number,
    }),
  ),
  refreshTokens: kept(z.strictObject({ authorizationId: text, rotated: flag, idleAt: number })),
  authorizations: expiring(
    z.strictObject({
      authorization: z.strictObject({ ...granted, revoked: flag, endsAt: number }),
      expiresAt: number,
    }),
  ),
  hostSessions: kept(session),
  loginSessions: kept(session),
  rateWindow: expiring(z.strictObject({ instants: z.array(number), expiresAt: number })),
};
