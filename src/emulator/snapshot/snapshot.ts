// A deployment's whole state as JSON.

export const SNAPSHOT_FORMAT = "bivariant-emulator";
/** Goes up whenever an older snapshot could no longer be read. */
export const SNAPSHOT_VERSION = 1;

/** JSON: write it with `JSON.stringify`, give it to `restore` of any emulator. Its `state` is not for reading. */
export interface EmulatorSnapshot {
  readonly format: typeof SNAPSHOT_FORMAT;
  readonly version: number;
  /** Epoch milliseconds by the emulator's clock. */
  readonly takenAt: number;
  readonly state: unknown;
  /** SHA-256 of `state`: a snapshot that was changed by hand or cut off is refused. */
  readonly digest: string;
}
