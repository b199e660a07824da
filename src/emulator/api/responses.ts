// Answers of your own for operations of documents: what each receives, and what it may return.
import { z } from "zod";
import type { CallParams } from "./requests.js";
import type { ApiCall } from "./route.js";

/** The lookup types of a module that `bivariant generate` wrote, as far as answers need them. */
export interface ApiTypes {
  readonly A: object;
  readonly B: object;
}

/**
 * The answers by operationId. Each returns what a documented success has: a JSON value, a text or a
 * `Blob` where the document has such a media type, or undefined where it has no body. A `Response`
 * is answered as it is, whatever its status.
 */
export type Responses<T extends ApiTypes = ApiTypes> = ApiTypes extends T
  ? UntypedResponses
  : {
      readonly [Id in (keyof T["A"] | keyof T["B"]) & string]?: (
        call: CallOf<T, "A", Id> | CallOf<T, "B", Id>,
      ) => AnswerOf<T, Id>;
    };

/** For a module whose types are not known, such as one that is generated while the program runs. */
type UntypedResponses = Readonly<Record<string, (call: ApiCall) => AnyAnswer>>;
/**
 * What `unknown` allows. TypeScript reads an answer without a parameter by it before it knows the
 * module, and the literals here keep those of the answer from being widened.
 */
type AnyAnswer =
  | ("" | 0 | boolean | NonNullable<unknown> | null | undefined)
  | (readonly AnyAnswer[] | { readonly [name: string]: AnyAnswer } | Promise<AnyAnswer>);

/** The operation of a variant, or never if it has none of this name. */
type Operation<T extends ApiTypes, V extends "A" | "B", Id> = Id extends keyof T[V]
  ? T[V][Id]
  : never;

type InitOf<O> = O extends { readonly args: readonly [init?: infer Init] } ? Init : never;
/** Each alternative of a union counts, since a body has a type for each media type. */
type MemberOf<Init, Name extends string> = Init extends unknown
  ? Name extends keyof Init
    ? Init[Name]
    : unknown
  : never;

type CallOf<T extends ApiTypes, V extends "A" | "B", Id> = Id extends keyof T[V]
  ? Omit<ApiCall, "variant" | "params" | "body"> & {
      readonly variant: V;
      readonly params: ParamsOf<NonNullable<MemberOf<InitOf<T[V][Id]>, "params">>>;
      readonly body: BodyOf<MemberOf<InitOf<T[V][Id]>, "body">>;
    }
  : never;

type ParamsOf<Params> = {
  readonly [Place in keyof CallParams]: Place extends keyof Params
    ? Readonly<NonNullable<Params[Place]>>
    : CallParams[Place];
};

/**
 * What a client may send besides the documented value: a form as it is, and bytes, which arrive as
 * a `Blob`.
 */
type Sendable = URLSearchParams | FormData | ReadableStream | ArrayBuffer | ArrayBufferView;
type BodyOf<Body> = Body extends Sendable
  ? never
  : Body extends Blob
    ? Body
    : Body extends object
      ? { [Name in keyof Body]: MemberOfBody<Body[Name]> }
      : Body;
/** A file of a multipart body arrives as a `File`, whatever a client may send. */
type MemberOfBody<Member> = Member extends Sendable
  ? never
  : Member extends Blob
    ? File
    : Member extends readonly (infer Item)[]
      ? [Extract<Item, Blob>] extends [never]
        ? Member
        : MemberOfBody<Item>[]
      : Member;

type AnswerOf<T extends ApiTypes, Id> = Answer<
  Success<Operation<T, "A", Id>> | Success<Operation<T, "B", Id>>
>;
type Success<O> = O extends { readonly success: infer Bodies } ? Bodies[keyof Bodies] : never;
/** A stream is answered by a `Response`. */
type Answer<Body> =
  | Exclude<Body, AsyncIterable<unknown>>
  | Response
  | Promise<Exclude<Body, AsyncIterable<unknown>> | Response>;

const answering = z.custom<(call: ApiCall) => unknown>(
  (value) => typeof value === "function",
  "must be a function",
);

export const responsesSchema: z.ZodType<Responses> = z.record(z.string(), answering);
