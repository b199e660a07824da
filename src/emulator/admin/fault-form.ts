// What can be typed about each fault, and how it is read.
import { EmulatorError } from "../emulator-error.js";
import { type Fault, type FaultName, faultMoments } from "../faults/fault.js";

/** One line or area of the form; `read` may throw. */
export interface FaultField {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly rows?: number;
  readonly required?: boolean;
  read(text: string): unknown;
}

const text = (written: string): unknown => written;
/** What is no number stays what it is, for the fault's own check to name. */
const number = (written: string): unknown => (Number.isNaN(Number(written)) ? written : Number(written));

function json(name: string): FaultField["read"] {
  return (written) => {
    try {
      return JSON.parse(written) as unknown;
    } catch {
      throw new EmulatorError("option_invalid", name, { issues: [`${name}: is not JSON`] });
    }
  };
}

/** Beside the moment, the count and what it matches. */
export const faultFields: Readonly<Record<FaultName, readonly FaultField[]>> = {
  status: [
    { name: "status", label: "Status", hint: "200 to 599.", required: true, read: number },
    { name: "body", label: "Body", hint: "JSON. Default: none.", rows: 2, read: json("body") },
    {
      name: "headers",
      label: "Headers",
      hint: 'JSON: {"x-request-id": "1"}.',
      rows: 2,
      read: json("headers"),
    },
  ],
  "rate-limited": [
    {
      name: "retryAfter",
      label: "Retry-After",
      hint: "Seconds, date, absent, or any other text as it is. Default: 1.",
      read: number,
    },
  ],
  reset: [],
  truncated: [{ name: "bytes", label: "Bytes that are sent", hint: "Default: half of them.", read: number }],
  slow: [
    {
      name: "bytesPerSecond",
      label: "Bytes a second",
      hint: "Default: 10, unless there is a delay.",
      read: number,
    },
    { name: "delayMs", label: "Delay in milliseconds", hint: "Of real time. Default: 0.", read: number },
  ],
  "malformed-json": [],
  "content-type": [{ name: "contentType", label: "Content type", required: true, read: text }],
  fields: [
    {
      name: "fields",
      label: "Fields",
      hint: 'JSON, where null removes one: {"expires_in": null}.',
      rows: 2,
      required: true,
      read: json("fields"),
    },
  ],
  "lost-answer": [],
  "duplicate-auth-code": [],
  "skewed-date": [
    { name: "byMs", label: "Milliseconds", hint: "Negative is the past.", required: true, read: number },
  ],
};

export const faultNames = Object.keys(faultMoments) as FaultName[];

const MATCHED = ["tenantId", "clientId", "operation", "method", "path", "grant", "variant"];

/** What was left empty is left out. @throws EmulatorError `option_invalid` for what is not JSON */
export function readFault(fields: URLSearchParams): Fault {
  const read = (name: string) => (fields.get(name) ?? "").trim();
  const name = read("name") as FaultName;
  const asked = Object.hasOwn(faultFields, name) ? faultFields[name] : [];
  const own = asked.map(({ name, read: parse }) => [name, read(name) === "" ? undefined : parse(read(name))]);
  const match = MATCHED.map((part) => [part, read(part)]).filter(([, value]) => value !== "");
  const fault = {
    name,
    ...Object.fromEntries(own),
    at: read("at") || undefined,
    count: read("count") === "" ? undefined : number(read("count")),
    probability: read("probability") === "" ? undefined : number(read("probability")),
    seed: read("seed") === "" ? undefined : number(read("seed")),
    match: match.length === 0 ? undefined : Object.fromEntries(match),
  };
  return Object.fromEntries(
    Object.entries(fault).filter(([, value]) => value !== undefined),
  ) as unknown as Fault;
}
