/** A fault that a fetch threw, as the error that says what the caller can do. */
import { TransportError, type Variant } from "../../errors.js";

const tlsCode =
  /^(?:ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|HOSTNAME_MISMATCH|EPROTO|CRL_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_|ERROR_IN_CERT|ERROR_IN_CRL)/;

/** Tells a bad certificate from a network that failed. The fault itself stays behind: it may hold the request. */
export function transportError(fault: unknown, variant: Variant, baseUrl: string): TransportError {
  const code = systemCode(fault);
  if (code !== undefined && tlsCode.test(code))
    return new TransportError(
      "tls_failed",
      `The secure connection to ${baseUrl} failed (${code}). Check the certificate of the deployment, and the authorities this machine trusts.`,
      { retryable: false, variant, cause: fault },
    );
  return new TransportError(
    "network_failed",
    `The request to ${baseUrl} failed before an answer came${code === undefined ? "" : ` (${code})`}. Check the address, the network and the proxy.`,
    { retryable: true, variant, cause: fault },
  );
}

/** Faults of the way to the server: no byte of the request was sent. */
const unsentCode = /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/** Whether a request surely did not reach the server, so that nothing in it is spent. */
export function wasNotSent({ code, cause }: TransportError): boolean {
  return code === "tls_failed" || unsentCode.test(systemCode(cause) ?? "");
}

function systemCode(fault: unknown): string | undefined {
  for (let at = fault, depth = 0; typeof at === "object" && at !== null && depth < 5; depth++) {
    const { code, errors, cause } = at as { code?: unknown; errors?: unknown; cause?: unknown };
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{1,60}$/.test(code)) return code;
    at = Array.isArray(errors) ? errors[0] : cause;
  }
  return undefined;
}
