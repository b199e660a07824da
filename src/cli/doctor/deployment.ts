/** The checks of the deployment: its address, whether it answers, its certificate, its clock and its variant. */
import { type Detection, isBivariantError, isConfigurationError, type Variant } from "../../errors.js";
import { type Answer, exchange } from "../../http/exchange.js";
import { detectVariant, isTransportError, type TransportError } from "../../index.js";
import { parseBaseUrl } from "../../variants/target.js";
import { namesOf, waysToConfigure } from "../settings.js";
import { type Check, type DoctorInput, type Finding, fail, pass, unknown } from "./finding.js";

export interface Reach {
  readonly isReached: boolean;
  /** What to add to this machine's clock for an assertion, in milliseconds. */
  readonly correctionMs: number;
}

/** Sends one HEAD request to the base URL, without any credential. */
export async function examineReach(input: DoctorInput): Promise<Reach & { findings: Finding[] }> {
  const unreached = { isReached: false, correctionMs: 0 };
  let baseUrl: string;
  try {
    baseUrl = parseBaseUrl(input.baseUrl, input.allowInsecureHttp);
  } catch (error) {
    if (!isConfigurationError(error)) throw error;
    const remedy =
      error.code === "base_url_insecure"
        ? `Set an https address with ${namesOf("baseUrl")}, or pass --allow-insecure-http in a network that you trust.`
        : `Correct it with ${namesOf("baseUrl")}.`;
    const rest = notExamined(
      ["reachability", "tls", "clock"],
      "Not checked, because the base URL is not usable.",
    );
    return { ...unreached, findings: [fail("base_url", error.message, remedy), ...rest] };
  }
  const baseUrlFinding = pass("base_url", baseUrl);
  let answer: Answer;
  try {
    answer = await requestBaseUrl(baseUrl, input);
  } catch (error) {
    if (!isTransportError(error)) throw error;
    return { ...unreached, findings: [baseUrlFinding, ...transportFindings(error, baseUrl)] };
  }
  const { finding, correctionMs } = examineClock(answer);
  const findings = [baseUrlFinding, reachability(answer), tls(baseUrl, input), finding];
  return { isReached: true, correctionMs, findings };
}

function requestBaseUrl(baseUrl: string, input: DoctorInput): Promise<Answer> {
  const { fetch = globalThis.fetch, variant, timeoutMs, signal } = input;
  return exchange(
    (abort) => fetch(`${baseUrl}/`, { method: "HEAD", redirect: "manual", signal: abort }),
    // The variant occurs in errors only.
    { variant: variant ?? "A", baseUrl, now: Date.now, timeoutMs, signal },
  );
}

function reachability({ status }: Answer): Finding {
  if (status === 407)
    return fail(
      "reachability",
      "A proxy on the way requires a user name and a password (407).",
      "Put them into the URL in HTTP_PROXY or HTTPS_PROXY.",
    );
  if (status === 502 || status === 503 || status === 504)
    return unknown(
      "reachability",
      `The answer is ${status}, which gateways and proxies send when the server behind them does not answer.`,
      "Ask the operator of the deployment whether it is up.",
    );
  return pass(
    "reachability",
    `The deployment answers (${status} at its base URL, where it need not serve a page).`,
  );
}

function tls(baseUrl: string, { checksCertificates }: DoctorInput): Finding {
  if (!baseUrl.startsWith("https:"))
    return unknown("tls", "The base URL is plain http, so there is no certificate.");
  return checksCertificates
    ? pass("tls", "The certificate is accepted.")
    : fail(
        "tls",
        "Certificates are not checked, because NODE_TLS_REJECT_UNAUTHORIZED is 0: anyone on the way can read the token.",
        "Unset it. To trust an authority of your own, name its certificate in NODE_EXTRA_CA_CERTS.",
      );
}

function transportFindings({ code, message }: TransportError, baseUrl: string): Finding[] {
  const clock = notExamined(["clock"], "Not compared, because there was no answer.");
  if (code === "tls_failed")
    return [
      pass("reachability", "A server answers at this address."),
      fail("tls", message, tlsRemedy(message)),
      ...clock,
    ];
  const variable = baseUrl.startsWith("https:") ? "HTTPS_PROXY" : "HTTP_PROXY";
  return [
    fail(
      "reachability",
      message,
      `Check the address and the network; behind a proxy also ${variable} and NO_PROXY.`,
    ),
    ...notExamined(["tls"], "Not checked, because there was no answer."),
    ...clock,
  ];
}

/** By the code of the system, which the message contains. */
function tlsRemedy(message: string): string {
  if (/EXPIRED/.test(message)) return "Have the certificate renewed, or correct the clock of this machine.";
  if (/NOT_YET_VALID/.test(message)) return "Correct the clock of this machine, or check the certificate.";
  if (/ALTNAME|HOSTNAME/.test(message)) return "Use a base URL with a name that the certificate holds.";
  if (/SELF_SIGNED|UNABLE_TO_|CERT_UNTRUSTED/.test(message))
    return "Make this machine trust the authority that signed it: name its certificate, a PEM file, in NODE_EXTRA_CA_CERTS.";
  if (/EPROTO|ERR_SSL_/.test(message))
    return "Check the scheme and the port of the base URL: the server there may speak plain http.";
  return "Check the certificate of the deployment, and the authorities that this machine trusts (NODE_EXTRA_CA_CERTS).";
}

function notExamined(checks: readonly Check[], evidence: string): Finding[] {
  return checks.map((check) => unknown(check, evidence));
}

/** Section 2.2 of the description: "30 seconds of clock tolerance". */
const toleranceMs = 30_000;
/** As in the client: a smaller difference is left to the tolerance. */
const correctBeyondMs = 15_000;

/** Compares the clocks by the `Date` of an answer. */
function examineClock({ headers, sentAt, receivedAt }: Answer): { finding: Finding; correctionMs: number } {
  const date = Date.parse(headers.get("date") ?? "");
  if (Number.isNaN(date) || headers.has("age")) {
    const why = Number.isNaN(date) ? "The answer has no Date" : "The answer comes from a cache";
    const remedy = "Compare this machine's clock with another clock.";
    return {
      finding: unknown("clock", `${why}, so the clocks cannot be compared.`, remedy),
      correctionMs: 0,
    };
  }
  // `Date` has whole seconds, so on average it is half a second old.
  const offsetMs = date + 500 - (sentAt + receivedAt) / 2;
  const errorMs = (receivedAt - sentAt) / 2 + 1_000;
  const distanceMs = Math.abs(offsetMs);
  const seconds = (ms: number) => Math.round(ms / 1000);
  const evidence =
    distanceMs <= errorMs
      ? `The server's clock and this machine's agree, give or take ${seconds(errorMs)} s.`
      : `The server's clock is ${seconds(distanceMs)} s ${offsetMs > 0 ? "ahead of" : "behind"} this machine's, give or take ${seconds(errorMs)} s; the service tolerates 30 s.`;
  const correctionMs = distanceMs > correctBeyondMs ? offsetMs : 0;
  if (distanceMs <= toleranceMs - errorMs) return { finding: pass("clock", evidence), correctionMs };
  const remedy =
    "Correct the clock of the signing machine. Until then the client uses the server's Date for its assertions.";
  const isBeyond = distanceMs > toleranceMs + errorMs;
  return { finding: (isBeyond ? fail : unknown)("clock", evidence, remedy), correctionMs };
}

const checkTenant = "Check the base URL and the tenant id: a wrong one looks the same.";

interface Examined {
  /** The variant to request a token for: that of the only credential, as in the client, or the one that is found. */
  readonly variant: Variant | undefined;
  readonly finding: Finding;
}

export async function examineDetection(input: DoctorInput, { isReached }: Reach): Promise<Examined> {
  const { baseUrl, tenantId, fetch, signal, timeoutMs, allowInsecureHttp } = input;
  const only = onlyVariant(input);
  if (!isReached)
    return { variant: only, finding: unknown("detection", "Not checked, because there was no answer.") };
  if (tenantId === undefined && only === "B")
    return {
      variant: only,
      finding: unknown("detection", "Not checked: Variant B alone needs no tenant id."),
    };
  if (tenantId === undefined) {
    const evidence = "Not checked, because there is no tenant id, which is part of Variant A's path.";
    return { variant: undefined, finding: fail("detection", evidence, `Set it with ${namesOf("tenant")}.`) };
  }
  try {
    const target = { baseUrl, tenantId, allowInsecureHttp };
    const detection = await detectVariant({ ...target, fetch, signal, timeoutMs });
    return only === undefined ? chooseVariant(detection) : confirmVariant(only, detection, input);
  } catch (error) {
    if (!isBivariantError(error)) throw error;
    const finding = fail("detection", `${error.code}: ${error.message}`, checkTenant);
    return { variant: undefined, finding };
  }
}

/** The variant that is used without asking, as in the client: the named one, or that of the only credential. */
function onlyVariant({ variant, plugin, account, login }: DoctorInput): Variant | undefined {
  if (variant !== undefined) return variant;
  if ((plugin === undefined) === ((account ?? login) === undefined)) return undefined;
  return plugin === undefined ? "B" : "A";
}

/** With a credential for one variant. */
function confirmVariant(only: Variant, { served, evidence }: Detection, { variant }: DoctorInput): Examined {
  const other = only === "A" ? "B" : "A";
  const answers = answersOf(evidence);
  const use = variant === undefined ? "The only credential is for" : "The named variant is";
  if (served[only] === "yes")
    return { variant: only, finding: pass("detection", `Variant ${only} is served. ${answers}`) };
  if (served[only] === "unknown") {
    const unclear = `It is unknown whether Variant ${only} is served. ${answers} ${use} Variant ${only}, so it is tried.`;
    return { variant: only, finding: unknown("detection", unclear) };
  }
  const [but, remedy] =
    served[other] === "yes"
      ? [
          `, but Variant ${other} is`,
          `Configure a credential for Variant ${other}: ${waysToConfigure[other]}. `,
        ]
      : ["", ""];
  const notServed = `Variant ${only} is not served${but}. ${answers} ${use} Variant ${only}.`;
  return { variant: undefined, finding: fail("detection", notServed, remedy + checkTenant) };
}

/** With credentials for both variants, or with none. As in `connect`, Variant A comes first. */
function chooseVariant({ served, evidence }: Detection): Examined {
  const answers = answersOf(evidence);
  const found = (["A", "B"] as const).filter((one) => served[one] === "yes");
  const [variant] = found;
  if (variant !== undefined) {
    const evidence =
      found.length === 2
        ? "Both variants are served, and Variant A comes first."
        : `Variant ${variant} is served.`;
    return { variant, finding: pass("detection", `${evidence} ${answers}`) };
  }
  const [result, naming] =
    served.A === "no" && served.B === "no"
      ? ["Neither variant is served.", ""]
      : ["It is unknown which variant is served.", `If you know it, set ${namesOf("variant")}. `];
  return { variant, finding: fail("detection", `${result} ${answers}`, naming + checkTenant) };
}

/** The last answer about each variant decided. */
function answersOf(evidence: Detection["evidence"]): string {
  const last = new Map(evidence.map((one) => [one.variant, one]));
  return [...last.values()]
    .map(({ variant, status, reason }) => {
      const answer = reason.includes(String(status)) ? reason : `${status}, ${reason}`;
      return `Variant ${variant}: ${answer}.`;
    })
    .join(" ");
}
