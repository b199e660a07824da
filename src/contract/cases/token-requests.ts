/**
 * Variant A's token request (section 4.1): its form, which plugin may ask (section 3), and what its
 * answers show (section 7.1).
 */
import { base64url } from "jose";
import { breaks, type CaseDefinition, defineCases, holds, learnt, verdict } from "../case.js";
import { NotTried } from "../errors.js";
import type { Answer } from "../exchange.js";
import { type Kit, type PluginRequest, shownAnswer } from "../kit.js";
import { byA, type Group, malformedErrors, observedOf, type Refusal, refusals } from "./judge.js";

type RefusedRequest = Refusal<unknown, Answer> & { readonly send: (kit: Kit) => Promise<Answer> };

/**
 * A token request that is right but for a change. Cases that share it send it once, after a right
 * one has succeeded.
 */
export function request(
  note: string,
  change: PluginRequest | ((kit: Kit) => PluginRequest),
  more: Pick<RefusedRequest, "errors" | "needs"> = {},
): RefusedRequest {
  const send = (kit: Kit) =>
    kit.share(`refused: ${note}`, async () => {
      await kit.granted("A");
      return kit.requestTokenOfA(note, typeof change === "function" ? change(kit) : change);
    });
  return { note, send, ...more };
}

/** The group of what must be refused to the service plugin. */
export const ofPlugin: Group<Answer, Answer> = {
  ...byA,
  needs: ["tenantId", "plugin"],
  costs: { requests: 2, slots: 2 },
  control: (kit) => kit.granted("A"),
};

/**
 * RFC 6749 section 5.2 has invalid_client for a failed authentication, and invalid_request for a
 * second one.
 */
const authenticationErrors = [...malformedErrors, "invalid_client"];
/**
 * The table of section 7.1 and the sentence above it contradict each other: see the unknown
 * error-opacity.
 */
const refusedPluginErrors = ["invalid_grant", "invalid_client"] as const;

const withoutClientId = request(
  "a token request without client_id",
  { fields: { client_id: undefined } },
  { errors: malformedErrors },
);
const unregisteredPlugin = request(
  "a token request of a plugin that is not registered",
  (kit) => ({ plugin: { ...kit.need("plugin"), clientId: "bivariant-contract-unregistered" } }),
  { errors: refusedPluginErrors },
);
const refreshToken = request("a token request with grant_type refresh_token", {
  fields: { grant_type: "refresh_token", refresh_token: "made-up" },
});
export const wrongKey: RefusedRequest = request(
  "an assertion whose signature is of another key",
  () => ({ assertion: { signature: madeUpSignature() } }),
);

/**
 * As long as that of a key of 2048 bits. Without the key no server can tell it from the signature
 * of another.
 */
function madeUpSignature(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(256));
  bytes[0] = 0; // A signature is less than the modulus (RFC 8017 section 8.2.2).
  return base64url.encode(bytes);
}

/** What the cases about every failure look at. One that is not refused breaks a case of its own. */
async function sharedRefusals(kit: Kit) {
  const answers: Answer[] = [];
  for (const one of [unregisteredPlugin, refreshToken, wrongKey]) answers.push(await one.send(kit));
  const refused = answers.filter(({ accessToken }) => accessToken === undefined);
  if (refused.length === 0) throw new NotTried("Nothing was refused.");
  return refused;
}

const fixedText = /^The token request was rejected\.?$/;
const fixedBody = /^\{"error_description":"The token request was rejected\.?"\}$/;

const { needs } = ofPlugin;

export const tokenRequestCases: readonly CaseDefinition[] = [
  ...defineCases(
    "A",
    { needs: ["tenantId"], costs: { requests: 1, slots: 1 } },
    {
      "token-request.method": {
        says: "GET on the token endpoint gets no token.",
        expected: "405; the description shows POST alone, so 400 and 404 will do.",
        async run(kit) {
          const url = kit.tokenUrlOfA();
          const answer = await kit.send({ note: "GET instead of POST", method: "GET", url });
          return verdict([400, 404, 405].includes(answer.status), observedOf(answer));
        },
      },
    },
  ),
  ...refusals("A", ofPlugin, {
    "token-request.media-type": request(
      "a token request whose Content-Type is application/json",
      { headers: { "content-type": "application/json" } },
      { errors: malformedErrors },
    ),
    "token-request.body-size": request(
      "a token request of 1 MiB",
      { body: (form) => `${form}&padding=${"x".repeat(1024 * 1024)}` },
      { errors: malformedErrors },
    ),
    "token-request.duplicate-parameter": request(
      "a token request with grant_type twice",
      { body: (form) => `${form}&grant_type=client_credentials` },
      { errors: malformedErrors },
    ),
    "token-request.one-authentication.header": request(
      "a token request with an Authorization header besides the assertion",
      { headers: { authorization: `Basic ${btoa("bivariant-contract:made-up")}` } },
      { errors: authenticationErrors },
    ),
    "token-request.one-authentication.secret": request(
      "a token request with client_secret besides the assertion",
      { fields: { client_secret: "made-up" } },
      { errors: authenticationErrors },
    ),
    "token-request.grant-type.refresh-token": refreshToken,
    "token-request.grant-type.made-up": request("a token request with a made-up grant_type", {
      fields: { grant_type: "bivariant-contract" },
    }),
    "token-request.assertion-type": request(
      "a token request whose client_assertion_type is that of SAML",
      {
        fields: {
          client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:saml2-bearer",
        },
      },
    ),
    "token-request.client-id": withoutClientId,
    "plugin.registered": unregisteredPlugin,
    "plugin.enabled": request(
      "a token request of a disabled plugin",
      (kit) => ({ plugin: kit.need("disabledPlugin") }),
      { errors: refusedPluginErrors, needs: ["disabledPlugin"] },
    ),
    "plugin.grant": request(
      "a token request of a user-interface plugin with client_credentials",
      (kit) => ({ plugin: kit.need("pagePlugin") }),
      { needs: ["pagePlugin"] },
    ),
  }),
  ...defineCases(
    "A",
    { needs, costs: { requests: 4, slots: 4 } },
    {
      "token-request.opacity": {
        says: "Every refusal has error, the same fixed error_description, and no other field.",
        expected:
          'error_description is "The token request was rejected.", with or without the full stop.',
        async run(kit) {
          const besidesError = ({ fields }: Answer) =>
            JSON.stringify({ ...fields, error: undefined });
          const bodies = new Set((await sharedRefusals(kit)).map(besidesError));
          const isOpaque = bodies.size === 1 && fixedBody.test([...bodies].join());
          const plugin = await unregisteredPlugin.send(kit);
          const key = await wrongKey.send(kit);
          const [one, other] = [shownAnswer(plugin), shownAnswer(key)];
          const told = isSameAnswer(plugin, key)
            ? "A missing plugin cannot be told from a wrong key"
            : "A missing plugin can be told from a wrong key by " +
              `${one === other ? "its headers or text" : `error: ${one}, ${other}`}`;
          if (isOpaque) return holds(`Every refusal has the fixed text. ${told}.`);
          return breaks(
            `A refusal has another text or field, or the texts of two differ. ${told}.`,
          );
        },
      },
      "token-request.failure-status": {
        says: "Every refusal of a token request is answered 400.",
        expected: "400, whatever the reason.",
        async run(kit) {
          const statuses = [...new Set((await sharedRefusals(kit)).map(({ status }) => status))];
          return verdict(`${statuses}` === "400", `The statuses were ${statuses.join(", ")}.`);
        },
      },
      "error-opacity": {
        says: "The error for a plugin that is not registered is invalid_grant or invalid_client.",
        async run(kit) {
          const answer = await unregisteredPlugin.send(kit);
          const refusedPluginError = oneOf(refusedPluginErrors, answer);
          return learnt(`An unregistered plugin gets ${shownAnswer(answer)}.`, {
            refusedPluginError,
          });
        },
      },
      "malformed-request-error": {
        says:
          "The error for a token request that lacks client_id is invalid_grant or " +
          "invalid_request.",
        async run(kit) {
          const answer = await withoutClientId.send(kit);
          const malformedError = oneOf(malformedErrors, answer);
          return learnt(`A request without client_id gets ${shownAnswer(answer)}.`, {
            malformedError,
          });
        },
      },
      "error-description-full-stop": {
        says: "The fixed error_description ends with a full stop or without one.",
        async run(kit) {
          const [answer] = await sharedRefusals(kit);
          const text = String(answer?.fields?.error_description);
          if (!fixedText.test(text)) throw new NotTried("error_description is not the fixed text.");
          const fixedTextFullStop = text.endsWith(".");
          return learnt(`The text has ${fixedTextFullStop ? "a" : "no"} full stop.`, {
            fixedTextFullStop,
          });
        },
      },
    },
  ),
  ...defineCases(
    "A",
    { needs, costs: { requests: 1, slots: 1 } },
    {
      "revo-spelling": {
        says: "The token response has revo as an object, or the keys revo.tenant and revo.roles.",
        async run(kit) {
          const { fields = {} } = await kit.granted("A");
          const isFlat = Object.keys(fields).some((name) => name.startsWith("revo."));
          if (!isFlat && typeof fields.revo !== "object")
            throw new NotTried("The token response has no revo.");
          return learnt(isFlat ? "The keys have a dot: revo.tenant." : "revo is an object.", {
            revoShape: isFlat ? "flat" : "nested",
          });
        },
      },
      "token-success-status.a": {
        section: "4.1",
        says: "A right token request of Variant A is answered with some 2xx.",
        async run(kit) {
          const { status: successStatus } = await kit.granted("A");
          return learnt(`A token comes with ${successStatus}.`, { successStatus });
        },
      },
      "token-lifetime.a": {
        section: "2.3, 8",
        says:
          "expires_in of Variant A is the lifetime of its tokens, 3600 in the " +
          "reference response.",
        expected: "A whole number of seconds.",
        async run(kit) {
          const tokenLifetimeSeconds = (await kit.granted("A")).fields?.expires_in;
          if (
            typeof tokenLifetimeSeconds !== "number" ||
            !Number.isSafeInteger(tokenLifetimeSeconds)
          )
            throw new NotTried("expires_in is not a whole number.");
          return learnt(`expires_in is ${tokenLifetimeSeconds}.`, { tokenLifetimeSeconds });
        },
      },
    },
  ),
];

/** Compares what a caller sees: status, body, and the names of the headers. */
function isSameAnswer(one: Answer, other: Answer): boolean {
  const [a, b] = [one, other].map(({ status, text, headers }) =>
    [status, text, ...headers.keys()].join(),
  );
  return a === b;
}

function oneOf<Name extends string>(names: readonly Name[], { fields }: Answer): Name | undefined {
  return names.find((name) => name === fields?.error);
}
