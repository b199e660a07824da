// What a journey needs of a browser, and what its driver lacks. Each browser has a driver of this
// shape.
import { expect } from "vitest";

/** A page, or a frame in it. */
export interface Place {
  /** Evaluates an expression, waits for its promise, and returns its value by way of JSON. */
  evaluate<T = unknown>(expression: string): Promise<T>;
  /** The frame of the element that a CSS selector finds here. */
  frame(selector: string): Place;
}

export interface Cookie {
  readonly name: string;
  readonly httpOnly: boolean;
}

export interface Tab extends Place {
  goto(url: string): Promise<void>;
  /** The cookies that the browser sends with the address of this tab. */
  cookies(): Promise<Cookie[]>;
}

/**
 * A browser without cookies, storage or windows of earlier profiles. A driver has one profile at a
 * time.
 */
export interface Profile {
  open(url: string): Promise<Tab>;
  /** The window that a script of a tab has opened. */
  popup(): Promise<Tab>;
  /** Errors that the console shows. Empty where the driver lacks a console. */
  readonly errors: readonly string[];
  close(): Promise<void>;
}

/** Which cookies the browser accepts. "default" is what people have who change no setting. */
export type CookiePolicy = "default" | "no third party" | "never";

/** What not every browser can do. */
export type Ability =
  | "console"
  | "partitioned cookies"
  | "secure cookies over http"
  | "a setting that blocks partitioned cookies";

export interface Driver {
  /** Why the browser or its driver cannot do something. A test prints each reason. */
  readonly lacks: Partial<Readonly<Record<Ability, string>>>;
  profile(cookies: CookiePolicy): Promise<Profile>;
  /** Ends every process of the browser. */
  close(): Promise<void>;
}

/**
 * For so long a driver waits for the answer to a command. Now and then a browser never gives one.
 */
export const commandMs = 20_000;

/** Waits until an expression is true in a place, which may be loading. */
export async function until(place: Place, expression: string): Promise<void> {
  const isTrue = () => place.evaluate<boolean>(`Boolean(${expression})`).catch(() => false);
  await expect.poll(isTrue, { message: expression, interval: 30 }).toBe(true);
}

/** Calls a function of the page with values that JSON can hold. */
export function run<T>(place: Place, name: string, ...values: unknown[]): Promise<T> {
  return place.evaluate<T>(`${name}(...${JSON.stringify(values)})`);
}

/**
 * Makes the value of an expression a string, and waits for its promise. `undefined` becomes null.
 */
export function asJson(expression: string): string {
  return `(async () => JSON.stringify((await (${expression})) ?? null))()`;
}
