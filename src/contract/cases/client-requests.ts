/** Variant B's token request (section 4.2) by a service account, and what its answers show. */
import { type CaseDefinition, defineCases, learnt, type Verdict } from "../case.js";
import { NotTried } from "../errors.js";
import type { Answer } from "../exchange.js";
import { accountFields, type ClientRequest, type Fields, type Kit, tokenIn } from "../kit.js";
import { exampleOf } from "../learning/schema.js";
import type { DeploymentSettings } from "../learning/settings.js";
import { randomText } from "../person.js";
import { byB, findLifetime, isAccepted, refusals } from "./judge.js";

/**
 * A token request that is right but for changed fields and what `more` changes. Cases that share it
 * send it once.
 */
function request(what: string, changes: Fields, more?: (kit: Kit) => ClientRequest) {
  const send = (kit: Kit, note: string) =>
    kit.share(note, () => {
      const fields = { ...accountFields(kit), ...changes };
      return kit.requestTokenOfB(note, { fields, ...more?.(kit) });
    });
  return { note: `a token request ${what}`, send };
}

const wrongGrant = request("with a made-up grant_type", { grant_type: "bivariant-contract" });
const wrongType = request("declared as text/plain", {}, () => ({
  headers: { "content-type": "text/plain" },
}));
// Made up for each run.
const wrongSecret = request("with a made-up client_secret", {}, (kit) => ({
  fields: { ...accountFields(kit), client_secret: randomText() },
}));
const wrongClient = request("of a made-up client", {}, (kit) => ({
  fields: { ...accountFields(kit), client_id: randomText() },
}));

function basic(kit: Kit): string {
  const { clientId, clientSecret } = kit.need("serviceAccount");
  return `Basic ${btoa([clientId, clientSecret].map(encodeURIComponent).join(":"))}`;
}

const needs = ["serviceAccount"] as const;
const ofTheAccount = {
  ...byB,
  needs,
  costs: { requests: 2 },
  control: (kit: Kit) => kit.granted("B"),
};

function lifetimeIn(fields: Answer["fields"]): DeploymentSettings {
  const seconds = fields?.expires_in;
  const isShown = typeof seconds === "number" && Number.isInteger(seconds) && seconds > 0;
  return isShown ? { tokenLifetimeSeconds: seconds } : {};
}

/** RFC 6749 section 5.2. */
function isErrorCode(value: unknown): boolean {
  return typeof value === "string" && /^[ !#-[\]-~]+$/.test(value);
}

/** What several refusals of the token endpoint have in common. */
function errorsOf(answers: readonly Answer[]): Verdict {
  const statuses = [...new Set(answers.map(({ status }) => status))];
  const [status] = statuses;
  if (status === undefined) throw new NotTried("No request was refused.");
  const isStandard = answers.every(({ fields }) => isErrorCode(fields?.error));
  const [example, other] = new Set(
    answers.map(({ fields }) => JSON.stringify(fields && exampleOf(fields))),
  );
  const common = isStandard || other !== undefined ? undefined : example;
  const shape = isStandard
    ? "A JSON object as in RFC 6749 section 5.2"
    : common === undefined
      ? "Without a shape in common"
      : `Of the shape ${common.slice(0, 200)}`;
  return learnt(`${shape}, with ${statuses.join(", ")}.`, {
    // One refusal shows no rule: its status may be that of the mistake.
    ...(answers.length > 1 && statuses.length === 1 && { clientErrorStatus: status }),
    ...(common !== undefined && { clientErrorBody: JSON.parse(common) }),
  });
}

/** Plausible lifetimes of an access token. */
const tokenLifetimes = [300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 43_200, 86_400];

async function isAcceptedAfter(kit: Kit, seconds: number) {
  const note = "a new token of the service account";
  const answer = await kit.requestTokenOfB(note, { fields: accountFields(kit) });
  const token = tokenIn(answer, "A later token request of the service account");
  await kit.wait(seconds);
  return isAccepted(await kit.call(`a call with a token of ${seconds} s`, "B", token));
}

const requestRules = refusals("B", ofTheAccount, {
  "client-request.method": request("by PUT", {}, () => ({ method: "PUT" })),
  "client-request.media-type": wrongType,
  "client-request.body-size": {
    ...request("of more than 1 MiB", {}, (kit) => ({
      fields: { ...accountFields(kit), padding: "x".repeat(2 ** 20) },
    })),
    // A firewall may count it as an attack, and lock the caller out.
    safe: false,
  },
  "client-request.json": request("in an array", {}, () => ({ body: (json) => `[${json}]` })),
  "client-request.one-authentication": request(
    "with the secret in the body and in an Authorization header",
    {},
    (kit) => ({ headers: { authorization: basic(kit) } }),
  ),
  "client-request.grant-type": wrongGrant,
  "client-request.fields": request("without client_id", { client_id: undefined }),
  "client.authentication": {
    note: "a token request with a wrong client_secret or an unknown client_id",
    costs: { requests: 3 },
    async send(kit) {
      const answer = await wrongSecret.send(kit, wrongSecret.note);
      return answer.accessToken === undefined ? wrongClient.send(kit, wrongClient.note) : answer;
    },
  },
});

const ofControl = { needs, costs: { requests: 1 } };

const facts = defineCases("B", ofControl, {
  "token-success-status.b": {
    section: "4.2",
    says: "A right token request shows the status of a success.",
    async run(kit) {
      const { status } = await kit.granted("B");
      return learnt(`A success is answered with ${status}.`, { successStatus: status });
    },
  },
  "variant-b-token-fields": {
    says: "A right token request shows the fields of the answer besides access_token.",
    async run(kit) {
      const { fields = {} } = await kit.granted("B");
      const { access_token: _, refresh_token: __, ...others } = fields;
      const tokenResponseExtras = Object(exampleOf(others));
      const names = Object.keys(tokenResponseExtras).slice(0, 20);
      return learnt(names.length === 0 ? "No other field." : `Also ${names.join(", ")}.`, {
        tokenResponseExtras,
        ...lifetimeIn(fields),
      });
    },
  },
  "variant-b-errors": {
    says:
      "The refusals of a made-up grant_type, of text/plain and of a wrong secret show status " +
      "and body of an error.",
    costs: { requests: 4 },
    async run(kit) {
      await kit.granted("B");
      const answers: Answer[] = [];
      for (const { send, note } of [wrongGrant, wrongType, wrongSecret])
        answers.push(await send(kit, note));
      return errorsOf(answers.filter(({ accessToken }) => accessToken === undefined));
    },
  },
});

export const clientRequestCases: readonly CaseDefinition[] = [...requestRules, ...facts];

/** Cases that wait, which are tried last, because the tokens of the others expire meanwhile. */
export const waitingClientRequestCases: readonly CaseDefinition[] = defineCases("B", ofControl, {
  "tokenLifetimeSeconds.b": {
    section: "5.9, 8",
    says:
      "expires_in, or else calls with a token of growing age, show how long an access token " +
      "is accepted.",
    expected: "An hour by default.",
    costs: { requests: 13, seconds: 250_000 },
    async run(kit) {
      const shown = lifetimeIn((await kit.granted("B")).fields);
      if (shown.tokenLifetimeSeconds !== undefined)
        return learnt(`expires_in is ${shown.tokenLifetimeSeconds}.`, shown);
      if (!(await isAcceptedAfter(kit, 0)))
        throw new NotTried(
          "The device list refuses the service account, whatever the age of its token.",
        );
      const { observed, seconds } = await findLifetime(tokenLifetimes, (age) =>
        isAcceptedAfter(kit, age),
      );
      return learnt(
        `A token is accepted for ${observed}.`,
        seconds ? { tokenLifetimeSeconds: seconds } : {},
      );
    },
  },
});
