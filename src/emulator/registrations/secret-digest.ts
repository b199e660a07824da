// Secrets and passwords as registrations hold them: by digest, compared without telling where they differ.
import { createHash, timingSafeEqual } from "node:crypto";

export function secretDigest(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** Takes the same time wherever the two differ. */
export function isSecretOf(digest: Buffer, presented: string): boolean {
  return timingSafeEqual(digest, secretDigest(presented));
}
