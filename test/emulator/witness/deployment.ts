// A deployment on loopback for clients that we did not write, and what they need to speak Variant
// B.
import { type KeyObject, webcrypto } from "node:crypto";
import { onTestFinished } from "vitest";
import type { Emulator, EmulatorOptions } from "../../../src/emulator/index.js";
import { seed, TOKEN_PATH_A, TOKEN_PATH_B, World } from "../negative/world.js";

export interface Deployment {
  readonly emulator: Emulator;
  readonly url: string;
  readonly tokenUrlA: string;
  readonly tokenUrlB: string;
  /** The rule of the newest entry of the customer log. */
  readonly lastRule: () => string | undefined;
}

export async function deploy(options: EmulatorOptions = {}): Promise<Deployment> {
  // The libraries sign at real time.
  const { emulator } = new World({ seed: { ...seed, clock: undefined }, ...options });
  const { url, close } = await emulator.listen();
  onTestFinished(close);
  return {
    emulator,
    url,
    tokenUrlA: url + TOKEN_PATH_A,
    tokenUrlB: url + TOKEN_PATH_B,
    lastRule: () => emulator.customerLog.last()?.rule,
  };
}

/** Converts a private key for the library, which then signs by RS256. */
export function cryptoKey(key: KeyObject): Promise<CryptoKey> {
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  const pkcs8 = key.export({ type: "pkcs8", format: "der" });
  return webcrypto.subtle.importKey("pkcs8", pkcs8, algorithm, false, [
    "sign",
  ]) as Promise<CryptoKey>;
}

interface SentForm {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: unknown;
}

/**
 * A `fetch` for Variant B, which takes JSON where OAuth libraries send a form, and whose answer
 * shows no token_type, which RFC 6749 section 5.1 and the libraries demand.
 */
export async function formToJson(
  url: string,
  { method, headers, body }: SentForm,
): Promise<Response> {
  const response = await fetch(url, {
    method,
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(Object.fromEntries(body as URLSearchParams)),
  });
  const answer = (await response.json()) as object;
  const completed = response.ok ? { token_type: "bearer", ...answer } : answer;
  return Response.json(completed, { status: response.status });
}
