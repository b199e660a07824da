/** The outcome of a call narrows by ok, by status and by variant, also when destructured. */
import type { OperationTypes } from "../../generated/operations.js";
import { type ApiError, type Outcome, type Service, unwrap } from "../../src/index.js";
import type { components as A } from "../../src/variant-a.js";
import type { components as B } from "../../src/variant-b.js";
import { type Equal, proof } from "./proof.js";

declare const service: Service;
type TokenOfA = A["schemas"]["TokenResponse"];
type TokenOfB = B["schemas"]["TokenResponse"];
type Body = A["schemas"]["TokenRequest"] & B["schemas"]["TokenRequest"];

declare const body: Body;

/** `ok` narrows: a success has data and no error, a failure has an error and no data. */
export async function byOk(): Promise<void> {
  const outcome = await service.call("requestToken", { body });
  if (outcome.ok) {
    proof<Equal<typeof outcome.data, TokenOfA | TokenOfB>>();
    proof<Equal<typeof outcome.error, undefined>>();
    proof<Equal<typeof outcome.status, 200>>();
  } else {
    proof<Equal<typeof outcome.data, undefined>>();
    outcome.error satisfies ApiError;
    // @ts-expect-error a failure is never documented as 200
    if (outcome.status === 200) return;
  }
  // @ts-expect-error before narrowing data may be absent
  outcome.data.access_token;
}

/**
 * `status` narrows: each documented status has its own body, and one more outcome covers all other
 * statuses.
 */
export async function byStatus(): Promise<void> {
  const outcome = await service.call("requestToken", { body });
  switch (outcome.status) {
    case 200:
      proof<Equal<typeof outcome.ok, true>>();
      proof<Equal<typeof outcome.data, TokenOfA | TokenOfB>>();
      break;
    case 400:
      proof<Equal<typeof outcome.ok, false>>();
      if (outcome.variant === "A")
        proof<Equal<typeof outcome.error.body, A["schemas"]["TokenError"]>>();
      break;
    case 418:
      outcome.error satisfies ApiError;
  }
}

/** After destructuring, each of `ok`, `error`, `status` and `variant` narrows the others. */
export async function destructured(): Promise<void> {
  const { ok, data, error, status, variant } = await service.call("requestToken", { body });
  if (ok && variant === "A") proof<Equal<typeof data, TokenOfA>>();
  if (!ok) proof<Equal<typeof data, undefined>>();
  if (error === undefined) proof<Equal<typeof data, TokenOfA | TokenOfB>>();
  else error.code;
  if (status === 200) proof<Equal<typeof data, TokenOfA | TokenOfB>>();
  if (status === 429 && variant === "A") proof<Equal<typeof ok, false>>();
}

/** An empty 403 has an error without a body. */
export async function emptyRefusal(): Promise<void> {
  const outcome = await service.call("listDevices");
  if (outcome.variant === "A" && outcome.status === 403) {
    proof<Equal<typeof outcome.error, ApiError<403, undefined>>>();
  }
}

/** `unwrap` returns the data of the success, for an outcome or a promise of one. */
export async function unwrapped(): Promise<void> {
  const data = unwrap(await service.call("requestToken", { body }));
  const same = await unwrap(service.call("requestToken", { body }));
  proof<Equal<typeof data, TokenOfA | TokenOfB>>();
  proof<Equal<typeof same, TokenOfA | TokenOfB>>();
}

/** Without a literal id, the outcome is that of any operation. */
export function ofAnyOperation(): void {
  proof<
    Equal<
      Outcome<OperationTypes, "A", string>,
      Outcome<OperationTypes, "A", keyof OperationTypes["A"]>
    >
  >();
}
