/** The words and the likely causes of a refused call. Loaded lazily. */
import type { OperationEntry } from "../../generated/operations.js";
import { callSupport } from "../auth/auth.js";
import type { PersonRequiredError } from "../auth/person/stored-grant.js";
import { type ApiErrorCode, type Cause, wireText } from "../errors.js";
import type { RefusedCall } from "./call-error.js";
import type { CallInit } from "./init.js";

/**
 * Says what the answer means and what to do, as the rest of "<operation> was answered <status>",
 * and then its body.
 */
export function explainCall(
  call: RefusedCall,
  code: ApiErrorCode,
): {
  readonly text: string;
  readonly causes: readonly Cause[] | undefined;
  readonly ending: string;
} {
  const { required } = call;
  const needsPerson = call.auth[callSupport]?.needsPerson;
  const { status } = call.response;
  const causes = required
    ? causesOfRefusedPerson(required, status)
    : status === 403
      ? causesOf403(call)
      : undefined;
  const isFinal = call.isReplayed === undefined || needsPerson;
  const replay = isFinal ? "" : call.isReplayed ? replayed : notReplayed;
  const isSilent = code === "api_refused" && call.body === undefined;
  const isUnclear = code === "api_failed" && !call.isIdempotent;
  const text = status === 304 ? unchanged : isUnclear ? unclear : isSilent ? silent : texts[code];
  const readBody = status === 403 ? "Read the body of the error." : "";
  const moved = call.looksMoved && !needsPerson ? mayHaveMoved : "";
  const next = required?.message ?? causes?.[0]?.remedy ?? `${readBody} ${replay} ${moved}`.trim();
  return { text: `${text} ${next}`, causes, ending: bodyAsText(call) };
}

const mostCharactersOfBody = 500;
const namesOfSecrets = /auth|cookie|key|pass|secret|session|sign|token/;

/** Takes the name from a cookie, and the scheme from credentials. */
const withoutName = (part: string) => part.replace(/^[^=\s]*[=\s]+([^=\s])/, "$1");

/**
 * The body for the end of a message. A secret of one or two characters would be found in every
 * body.
 */
function bodyAsText({ body, sent }: RefusedCall): string {
  if (sent === undefined || body === undefined || body instanceof Blob) return "";
  const secrets = sent.tokens.flatMap((token) => token?.value ?? []);
  for (const [name, value] of Object.entries(sent.headers))
    if (namesOfSecrets.test(name)) secrets.push(...value.split(/; */).map(withoutName));
  let text: string;
  try {
    text = typeof body === "string" ? body : JSON.stringify(body);
  } catch {
    return ""; // It is nested too deeply.
  }
  const lower = (one: string) => one.toLowerCase();
  const forms = secrets.filter(({ length }) => length > 2).flatMap(formsOf);
  const most = mostCharactersOfBody;
  if (text && wireText(lower(text), forms.map(lower), most) === undefined)
    return " The body is left out, since it repeats a secret that was sent.";
  const shown = wireText(text, [], most);
  return shown ? ` The body: ${shown}` : "";
}

/**
 * A secret, as it is in a URL, and as base64 after 0 to 2 bytes more, which `wireText` does not
 * look for.
 */
function formsOf(secret: string): string[] {
  const { length } = secret;
  // A header holds no character that btoa refuses.
  const base64 = [0, 1, 2].map((at) => btoa(secret.slice(at, length - ((length - at) % 3))));
  return [secret, encodeURIComponent(secret), ...base64];
}

const pluginSettings = "Settings, Tenant Settings, External Plugins";

const texts: Readonly<Record<ApiErrorCode, string>> = {
  api_unauthorized:
    ": the token was refused. Check whether the route accepts such tokens, and the plugin, " +
    "client or account is enabled.",
  api_forbidden: ": the token does not permit this call.",
  api_rate_limited: ": a rate limit was exceeded. Try again later, or raise retryDeadlineMs.",
  api_refused: ": the call was refused. Read the body of the error.",
  api_failed: ": the server failed. Try again later.",
  api_undocumented:
    ", which the document does not list for this operation. Read its body, and list it there.",
};

const silent =
  ": the call was refused, without a body. Check its parameters and body against the document.";

/** RFC 9110 section 15.4.5. */
const unchanged = ": nothing has changed.";

/** Gateways answer 502, 503 and 504 also after the service has accepted a call. */
const unclear =
  ": the server failed. The call may have been processed: look before you send it again.";

/**
 * A held token works until it expires, and only a token request that is answered 404 starts a
 * detection.
 */
const mayHaveMoved =
  "Check baseUrl. The deployment may have moved to the other variant: " +
  "service.auth.invalidate(await service.auth.getAccessToken()) drops the token, and the next " +
  "call finds out.";

const replayed = "The token was renewed, and the call was sent once more.";
const notReplayed =
  "It was not sent once more: that needs a token older than 30 s, and a body that can be " +
  "sent again.";

/**
 * The causes of a 403, the likeliest first. In Variant A an empty body has those of section 7.2 of
 * the description, and for a launched plugin that of section 1: its reach is the scopes intersected
 * with the operator's capabilities.
 */
function causesOf403({ auth, operation, given, body, hasWorked }: RefusedCall) {
  const isPerson = auth[callSupport]?.refused !== undefined;
  if (auth.variant === "B") {
    const who = isPerson
      ? "person who logged in"
      : "service account (the admin area, Service accounts)";
    const summary = "The role does not permit this call";
    const evidence =
      "A token reaches what the role permits (section 2.5). Errors of Variant B are not shown.";
    return [
      {
        id: "role_missing",
        summary,
        evidence,
        remedy: `Ask the customer to check the role of the ${who}.`,
      },
    ];
  }
  if (body !== undefined) return undefined;
  const worked = hasWorked ? " The operation succeeded with this token before." : "";
  const cause = (id: string, summary: string, evidence: string, remedy: string): Cause => {
    return { id, summary, evidence: `A 403 with an empty body.${worked} ${evidence}`, remedy };
  };
  const scope = cause(
    "scope_missing",
    "The token lacks the scope of the endpoint",
    "A scope granted after the token was minted reaches only the next token.",
    "Ask the customer to grant the scope under " +
      `${pluginSettings}. ${isPerson ? "The next launch carries it." : dropToken}`,
  );
  const operator = cause(
    "operator_not_capable",
    "The operator lacks the capability for this call",
    "A launched plugin reaches only what its operator may do (section 1).",
    "Ask the customer to permit it for the operator.",
  );
  const narrowed = cause(
    "grant_narrowed",
    "The customer narrowed the grant later",
    "The service checks the registration on each call.",
    `Ask the customer to check the granted scopes under ${pluginSettings}.`,
  );
  const device = cause(
    "device_restricted",
    "The plugin is limited to other devices",
    "The operation names a device.",
    `Ask the customer to check the device restriction under ${pluginSettings}.`,
  );
  // A token that succeeded before has the scope. What differs now is the device or the grant.
  const isAboutDevice = namesDevice(operation, given);
  const ranked = hasWorked ? [device, narrowed, operator] : [scope, operator, narrowed, device];
  return ranked.filter(
    (one) => (one !== device || isAboutDevice) && (one !== operator || isPerson),
  );
}

/**
 * Whether the path, the query or the body has a parameter for a device, by a mark in the document
 * or by its name.
 */
function namesDevice(
  { path, deviceParameter }: OperationEntry,
  { params, body }: CallInit,
): boolean {
  // The bytes of a Buffer are its keys too.
  const inBody =
    typeof body === "object" && !ArrayBuffer.isView(body) ? Object.keys(body ?? {}) : [];
  const inPath = [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name = ""]) => name);
  const names = [...inPath, ...Object.keys(params?.query ?? {}), ...inBody];
  const marked = typeof deviceParameter === "object" ? deviceParameter.name : deviceParameter;
  return names.some((name) => /device/i.test(name) || name === marked);
}

const dropToken =
  "Then drop the token, so that the next one carries the scope: " +
  "service.auth.invalidate(await service.auth.getAccessToken()).";

/**
 * The description does not say which status a disabled plugin or a wrong route gets, so a refusal
 * may mean either.
 */
function causesOfRefusedPerson(
  { variant, code }: PersonRequiredError,
  status: number,
): readonly Cause[] {
  const [event, action, client, place] =
    variant === "A"
      ? ["launch", "open the plugin again from the host application", "plugin", pluginSettings]
      : ["login", "log in again", "client", "the admin area under API clients"];
  return [
    {
      id: `${event}_over`,
      summary: `The service no longer accepts the token of this ${event}`,
      evidence:
        `A ${status} for a token older than 30 s, which only a new ${event} can ` +
        `replace (${code}).`,
      remedy: `Ask the person to ${action}.`,
    },
    {
      id: "route_refuses_token",
      summary: `The route does not accept tokens of this ${client}, or the ${client} was disabled`,
      evidence: `The description shows the status for neither. A new ${event} would not help.`,
      remedy:
        "Check whether another operation succeeds with the same token. " +
        `If not, ask the customer to look under ${place}.`,
    },
  ];
}
