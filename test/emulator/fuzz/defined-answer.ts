// The answers that each operation documents: anything else is a fault of the emulator.
import type { JournalEntry } from "../../../src/emulator/index.js";
import { REJECTED } from "../plugin-client.js";
import { CALLBACK } from "./world.js";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

type Shape = (answer: Answer) => boolean;

const TOKEN = /^[\w-]{43}$/;
const ERRORS_A = ["invalid_client", "invalid_grant", "invalid_request", "unsupported_grant_type"];
const ERRORS_B = [...ERRORS_A, "invalid_scope"];
const BASE = "/base";

/** Any of these. */
const oneOf =
  (...shapes: readonly Shape[]): Shape =>
  (answer) =>
    shapes.some((shape) => shape(answer));

const json =
  (statuses: readonly number[], fits: (body: Record<string, unknown>) => boolean): Shape =>
  ({ status, headers, text }) => {
    if (!statuses.includes(status) || headers.get("content-type") !== "application/json") return false;
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null && fits(body as Record<string, unknown>);
  };

const empty =
  (status: number, ...present: readonly string[]): Shape =>
  (answer) =>
    answer.status === status && answer.text === "" && present.every((name) => answer.headers.get(name));

const page =
  (...statuses: readonly number[]): Shape =>
  ({ status, headers, text }) =>
    statuses.includes(status) &&
    headers.get("content-type") === "text/html; charset=utf-8" &&
    headers.get("content-security-policy")?.startsWith("default-src 'none'") === true &&
    text.startsWith("<!doctype html>") &&
    !text.includes("<script>alert");

const redirect =
  (status: number, ...starts: readonly string[]): Shape =>
  (answer) =>
    empty(status, "location")(answer) &&
    starts.some((start) => answer.headers.get("location")?.startsWith(start));

const hasOnly = (body: Record<string, unknown>, ...names: readonly string[]): boolean =>
  Object.keys(body).every((name) => names.includes(name));

const isToken = (value: unknown): boolean => typeof value === "string" && TOKEN.test(value);

/** Neither stored nor taken for something else (RFC 6749 sections 5.1 and 5.2). */
const unstored =
  (shape: Shape): Shape =>
  (answer) =>
    answer.headers.get("cache-control") === "no-store" && shape(answer);

const tokenAnswers = {
  A: oneOf(
    json([200], (body) => {
      const { access_token, token_type, expires_in, revo } = body;
      const isNested = hasOnly(body, "access_token", "token_type", "expires_in", "revo");
      const isFlat = revo === undefined && "revo.tenant" in body;
      return isToken(access_token) && token_type === "Bearer" && expires_in === 3600 && (isNested || isFlat);
    }),
    json(
      [400],
      ({ error, error_description }) => ERRORS_A.includes(String(error)) && error_description === REJECTED,
    ),
    empty(429),
  ),
  B: oneOf(
    json([200], (body) => {
      const { access_token, refresh_token = access_token } = body;
      return (
        hasOnly(body, "access_token", "refresh_token") && isToken(access_token) && isToken(refresh_token)
      );
    }),
    json([400, 401, 413, 415], (body) => {
      const { error, error_description: text } = body;
      return ERRORS_B.includes(String(error)) && String(text).startsWith("Refused by the rule: ");
    }),
  ),
};

const refused = (...statuses: readonly number[]): Shape =>
  json(
    statuses,
    (body) => hasOnly(body, "error", "error_description") && typeof body.error_description === "string",
  );

const notFound: Shape = json([404], (body) => hasOnly(body, "error") && body.error === "not_found");

const call: Shape = oneOf(
  json([200], () => true),
  notFound,
  empty(401, "www-authenticate"),
  empty(403),
);

const scripted: Shape = oneOf(refused(400, 403), notFound);

/** By what the journal took the request for. */
const shapes: Readonly<Record<string, Shape>> = {
  authorize: oneOf(page(200, 400, 414), redirect(302, `${CALLBACK}?error=`)),
  showLogin: page(200, 400),
  logIn: oneOf(page(400, 403), redirect(303, `${BASE}/v1/auth/consent?request=`, `${CALLBACK}?error=`)),
  showConsent: page(200, 400),
  decideConsent: oneOf(page(200, 400, 403), redirect(303, `${CALLBACK}?code=`, `${CALLBACK}?error=`)),
  showHost: oneOf(page(200), notFound),
  signInAtHost: oneOf(page(403), redirect(303, `${BASE}/host/`), notFound),
  signOutOfHost: oneOf(redirect(303, `${BASE}/host/`), notFound),
  launchPlugin: oneOf(
    json([201], (body) => hasOnly(body, "url", "origin")),
    scripted,
  ),
  authorizeLaunch: oneOf(
    json([200], (body) => hasOnly(body, "code", "state", "tenantId")),
    scripted,
  ),
  readAsset: ({ status, headers, text }) =>
    status === 200 && headers.get("x-content-type-options") === "nosniff" && text.length > 100,
  listDevices: call,
  inventedGetDevice: call,
  inventedExecuteSchedule: call,
  inventedReadTenantSettings: call,
  readSchedules: call,
  putDevice: call,
};

/** Beside the deployment: the journal does not have it. */
const admin: Shape = oneOf(
  page(200, 400),
  redirect(303, `${BASE}/_emulator`),
  ({ status, headers, text }) =>
    [400, 403, 404, 405].includes(status) &&
    headers.get("content-type") === "text/plain; charset=utf-8" &&
    /^[a-z_]+(: .*)?\n$/.test(text),
  ({ status, headers }) => status === 200 && headers.get("x-content-type-options") === "nosniff",
);

const unserved: Shape = oneOf(notFound, empty(405, "allow"));

/** `entry` is what the journal has of the request; undefined for what is asked of the pages at /_emulator. */
export function isDefined(answer: Answer, method: string, entry: JournalEntry | undefined): boolean {
  const { operation, variant } = entry ?? {};
  // RFC 9110 section 9.3.2: the answer to GET without its content.
  if (method === "HEAD") return answer.text === "" && answer.status < 500;
  if (entry === undefined) return admin(answer);
  if (operation === undefined) return unserved(answer);
  if (operation === "requestToken") return unstored(tokenAnswers[variant ?? "A"])(answer);
  return shapes[operation]?.(answer) ?? false;
}
