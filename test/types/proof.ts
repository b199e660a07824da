/** Claims about types that the compiler checks: a file that uses them fails to compile where one does not hold. */

/** Whether two types are the same, `any` being the same as itself only. */
export type Equal<X, Y> = (<T>() => T extends X ? 1 : 2) extends <T>() => T extends Y ? 1 : 2 ? true : false;

/** Only `any` is a supertype of 0 when intersected with 1. */
export type IsAny<T> = 0 extends 1 & T ? true : false;

export function proof<_Claim extends true>(): void {}
