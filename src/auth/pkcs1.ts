/** PKCS#1 private keys ("BEGIN RSA PRIVATE KEY", RFC 8017 appendix A.1.2), which WebCrypto does not read. */

/** version 0, then AlgorithmIdentifier { rsaEncryption, NULL } (RFC 5208 section 5). */
const versionAndAlgorithm = [
  0x02, 0x01, 0x00, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
];

/** The same key wrapped as PKCS#8, in PEM; `undefined` when the text is not base64. */
export function pkcs8FromPkcs1(pem: string): string | undefined {
  let key: number[];
  try {
    key = Array.from(atob(pem.replace(/-----[^-]+-----|\s/g, "")), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
  const wrapped = der(0x30, [...versionAndAlgorithm, ...der(0x04, key)]);
  const base64 = btoa(wrapped.map((byte) => String.fromCharCode(byte)).join(""));
  return `-----BEGIN PRIVATE KEY-----\n${base64.replace(/.{64}/g, "$&\n")}\n-----END PRIVATE KEY-----`;
}

/** One DER element: tag, definite length, content. */
function der(tag: number, content: readonly number[]): number[] {
  const length: number[] = [];
  for (let rest = content.length; rest > 0; rest = Math.floor(rest / 256)) length.unshift(rest % 256);
  return content.length < 0x80
    ? [tag, content.length, ...content]
    : [tag, 0x80 + length.length, ...length, ...content];
}
