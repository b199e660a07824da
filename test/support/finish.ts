// Before each test file of every project: runs the tasks of when-done.ts after its last test.
// In the short suite that is before leaks.ts looks, since the hook that comes last runs first.
import { afterAll } from "vitest";
import { finish } from "./when-done.js";

afterAll(finish);
