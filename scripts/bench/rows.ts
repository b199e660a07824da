// The rows of the benchmark, in the order in which they run and are shown.
import type { Row } from "./measure.js";
import { bundleSizes } from "./rows/bundle-size.js";
import { callersAtExpiry } from "./rows/callers-at-expiry.js";
import { cliHelp } from "./rows/cli-help.js";
import { coldStart } from "./rows/cold-start.js";
import { editorDiagnosis } from "./rows/editor.js";
import { emulatorRate } from "./rows/emulator-rate.js";
import { emulatorStart } from "./rows/emulator-start.js";
import { firstChecks } from "./rows/first-checks.js";
import { firstTokens } from "./rows/first-tokens.js";
import { generateMemory, generateTime } from "./rows/generator.js";
import { renewalP99 } from "./rows/renewal-p99.js";
import { fileStoreFlat, fileStoreSet } from "./rows/stores.js";
import { surveyRate } from "./rows/survey-rate.js";
import { tenantMemory } from "./rows/tenant-memory.js";
import { tenantsInTurn } from "./rows/tenants-in-turn.js";
import { typeCheck200Calls, typeCheckOneCall } from "./rows/type-check.js";
import { warmCall, warmCallFetch, warmCallHttp, warmCallPeer, warmToken } from "./rows/warm.js";
import { warmCallOverRedis } from "./rows/warm-over-redis.js";
import { multipartCall, styledCall } from "./rows/wire.js";

export const ROWS: readonly Row[] = [
  warmCall,
  warmCallHttp,
  warmCallFetch,
  styledCall,
  multipartCall,
  firstTokens,
  coldStart,
  firstChecks,
  ...bundleSizes,
  tenantMemory,
  tenantsInTurn,
  callersAtExpiry,
  surveyRate,
  cliHelp,
  generateTime,
  generateMemory,
  typeCheckOneCall,
  typeCheck200Calls,
  editorDiagnosis,
  warmCallPeer,
  warmToken,
  warmCallOverRedis,
  renewalP99,
  emulatorRate,
  emulatorStart,
  fileStoreSet,
  fileStoreFlat,
];
