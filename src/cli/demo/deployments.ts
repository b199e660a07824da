/** The four deployments of the demo, and what must come of each. */
import type { Variant } from "../../index.js";

export interface DemoDeployment {
  readonly name: string;
  readonly served: readonly Variant[];
  /** The plugin's variant is preferred. */
  readonly expected: Variant | null;
}

export const demoDeployments: readonly DemoDeployment[] = [
  { name: "Variant A only", served: ["A"], expected: "A" },
  { name: "Variant B only", served: ["B"], expected: "B" },
  { name: "both variants", served: ["A", "B"], expected: "A" },
  { name: "neither variant", served: [], expected: null },
];
