/** Checks what needs no credential: the address, reachability, TLS, the clock and the variant. */
import { ServerClock } from "../auth/request/server-clock.js";
import { systemClock } from "../clock.js";
import { type Detection, isBivariantError, isConfigurationError, type Variant } from "../errors.js";
import { type Answer, defaultFetch, exchange } from "../http/exchange.js";
import { detectVariant, isTransportError } from "../index.js";
import { parseBaseUrl } from "../variants/target.js";
import { type DoctorInput, type Finding, fail, pass, questionOf, unknown } from "./finding.js";

interface Reach {
  readonly isReached: boolean;
  /** Milliseconds to add to this machine's clock for an assertion. */
  readonly correctionMs: number;
  readonly findings: readonly Finding[];
}

/** Sends one HEAD request to the base URL, without any credential. */
export async function examineReach(input: DoctorInput): Promise<Reach> {
  const { fetch = defaultFetch, variant, timeoutMs, signal, wording } = input;
  const unreached = (...findings: Finding[]) => ({ isReached: false, correctionMs: 0, findings });
  let baseUrl: string;
  try {
    baseUrl = parseBaseUrl(input.baseUrl, input.allowInsecureHttp);
  } catch (error) {
    if (!isConfigurationError(error)) throw error;
    const remedy =
      error.code === "base_url_insecure"
        ? `Set an https address with ${wording.namesOf("baseUrl")}, or set allowInsecureHttp in ` +
          "a network that you trust."
        : `Correct it with ${wording.namesOf("baseUrl")}.`;
    const checks = ["reachability", "tls", "clock"] as const;
    const rest = checks.map((check) =>
      unknown(check, "Not checked, because the base URL is not usable."),
    );
    return unreached(fail("base_url", error.message, remedy, error.code), ...rest);
  }
  const url = pass("base_url", baseUrl);
  let answer: Answer;
  try {
    answer = await exchange(
      (abort) => fetch(`${baseUrl}/`, { method: "HEAD", redirect: "manual", signal: abort }),
      // This variant appears only in errors.
      { variant: variant ?? "A", waitsFor: baseUrl, clock: systemClock, timeoutMs, signal },
    );
  } catch (error) {
    if (!isTransportError(error)) throw error;
    const { code, message } = error;
    const clock = unknown("clock", "Not compared, because there was no answer.");
    if (code === "tls_failed") {
      const reached = pass("reachability", "A server answers at this address.");
      return unreached(url, reached, fail("tls", message, tlsRemedy(message), code), clock);
    }
    const variable = baseUrl.startsWith("https:") ? "HTTPS_PROXY" : "HTTP_PROXY";
    const remedy = `Check the address and the network; behind a proxy also ${variable} and NO_PROXY.`;
    const tls = unknown("tls", "Not checked, because there was no answer.");
    return unreached(url, fail("reachability", message, remedy, code), tls, clock);
  }
  const { finding, correctionMs } = examineClock(answer);
  const findings = [url, reachability(answer), tls(baseUrl, input), finding];
  return { isReached: true, correctionMs, findings };
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
      `The answer is ${status}, which gateways and proxies send when the server behind them does ` +
        "not answer.",
      "Ask the operator of the deployment whether it is up.",
    );
  const evidence = `The deployment answers (${status} at its base URL, where it need not serve a page).`;
  return pass("reachability", evidence);
}

function tls(baseUrl: string, { checksCertificates }: DoctorInput): Finding {
  if (!baseUrl.startsWith("https:"))
    return unknown("tls", "The base URL is plain http, so there is no certificate.");
  if (checksCertificates) return pass("tls", "The certificate is accepted.");
  return fail(
    "tls",
    "Certificates are not checked, because NODE_TLS_REJECT_UNAUTHORIZED is 0: " +
      "anyone on the way can read the token.",
    "Unset it. To trust an authority of your own, name its certificate in NODE_EXTRA_CA_CERTS.",
  );
}

/** Chooses the remedy by the error code of the system, which the message contains. */
function tlsRemedy(message: string): string {
  if (/EXPIRED/.test(message))
    return "Have the certificate renewed, or correct the clock of this machine.";
  if (/NOT_YET_VALID/.test(message))
    return "Correct the clock of this machine, or check the certificate.";
  if (/ALTNAME|HOSTNAME/.test(message))
    return "Use a base URL with a name that the certificate holds.";
  if (/SELF_SIGNED|UNABLE_TO_|CERT_UNTRUSTED/.test(message))
    return (
      "Make this machine trust the authority that signed it: " +
      "name its certificate, a PEM file, in NODE_EXTRA_CA_CERTS."
    );
  if (/EPROTO|ERR_SSL_/.test(message))
    return "Check the scheme and the port of the base URL: the server there may speak plain http.";
  return (
    "Check the certificate of the deployment, and the authorities that this machine trusts " +
    "(NODE_EXTRA_CA_CERTS)."
  );
}

/** Section 2.2 of the description: "30 seconds of clock tolerance". */
const toleranceMs = 30_000;

/** Compares the clocks by the `Date` of an answer, as the client does. */
function examineClock(answer: Answer) {
  const clock = new ServerClock();
  clock.observe(answer);
  const { offsetMs, errorMs, appliedMs: correctionMs } = clock;
  if (offsetMs === undefined) {
    const evidence =
      "The answer has no Date or comes from a cache, so the clocks cannot be compared.";
    const remedy = "Compare this machine's clock with another clock.";
    return { finding: unknown("clock", evidence, remedy), correctionMs };
  }
  const distanceMs = Math.abs(offsetMs);
  const seconds = (ms: number) => Math.round(ms / 1000);
  const evidence =
    distanceMs <= errorMs
      ? `The server's clock and this machine's agree, give or take ${seconds(errorMs)} s.`
      : `The server's clock is ${seconds(distanceMs)} s ${offsetMs > 0 ? "ahead of" : "behind"} ` +
        `this machine's, give or take ${seconds(errorMs)} s; the service tolerates 30 s.`;
  if (distanceMs <= toleranceMs - errorMs)
    return { finding: pass("clock", evidence), correctionMs };
  const until = clock.isTooFarOff
    ? "The client does not correct a difference of more than a day."
    : "Until then the client uses the server's Date for its assertions.";
  const remedy = `Correct the clock of the signing machine. ${until}`;
  const isBeyond = distanceMs > toleranceMs + errorMs;
  return { finding: (isBeyond ? fail : unknown)("clock", evidence, remedy), correctionMs };
}

const checkTenant = "Check the base URL and the tenant id: a wrong one looks the same.";

/**
 * Like the client, chooses the variant of the only credential, or else one that the deployment
 * serves.
 */
export async function examineDetection(
  input: DoctorInput,
  { isReached }: Reach,
): Promise<{
  readonly variant: Variant | undefined;
  readonly other?: Variant;
  readonly finding: Finding;
}> {
  const { baseUrl, tenantId, allowInsecureHttp, fetch, signal, timeoutMs } = input;
  const only = onlyVariant(input);
  const notChecked = (why: string) => unknown("detection", `Not checked${why}`);
  if (!isReached) return { variant: only, finding: notChecked(", because there was no answer.") };
  if (tenantId === undefined) {
    if (only === "B")
      return { variant: only, finding: notChecked(": Variant B alone needs no tenant id.") };
    const evidence =
      "Not checked, because there is no tenant id, which is part of Variant A's path.";
    const remedy = `Set it with ${input.wording.namesOf("tenant")}.`;
    return { variant: undefined, finding: fail("detection", evidence, remedy) };
  }
  try {
    const target = { baseUrl, tenantId, allowInsecureHttp };
    const { served, evidence } = await detectVariant({ ...target, fetch, signal, timeoutMs });
    const { variant, finding } = judgeDetection(served, input);
    const answers = evidence.map((one) => `${questionOf(one)}: ${one.status}, ${one.reason}.`);
    const isOneOfTwo = only === undefined && input.plugin !== undefined;
    const other = variant === "A" ? "B" : "A";
    return {
      variant,
      ...(isOneOfTwo && variant !== undefined && served[other] !== "no" ? { other } : {}),
      finding: { ...finding, evidence: [finding.evidence, ...answers].join(" ") },
    };
  } catch (error) {
    if (!isBivariantError(error)) throw error;
    const finding = fail("detection", `${error.code}: ${error.message}`, checkTenant, error.code);
    return { variant: undefined, finding };
  }
}

/** The variant to try a credential with, if there is one, and what the detection says of it. */
export function judgeDetection(
  served: Detection["served"],
  input: DoctorInput,
): { readonly variant: Variant | undefined; readonly finding: Finding } {
  const chosen =
    onlyVariant(input) ?? (served.A === "yes" ? "A" : served.B === "yes" ? "B" : undefined);
  const finding =
    chosen === undefined ? noVariant(served, input) : verdictOn(chosen, served, input);
  return { variant: finding.verdict === "fail" ? undefined : chosen, finding };
}

/**
 * Like the client, takes the named variant, or that of the only credential, without any request.
 */
function onlyVariant({ variant, plugin, account, login }: DoctorInput): Variant | undefined {
  if (variant !== undefined) return variant;
  if ((plugin === undefined) === ((account ?? login) === undefined)) return undefined;
  return plugin === undefined ? "B" : "A";
}

function noVariant(served: Detection["served"], { wording }: DoctorInput): Finding {
  if (served.A === "no" && served.B === "no")
    return fail("detection", "Neither variant is served.", checkTenant, "variant_not_served");
  const remedy = `If you know it, set ${wording.namesOf("variant")}. ${checkTenant}`;
  return fail("detection", "It is unknown which variant is served.", remedy, "variant_unknown");
}

function verdictOn(chosen: Variant, served: Detection["served"], input: DoctorInput): Finding {
  const { variant, wording } = input;
  const other = chosen === "A" ? "B" : "A";
  const use =
    `${variant === undefined ? "The only credential is for" : "The named variant is"} ` +
    `Variant ${chosen}`;
  if (served[chosen] === "unknown")
    return unknown(
      "detection",
      `It is unknown whether Variant ${chosen} is served. ${use}, so it is tried.`,
    );
  if (served[chosen] === "yes") return pass("detection", `Variant ${chosen} is served.`);
  const isOther = served[other] === "yes";
  return fail(
    "detection",
    `Variant ${chosen} is not served${isOther ? `, but Variant ${other} is` : ""}. ${use}.`,
    `${isOther ? `Configure a credential for Variant ${other}. ${wording.waysToSet(other)} ` : ""}${checkTenant}`,
    "variant_not_served",
  );
}
