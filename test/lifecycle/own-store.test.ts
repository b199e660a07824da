// The default store of a connector is bounded; a configured store is used as it is.
import { beforeEach, expect, test, vi } from "vitest";
import { createConnector, memoryStore } from "../../src/index.js";
import { plugin } from "../support/deployment.js";

type Options = Parameters<typeof memoryStore>[0];
const made = vi.hoisted(() => ({ with: [] as unknown[] }));
vi.mock("../../src/stores/memory.js", async (original) => {
  const { memoryStore: real } = await original<{ memoryStore: typeof memoryStore }>();
  return {
    memoryStore: (options: Options) => {
      made.with.push(options);
      return real(options);
    },
  };
});

beforeEach(() => {
  made.with.length = 0;
});

test("a connector without a store creates one for a detection of each tenant", () => {
  createConnector({ credentials: [plugin()], maxTenants: 7 });
  expect(made.with).toEqual([{ now: undefined, clock: undefined, mostEntries: 7 }]);
});

test("a connector with a store creates none", () => {
  const store = memoryStore();
  made.with.length = 0;
  createConnector({ credentials: [plugin()], store });
  expect(made.with).toEqual([]);
});
