// The cases that `npm run everywhere` runs in every runtime, here from source.
import { test } from "vitest";
import { cases } from "./cases.js";

test.each(Object.entries(cases))("%s", (_, { run }) => run());
