/** Lints the OpenAPI documents and validates their examples; exits 1 and names the places where something is wrong. */
import { fileURLToPath } from "node:url";
import { checkFolder } from "./check-documents/check-folder.js";

const problems = await checkFolder(fileURLToPath(new URL("../openapi", import.meta.url)));
if (problems.length === 0) console.log("openapi/: every rule and every example holds");
else {
  console.error(problems.join("\n"));
  process.exitCode = 1;
}
