/** Claims about types: a file with a false claim does not compile. */

/** Whether two types are the same. `any` is the same only as itself. */
export type Equal<X, Y> =
  (<T>() => T extends X ? 1 : 2) extends <T>() => T extends Y ? 1 : 2 ? true : false;

export function proof<_Claim extends true>(): void {}
