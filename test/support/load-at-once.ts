// What the core loads when it is first needed, loaded before: that takes real time, which a test that lets things settle,
// or steps a clock, does not wait for.
import "../../src/auth/authorization-request.js";
import "../../src/auth/authorization-response.js";
import "../../src/auth/diagnosis.js";
import "../../src/auth/plugin-client.js";
import "../../src/choose-variant.js";
