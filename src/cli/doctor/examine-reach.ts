/** Whether the deployment answers at all, over what, and what time it has. */
import { isBivariantError, isTransportError } from "../../errors.js";
import { parseBaseUrl } from "../../variants/base-url.js";
import { exchange } from "../../variants/exchange.js";
import type { Patient } from "./examine.js";
import { type Finding, fail, pass, unknown } from "./finding.js";

/** Section 2.2 of the description: "30 seconds of clock tolerance". */
const toleranceMs = 30_000;

/** Asks the base URL itself, without any credential. */
export async function examineReach(patient: Patient): Promise<{ isReached: boolean; findings: Finding[] }> {
  let baseUrl: string;
  try {
    baseUrl = parseBaseUrl(patient.baseUrl, patient.allowInsecureHttp);
  } catch (error) {
    const message = isBivariantError(error) ? error.message : String(error);
    return { isReached: false, findings: [fail("base_url", message, "Correct the base URL.")] };
  }
  const findings: Finding[] = [pass("base_url", baseUrl)];
  const isSecure = baseUrl.startsWith("https:");
  try {
    const answer = await exchange(
      (signal) =>
        (patient.fetch ?? globalThis.fetch)(`${baseUrl}/`, { method: "HEAD", redirect: "manual", signal }),
      {
        variant: patient.variant ?? "A",
        now: Date.now,
        timeoutMs: patient.timeoutMs,
        signal: patient.signal,
      },
    );
    findings.push(pass("reachability", `The deployment answers (${answer.status}).`));
    findings.push(
      isSecure
        ? pass("tls", "The certificate is accepted.")
        : unknown("tls", "Plain http to this machine: there is no certificate to look at."),
    );
    findings.push(clock(answer));
    return { isReached: true, findings };
  } catch (error) {
    if (!isTransportError(error)) throw error;
    if (error.code === "tls_failed")
      findings.push(
        pass("reachability", "The deployment can be reached."),
        fail(
          "tls",
          error.message,
          "Renew the certificate, or make this machine trust its authority (NODE_EXTRA_CA_CERTS).",
        ),
      );
    else
      findings.push(
        fail(
          "reachability",
          error.message,
          "Check the address, the network, and the proxy variables HTTPS_PROXY and NO_PROXY.",
        ),
      );
    return { isReached: false, findings };
  }
}

function clock({
  headers,
  sentAt,
  receivedAt,
}: {
  headers: Headers;
  sentAt: number;
  receivedAt: number;
}): Finding {
  const date = Date.parse(headers.get("date") ?? "");
  if (Number.isNaN(date) || headers.has("age"))
    return unknown("clock", "The answer carries no Date of its own; the clocks cannot be compared.");
  const offsetMs = date + 500 - (sentAt + receivedAt) / 2;
  const seconds = Math.round(Math.abs(offsetMs) / 1000);
  const evidence = `The server's clock is ${seconds} s ${offsetMs >= 0 ? "ahead of" : "behind"} this machine's, give or take a second.`;
  if (Math.abs(offsetMs) <= toleranceMs) return pass("clock", evidence);
  return fail(
    "clock",
    evidence,
    "Correct the clock of the signing machine; the service tolerates 30 seconds. (The client corrects its assertions by the server's Date meanwhile.)",
  );
}
