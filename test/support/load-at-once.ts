// What the core loads when it is first needed, loaded before: that takes real time, which a test that lets things settle,
// or steps a clock, does not wait for.
import "../../src/auth/authorization.js";
import "../../src/auth/authorization.js";
import "../../src/auth/diagnosis.js";
import "../../src/auth/credentials/plugin-client.js";
import "../../src/choose-variant.js";
