/** What is used of jose. Loaded with the first key: whoever needs none, as with Variant B, does not wait for it. */
// By subpath: the whole of jose takes twice as long to load.
export { calculateJwkThumbprint } from "jose/jwk/thumbprint";
export { exportJWK } from "jose/key/export";
export { importJWK, importPKCS8 } from "jose/key/import";
