// Knows whether a signature, digest or import is still being made on another thread, however busy the machine is.
import { onTestFinished } from "vitest";

const methods = ["sign", "verify", "digest", "importKey", "exportKey"] as const;

/** Counts the operations of WebCrypto that have begun and not ended, until the test ends. */
export function pendingCrypto(): () => number {
  let pending = 0;
  for (const name of methods) {
    const own = Object.getOwnPropertyDescriptor(crypto.subtle, name);
    const original = crypto.subtle[name] as (...args: unknown[]) => Promise<unknown>;
    const counted = (...args: unknown[]): Promise<unknown> => {
      pending++;
      return Promise.resolve(original.apply(crypto.subtle, args)).finally(() => {
        pending--;
      });
    };
    Object.defineProperty(crypto.subtle, name, { value: counted, configurable: true, writable: true });
    onTestFinished(() => {
      // It is the prototype's, unless somebody put another in front of it.
      if (own === undefined) Reflect.deleteProperty(crypto.subtle, name);
      else Object.defineProperty(crypto.subtle, name, own);
    });
  }
  return () => pending;
}
