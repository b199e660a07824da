// Makes some RSA keys once per run. Node takes 0.2 s for one, and each emulator of a test has keys
// of its own.
import { generateKeyPair } from "node:crypto";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";

const KEYS = 20;

declare module "vitest" {
  interface ProvidedContext {
    /** Private keys as PEM. */
    readonly rsaKeys: readonly string[];
  }
}

export default async function makeKeys({ provide }: TestProject): Promise<void> {
  const make = async () =>
    (await promisify(generateKeyPair)("rsa", { modulusLength: 2_048 })).privateKey;
  const keys = await Promise.all(Array.from({ length: KEYS }, make));
  provide(
    "rsaKeys",
    keys.map((key) => key.export({ type: "pkcs8", format: "pem" }).toString()),
  );
}
