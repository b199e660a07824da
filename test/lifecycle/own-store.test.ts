// What a connector keeps of detections in its own memory is bounded.
import { beforeEach, expect, test, vi } from "vitest";
import { createConnector, type memoryStore } from "../../src/index.js";
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

test("a connector keeps the detections of at most maxTenants tenants in memory", () => {
  createConnector({ credentials: [plugin()], maxTenants: 7 });
  expect(made.with).toEqual([{ now: undefined, clock: undefined, mostEntries: 7 }]);
});
