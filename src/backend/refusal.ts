/** What the routes refuse before anything is done: a status, a stable code and what to do, and nothing of the request. */

export type RefusalCode =
  | "route_unknown"
  | "method_not_allowed"
  | "type_not_supported"
  | "body_too_large"
  | "request_invalid"
  | "origin_refused"
  | "host_unknown"
  | "tenant_missing"
  | "tenant_unknown"
  | "return_to_refused"
  | "code_spent"
  | "state_mismatch"
  | "login_expired"
  | "client_gone";

const kinds: Readonly<Record<RefusalCode, { readonly status: number; readonly message: string }>> = {
  route_unknown: { status: 404, message: "There is no such route." },
  method_not_allowed: { status: 405, message: "This route takes another method." },
  type_not_supported: { status: 415, message: "Send the body as application/json." },
  body_too_large: { status: 413, message: "Send a shorter body." },
  request_invalid: { status: 400, message: "Send a JSON object, in UTF-8." },
  origin_refused: {
    status: 403,
    message:
      "Requests of this origin are not accepted: it is neither the backend's own nor one of its origins.",
  },
  host_unknown: { status: 403, message: "No deployment is configured for this host application and tenant." },
  tenant_missing: {
    status: 400,
    message:
      "No tenant is named, and not exactly one has a login: name it, as login?tenant=acme (the option tenant of startSession).",
  },
  tenant_unknown: { status: 404, message: "No deployment with a login is configured for this tenant." },
  return_to_refused: {
    status: 400,
    message:
      "return_to must be a path of the application itself, of at most 2048 characters with its origin.",
  },
  code_spent: { status: 409, message: "This code was sent before. Open the plugin again." },
  state_mismatch: { status: 400, message: "This login was not begun in this browser. Log in again." },
  // Nobody reads this one.
  client_gone: { status: 499, message: "The browser went away." },
  login_expired: { status: 400, message: "This login took too long. Log in again." },
};

export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  /** `message`: in place of the usual one; nothing of the request may be in it, for it is shown to whoever asked. */
  constructor(
    code: RefusalCode,
    {
      headers = {},
      message = kinds[code].message,
    }: { readonly headers?: Readonly<Record<string, string>>; readonly message?: string } = {},
  ) {
    super(message);
    this.name = "Refusal";
    this.code = code;
    this.status = kinds[code].status;
    this.headers = headers;
  }
}
