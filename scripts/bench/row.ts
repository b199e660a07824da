// What one line of the benchmark is: a measurement, what it is held against, and the aim.

export interface Figures {
  /** The figure that the aim is about: a ratio (ours to theirs), a size, or a time. */
  readonly value: number;
  /** The tenth and the ninetieth percentile of the rounds; both the value where nothing varies. */
  readonly low: number;
  readonly high: number;
  /** The two sides by themselves and whatever else helps to read the value, with units. */
  readonly detail: string;
}

export interface Row {
  readonly name: string;
  /** Ours against what. */
  readonly title: string;
  readonly unit: "times" | "kB" | "ms";
  /** At most this. */
  readonly aim: number;
  measure(build: Build): Promise<Figures>;
}

/** Where the compiled package lies. */
export interface Build {
  readonly folder: string;
  /** The main entry as Node loads it, as a module URL. */
  readonly main: string;
}
