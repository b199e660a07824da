// Checks the whole repository with both compilers: users have either, and test/types/ holds tests that only compile.
import { runStep } from "./run-step.js";

const COMPILERS = [
  { title: "TypeScript 7", path: "node_modules/typescript-7/bin/tsc" },
  { title: "TypeScript 5.9", path: "node_modules/typescript/bin/tsc" },
];

const results = COMPILERS.map(({ title, path }) =>
  runStep({ title, command: process.execPath, args: [path, "--project", "tsconfig.json", "--noEmit"] }),
);
process.exitCode = results.every(({ ok }) => ok) ? 0 : 1;
