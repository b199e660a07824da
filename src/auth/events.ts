/** The events of tokens and calls, and the emitter that passes them to `onEvent`. No event contains a secret. */
import type { Detection, Variant } from "../errors.js";

/** The fields that every event has. */
export interface EventContext {
  readonly variant: Variant;
  readonly baseUrl: string;
  readonly tenantId: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/**
 * An event; `type` names its kind. Passed to `onEvent`, whose own errors are ignored. A listener may ask for a token
 * itself: it joins the renewal that the event reports. With `shareInFlight: false` it must not, since its own request
 * would cause events too.
 */
export type ServiceEvent =
  /** A detection ended with a verdict. */
  | {
      readonly type: "variant_detected";
      readonly baseUrl: string;
      readonly tenantId: string;
      readonly at: number;
      readonly detection: Detection;
    }
  /** A token request is about to be sent. */
  | (EventContext & { readonly type: "token_requested"; readonly clientId: string; readonly attempt: number })
  /** A new token is held. */
  | (EventContext & { readonly type: "token_renewed"; readonly clientId: string; readonly expiresAt: number })
  /** A token near its expiry was served while a new one is requested. */
  | (EventContext & { readonly type: "token_served_while_renewing"; readonly expiresAt: number })
  /** A renewal in the background failed; the old token is still served. `code` is that of the error. */
  | (EventContext & { readonly type: "renewal_failed"; readonly code: string; readonly expiresAt: number })
  /** The token endpoint answered 429. */
  | (EventContext & { readonly type: "rate_limited"; readonly retryAt: number })
  /** A token request was refused; the next one is sent at `retryAt` at the earliest. */
  | (EventContext & {
      readonly type: "closed_after_refusal";
      readonly code: string;
      readonly retryAt: number;
    })
  /** The server's clock is ahead of this machine's by `offsetMs`, plus or minus `errorMs`. */
  | (EventContext & { readonly type: "clock_off"; readonly offsetMs: number; readonly errorMs: number })
  /** The answer names another tenant than the requested one. */
  | (EventContext & { readonly type: "tenant_differs"; readonly tenant: string })
  /** The store failed; the token in memory is used. */
  | (EventContext & { readonly type: "store_failed"; readonly code: string })
  /** A call was answered 401 and was sent again with a new token. */
  | (EventContext & {
      readonly type: "call_replayed";
      readonly method: string;
      readonly operationId?: string;
    })
  /** The API refused a call. */
  | (EventContext & {
      readonly type: "call_refused";
      readonly method: string;
      readonly status: number;
      readonly operationId?: string;
    })
  /** A success is not what the document says (`validator("report")`). `issues`: paths and expectations, no values. */
  | (EventContext & {
      readonly type: "response_invalid";
      readonly operationId: string;
      readonly status: number;
      readonly issues: readonly string[];
    });

export type OnEvent = (event: ServiceEvent) => void;

/** An event without the fields that all events of one identity share. */
export type EventBody = ServiceEvent extends infer E
  ? E extends EventContext
    ? Omit<E, keyof EventContext>
    : never
  : never;

/** Returns a function that emits the events of one identity. */
export function emitter(
  context: Omit<EventContext, "at">,
  { onEvent, now }: { readonly onEvent: OnEvent | undefined; readonly now: () => number },
): (body: EventBody) => void {
  if (onEvent === undefined) return () => {};
  const { variant, baseUrl, tenantId } = context;
  return (body) => emit(onEvent, { ...body, variant, baseUrl, tenantId, at: now() } as ServiceEvent);
}

/** Calls a listener and ignores its errors, thrown or rejected. */
export function emit(onEvent: OnEvent | undefined, event: ServiceEvent): void {
  if (onEvent === undefined) return;
  try {
    const result: unknown = onEvent(event);
    if (result instanceof Promise) result.catch(() => {});
  } catch {
    // A fault of the listener must not fail the caller.
  }
}
