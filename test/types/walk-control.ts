/**
 * Hides `any` where a shallow search misses it. If findAny missed it too, its other results would
 * mean nothing.
 */
type Anything = ReturnType<typeof JSON.parse>;

export interface Row {
  readonly id: string;
}
export declare const member: { readonly deep: { readonly er: Anything; readonly row: Row } };
export declare function parameter(options: { fetch(url: string): Anything }): void;
export declare function answer(): Promise<Anything>;
export declare const argument: ReadonlyMap<string, Anything>;
export declare const union: string | { readonly [name: string]: Anything };
export declare const innocent: (row: Row) => Promise<Response>;
