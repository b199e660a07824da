/** Variant B's token request (section 4.2) by a service account, and what its answers show. */
import { type CaseDefinition, defineCases, learnt, type Verdict } from "../case.js";
import { NotTried } from "../errors.js";
import type { Answer } from "../exchange.js";
import type { ClientRequest, Kit } from "../kit.js";
import { randomText } from "../person.js";
import type { DeploymentSettings } from "../settings.js";
import { findLifetime, isAccepted, refusedByB } from "./judge.js";

type Changes = Omit<ClientRequest, "note">;
type Fields = { readonly grant_type: string; readonly client_id: string; readonly client_secret: string };

/** Token requests that break one rule, made of the fields of a right one. */
const broken = {
  "a token request by PUT": (fields): Changes => ({ method: "PUT", fields }),
  "a token request declared as text/plain": (fields) => ({
    headers: { "content-type": "text/plain" },
    fields,
  }),
  "a token request of more than 1 MiB": (fields) => ({
    fields: { ...fields, padding: "x".repeat(1024 * 1024) },
  }),
  "a token request in an array": (fields) => ({ fields, body: JSON.stringify([fields]) }),
  "a token request with a second authentication": (fields) => {
    const { client_id, client_secret } = fields;
    const pair = `${encodeURIComponent(client_id)}:${encodeURIComponent(client_secret)}`;
    return { fields, headers: { authorization: `Basic ${btoa(pair)}` } };
  },
  "a token request with a made-up grant_type": (fields) => ({
    fields: { ...fields, grant_type: "bivariant-contract" },
  }),
  "a token request without client_id": (fields) => ({ fields: { ...fields, client_id: undefined } }),
  "a token request with a made-up client_secret": (fields) => ({
    fields: { ...fields, client_secret: randomText() },
  }),
  "a token request of a made-up client": (fields) => ({ fields: { ...fields, client_id: randomText() } }),
} satisfies Record<string, (fields: Fields) => Changes>;

function send(kit: Kit, note: keyof typeof broken): Promise<Answer> {
  return kit.share(note, async () => {
    await kit.tokenOfB();
    const { clientId, clientSecret } = kit.need("serviceAccount");
    const right = { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret };
    return kit.requestTokenOfB({ note, ...broken[note](right) });
  });
}

const refused = "A 4xx without a token. Variant B's errors are not shown.";

function refusedRequest(note: keyof typeof broken): Pick<CaseDefinition, "expected" | "needs" | "run"> & {
  readonly costs: { readonly requests: number };
} {
  return {
    expected: refused,
    needs: ["serviceAccount"],
    costs: { requests: 2 },
    run: async (kit) => refusedByB(await send(kit, note)),
  };
}

/** What stands for a value of the wire in settings: an example of its type. */
function exampleOf(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return "";
  if (typeof value === "number") return 0;
  if (typeof value === "boolean") return false;
  if (Array.isArray(value)) return [];
  if (value === null || typeof value !== "object" || depth > 4) return value === null ? null : {};
  const members = Object.entries(value).map(([name, member]) => [name, exampleOf(member, depth + 1)]);
  return Object.fromEntries(members);
}

/** The values of these are no secrets (RFC 6749 section 5.1), and every other value becomes an example. */
function keptField([name, value]: [string, unknown]): [string, unknown] {
  const isKept = name === "token_type" ? /^[\w-]{1,20}$/ : name === "expires_in" ? /^\d{1,9}$/ : undefined;
  return [name, isKept?.test(String(value)) ? value : exampleOf(value)];
}

function typeOf(value: unknown): string {
  return Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
}

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
  const [first] = answers;
  if (first === undefined) throw new NotTried("No request was refused.");
  const isOneStatus = answers.every(({ status }) => status === first.status);
  const isStandard = answers.every(({ fields }) => isErrorCode(fields?.error));
  const example = JSON.stringify(first.fields && exampleOf(first.fields));
  const isOneShape = answers.every(({ fields }) => JSON.stringify(fields && exampleOf(fields)) === example);
  const shape = isStandard
    ? "A JSON object as in RFC 6749 section 5.2"
    : isOneShape && example !== undefined
      ? `Of the shape ${example.slice(0, 200)}`
      : "Without a shape in common";
  return learnt(`${shape}, with ${[...new Set(answers.map(({ status }) => status))].join(", ")}.`, {
    ...(isOneStatus && { clientErrorStatus: first.status }),
    ...(!isStandard && isOneShape && example !== undefined && { clientErrorBody: JSON.parse(example) }),
  });
}

/** Plausible lifetimes of an access token. */
const tokenLifetimes = [300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 43_200, 86_400];

async function isAcceptedAfter(kit: Kit, seconds: number): Promise<boolean> {
  const { clientId, clientSecret } = kit.need("serviceAccount");
  const fields = { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret };
  const { accessToken } = await kit.requestTokenOfB({ note: "a new token of the service account", fields });
  if (accessToken === undefined)
    throw new NotTried("A later token request of the service account was refused.");
  await kit.wait(seconds);
  const note = `the device list with a token that is ${seconds} s old`;
  return isAccepted(await kit.call({ note, variant: "B", token: accessToken }));
}

export const clientRequestCases: readonly CaseDefinition[] = defineCases("B", {
  "client-request.method": {
    rule: "client-request.method",
    section: "4.2",
    says: "A right token request sent by PUT is refused.",
    ...refusedRequest("a token request by PUT"),
  },
  "client-request.media-type": {
    rule: "client-request.media-type",
    section: "4.2",
    says: "A right token request whose Content-Type is text/plain is refused.",
    ...refusedRequest("a token request declared as text/plain"),
  },
  "client-request.body-size": {
    rule: "client-request.body-size",
    section: "not shown (RFC 9110 section 15.5.14)",
    says: "A token request of more than 1 MiB is refused. A firewall may count it as an attack.",
    safe: false,
    ...refusedRequest("a token request of more than 1 MiB"),
  },
  "client-request.json": {
    rule: "client-request.json",
    section: "4.2",
    says: "A body that is not one JSON object but an array is refused.",
    ...refusedRequest("a token request in an array"),
  },
  "client-request.one-authentication": {
    rule: "client-request.one-authentication",
    section: "not shown (RFC 6749 section 2.3)",
    says: "A token request with the secret both in the body and in an Authorization header is refused.",
    ...refusedRequest("a token request with a second authentication"),
  },
  "client-request.grant-type": {
    rule: "client-request.grant-type",
    section: "4.2",
    says: "A token request with a made-up grant_type is refused.",
    ...refusedRequest("a token request with a made-up grant_type"),
  },
  "client-request.fields": {
    rule: "client-request.fields",
    section: "4.2",
    says: "A token request without client_id is refused.",
    ...refusedRequest("a token request without client_id"),
  },
  "client.authentication": {
    rule: "client.authentication",
    section: "4.2, 5.10",
    says: "A wrong client_secret and a client_id that is not registered are refused. Each is sent once.",
    ...refusedRequest("a token request with a made-up client_secret"),
    costs: { requests: 3 },
    async run(kit) {
      const secret = refusedByB(await send(kit, "a token request with a made-up client_secret"));
      const client = refusedByB(await send(kit, "a token request of a made-up client"));
      const observed = `Wrong secret: ${secret.observed} Unknown client: ${client.observed}`;
      return { ...(secret.result === "breaks" ? secret : client), observed };
    },
  },
  "token-success-status.b": {
    unknown: "token-success-status",
    section: "4.2",
    says: "A right token request shows the status of a success.",
    expected: "Any 2xx: the description does not show it.",
    needs: ["serviceAccount"],
    costs: { requests: 1 },
    async run(kit) {
      await kit.tokenOfB();
      const { status } = await kit.controlOfB();
      return learnt(`A success is answered with ${status}.`, { successStatus: status });
    },
  },
  "variant-b-token-fields": {
    unknown: "variant-b-token-fields",
    section: "4.2",
    says: "A right token request shows the fields of the answer besides access_token.",
    expected: "Fields by name and type: the description does not show them.",
    needs: ["serviceAccount"],
    costs: { requests: 1 },
    async run(kit) {
      await kit.tokenOfB();
      const { fields = {} } = await kit.controlOfB();
      const { access_token: _, refresh_token: __, ...others } = fields;
      const shown = Object.entries(others).map(([name, value]) => `${name.slice(0, 40)} (${typeOf(value)})`);
      return learnt(shown.length === 0 ? "No other field." : `Also ${shown.slice(0, 20).join(", ")}.`, {
        tokenResponseExtras: Object.fromEntries(Object.entries(others).map(keptField)),
        ...lifetimeIn(fields),
      });
    },
  },
  "variant-b-errors": {
    unknown: "variant-b-errors",
    section: "7.3",
    says: "The refusals of a made-up grant_type, of text/plain and of a wrong secret show status and body of an error.",
    expected: "Status and shape: the description does not show them.",
    needs: ["serviceAccount"],
    costs: { requests: 4 },
    async run(kit) {
      const answers = [
        await send(kit, "a token request with a made-up grant_type"),
        await send(kit, "a token request declared as text/plain"),
        await send(kit, "a token request with a made-up client_secret"),
      ];
      return errorsOf(answers.filter(({ accessToken }) => accessToken === undefined));
    },
  },
});

/** Cases that wait, which are tried last, because the tokens of the others expire meanwhile. */
export const waitingClientRequestCases: readonly CaseDefinition[] = defineCases("B", {
  "tokenLifetimeSeconds.b": {
    section: "5.9, 8",
    says: "expires_in, or else calls with a token of growing age, show how long an access token is accepted.",
    expected: "An hour by default.",
    needs: ["serviceAccount"],
    costs: { requests: 13, seconds: 250_000 },
    async run(kit) {
      await kit.tokenOfB();
      const shown = lifetimeIn((await kit.controlOfB()).fields);
      if (shown.tokenLifetimeSeconds !== undefined)
        return learnt(`expires_in is ${shown.tokenLifetimeSeconds}.`, shown);
      if (!(await isAcceptedAfter(kit, 0)))
        throw new NotTried("The device list refuses the service account, whatever the age of its token.");
      const { observed, seconds } = await findLifetime(tokenLifetimes, (age) => isAcceptedAfter(kit, age));
      return learnt(`A token is accepted for ${observed}.`, seconds ? { tokenLifetimeSeconds: seconds } : {});
    },
  },
});
