// What the tests of the client import from the public entry points.
export * from "../../src/index.js";
export { createVariantAClient } from "../../src/variant-a.js";
export { createVariantBClient } from "../../src/variant-b.js";
