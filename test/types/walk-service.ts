/** The generic types of a service with the shipped operations filled in, for findAny. */
import type { OperationTypes } from "../../generated/operations.js";
import type { Outcome, ServiceOf, Variant } from "../../src/index.js";

export declare const outcomes: {
  readonly [O in "listDevices" | "requestToken"]: Outcome<OperationTypes, Variant, O>;
};
export declare const argumentsOf: {
  readonly [X in "A" | "B"]: OperationTypes[X]["requestToken"]["args"];
};
export declare const argumentsOfBoth: OperationTypes["both"]["listDevices"]["args"];
export declare const pathsOfA: ServiceOf<"A", OperationTypes>["paths"];
export declare const pathsOfB: ServiceOf<"B", OperationTypes>["paths"];
