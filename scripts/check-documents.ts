/**
 * Lints the OpenAPI documents and validates their examples; exits 1 and names the places where something is wrong.
 * Another folder than openapi/ may be named.
 */
import { fileURLToPath } from "node:url";
import { checkFolder } from "./check-documents/check-folder.js";

const folder = process.argv[2] ?? fileURLToPath(new URL("../openapi", import.meta.url));
const problems = await checkFolder(folder);
if (problems.length === 0) console.log("openapi/: every rule and every example holds");
else {
  console.error(problems.join("\n"));
  process.exitCode = 1;
}
