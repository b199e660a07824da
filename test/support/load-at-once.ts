// Loads the lazy modules of the core before a test: loading takes real time, which a test that steps a clock does not wait for.
import "../../src/auth/authorization.js";
import "../../src/auth/credentials/plugin-client.js";
import "../../src/auth/diagnosis.js";
import "../../src/choose-variant.js";
