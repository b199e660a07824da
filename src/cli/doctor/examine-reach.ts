/** Whether the deployment answers at all, over what, and what time it has. */
import {
  isBivariantError,
  isConfigurationError,
  isTransportError,
  type TransportError,
} from "../../errors.js";
import { type Answer, exchange } from "../../http/exchange.js";
import { parseBaseUrl } from "../../variants/target.js";
import { examineClock } from "./examine-clock.js";
import { type Check, type Finding, fail, pass, unknown } from "./finding.js";
import type { Patient } from "./patient.js";

export interface Reach {
  readonly isReached: boolean;
  /** What to add to this machine's clock for an assertion, in milliseconds. */
  readonly correctionMs: number;
}

/** Asks the base URL itself, without any credential. */
export async function examineReach(patient: Patient): Promise<Reach & { findings: Finding[] }> {
  const nowhere = { isReached: false, correctionMs: 0 };
  let baseUrl: string;
  try {
    baseUrl = parseBaseUrl(patient.baseUrl, patient.allowInsecureHttp);
  } catch (error) {
    if (!isBivariantError(error)) throw error;
    const isInsecure = isConfigurationError(error) && error.code === "base_url_insecure";
    const remedy = isInsecure
      ? "Give an https address with --base-url or BIVARIANT_BASE_URL, or trust the network with --allow-insecure-http."
      : "Correct it: --base-url or BIVARIANT_BASE_URL.";
    const findings = [
      fail("base_url", error.message, remedy),
      ...notExamined(["reachability", "tls", "clock"], "Not tried, for want of a base URL."),
    ];
    return { ...nowhere, findings };
  }
  const found = pass("base_url", baseUrl);
  let answer: Answer;
  try {
    answer = await knock(baseUrl, patient);
  } catch (error) {
    if (!isTransportError(error)) throw error;
    return { ...nowhere, findings: [found, ...unreached(error, baseUrl)] };
  }
  const { finding: clock, correctionMs } = examineClock(answer);
  return {
    isReached: true,
    correctionMs,
    findings: [found, reachability(answer), tls(baseUrl, patient), clock],
  };
}

function knock(baseUrl: string, { fetch, variant, timeoutMs, signal }: Patient): Promise<Answer> {
  const send = fetch ?? ((url: string, init?: RequestInit) => globalThis.fetch(url, init));
  return exchange(
    (abort) => send(`${baseUrl}/`, { method: "HEAD", redirect: "manual", signal: abort }),
    // The variant is said in errors only.
    { variant: variant ?? "A", baseUrl, now: Date.now, timeoutMs, signal },
  );
}

function reachability({ status }: Answer): Finding {
  if (status === 407)
    return fail(
      "reachability",
      "A proxy on the way asks for a user name and a password (407).",
      "Put them into the URL of HTTP_PROXY or HTTPS_PROXY.",
    );
  if (status === 502 || status === 503 || status === 504)
    return unknown(
      "reachability",
      `A ${status} came: gateways and proxies answer so when what is behind them does not.`,
      "Ask whoever runs the deployment whether it is up.",
    );
  return pass(
    "reachability",
    `The deployment answers (${status} at its base URL, which need not serve a page).`,
  );
}

function tls(baseUrl: string, { checksCertificates }: Patient): Finding {
  if (!baseUrl.startsWith("https:"))
    return unknown("tls", "The base URL is plain http: there is no certificate to look at.");
  return checksCertificates
    ? pass("tls", "The certificate is accepted.")
    : fail(
        "tls",
        "No certificate is checked: NODE_TLS_REJECT_UNAUTHORIZED is 0, so anybody on the way can read the token.",
        "Unset it. To trust an authority of your own, name its certificate in NODE_EXTRA_CA_CERTS.",
      );
}

function unreached(error: TransportError, baseUrl: string): Finding[] {
  const clock = notExamined(["clock"], "Not compared, for want of an answer.");
  if (error.code === "tls_failed")
    return [
      pass("reachability", "Something answers at this address."),
      fail("tls", error.message, remedyOfTls(error.message)),
      ...clock,
    ];
  const isSecure = baseUrl.startsWith("https:");
  return [
    fail(
      "reachability",
      error.message,
      `Check the address and the network; behind a proxy, ${isSecure ? "HTTPS_PROXY" : "HTTP_PROXY"} and NO_PROXY.`,
    ),
    ...notExamined(["tls"], "Not looked at, for want of an answer."),
    ...clock,
  ];
}

/** By the system's code, which the message carries. */
function remedyOfTls(message: string): string {
  if (/EXPIRED/.test(message)) return "Let the certificate be renewed, or correct the clock of this machine.";
  if (/NOT_YET_VALID/.test(message)) return "Correct the clock of this machine, or look at the certificate.";
  if (/ALTNAME|HOSTNAME/.test(message)) return "Give the base URL under a name that the certificate holds.";
  if (/SELF_SIGNED|UNABLE_TO_|CERT_UNTRUSTED/.test(message))
    return "Make this machine trust the authority that signed it: name its certificate, a PEM file, in NODE_EXTRA_CA_CERTS.";
  if (/EPROTO|ERR_SSL_/.test(message))
    return "Check the scheme and the port of the base URL: what answers there may be plain http.";
  return "Look at the certificate of the deployment, and at the authorities that this machine trusts (NODE_EXTRA_CA_CERTS).";
}

function notExamined(checks: readonly Check[], why: string): Finding[] {
  return checks.map((check) => unknown(check, why));
}
