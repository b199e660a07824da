// Loads the lazy modules of the core before a test, since a test that steps a clock does not wait
// for loading.
import "../../src/auth/person/authorization.js";
import "../../src/auth/credentials/client-assertion.js";
import "../../src/auth/credentials/diagnosis.js";
import "../../src/choose-variant.js";
import "../../src/client/call-diagnosis.js";
