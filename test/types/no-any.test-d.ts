/** Nothing public is `any`: every exported type and function, its parameters, its return and its members. */
import type { OperationTypes } from "../../generated/operations.js";
import type * as main from "../../src/index.js";
import type * as validate from "../../src/validate.js";
import type * as a from "../../src/variant-a.js";
import type * as b from "../../src/variant-b.js";
import { type Equal, type IsAny, proof } from "./proof.js";

/** Every exported type by its name: no-any.test.ts fails when one has no line here. */
interface Main {
  AccessToken: main.AccessToken;
  Api: main.Api<OperationTypes>;
  ApiClientSettings: main.ApiClientSettings;
  ApiErrorCode: main.ApiErrorCode;
  ResumeAuthOptions: main.ResumeAuthOptions;
  RedeemLaunchOptions: main.RedeemLaunchOptions;
  PersonAuthOptions: main.PersonAuthOptions;
  PersonAuth: main.PersonAuth;
  PendingLogin: main.PendingLogin;
  CompleteLoginOptions: main.CompleteLoginOptions;
  BegunLogin: main.BegunLogin;
  Auth: main.Auth;
  AuthOptions: main.AuthOptions;
  Call: main.Call<OperationTypes>;
  Cause: main.Cause;
  ConfigurationErrorCode: main.ConfigurationErrorCode;
  ConnectOptions: main.ConnectOptions;
  ConnectTarget: main.ConnectTarget;
  Connector: main.Connector;
  ConnectorOptions: main.ConnectorOptions;
  CreateAuthOptions: main.CreateAuthOptions;
  CreateServiceOptions: main.CreateServiceOptions;
  DetectVariantOptions: main.DetectVariantOptions;
  CryptoKeyLike: main.CryptoKeyLike;
  Detection: main.Detection;
  ErrorCode: main.ErrorCode;
  Evidence: main.Evidence;
  Failure: main.Failure<"A", 400, unknown>;
  Fetch: main.Fetch;
  KeyObjectLike: main.KeyObjectLike;
  KeyWithId: main.KeyWithId;
  LoginRequiredErrorCode: main.LoginRequiredErrorCode;
  LookupTypes: main.LookupTypes;
  MachineCredential: main.MachineCredential;
  OnEvent: main.OnEvent;
  Operator: main.Operator;
  Outcome: main.Outcome<OperationTypes, main.Variant, "listDevices">;
  PathClient: main.PathClient<OperationTypes, main.Variant>;
  PersonCredential: main.PersonCredential;
  PrivateKey: main.PrivateKey;
  RelaunchRequiredErrorCode: main.RelaunchRequiredErrorCode;
  Service: main.Service;
  ServiceAccountSettings: main.ServiceAccountSettings;
  ServiceEvent: main.ServiceEvent;
  ServiceFetch: main.ServiceFetch;
  ServiceOf: main.ServiceOf<"A", OperationTypes>;
  ServicePluginSettings: main.ServicePluginSettings;
  Settings: main.Settings<object>;
  Signer: main.Signer;
  StoreErrorCode: main.StoreErrorCode;
  StoredValue: main.StoredValue;
  Success: main.Success<"A", 200, unknown>;
  TokenStore: main.TokenStore;
  TransportErrorCode: main.TransportErrorCode;
  UnexpectedResponseErrorCode: main.UnexpectedResponseErrorCode;
  UserInterfacePluginSettings: main.UserInterfacePluginSettings;
  Validate: main.Validate;
  ValidatedAnswer: main.ValidatedAnswer;
  Variant: main.Variant;
  VariantErrorCode: main.VariantErrorCode;
}
interface VariantA {
  KeyWithId: a.KeyWithId;
  RedeemLaunchOptions: a.RedeemLaunchOptions;
  ServicePluginSettings: a.ServicePluginSettings;
  UserInterfacePluginSettings: a.UserInterfacePluginSettings;
  components: a.components;
  operations: a.operations;
  paths: a.paths;
}
interface VariantB {
  ApiClientSettings: b.ApiClientSettings;
  BegunLogin: b.BegunLogin;
  CompleteLoginOptions: b.CompleteLoginOptions;
  PendingLogin: b.PendingLogin;
  ServiceAccountSettings: b.ServiceAccountSettings;
  components: b.components;
  operations: b.operations;
  paths: b.paths;
}
interface Validation {
  ResponseIssue: validate.ResponseIssue;
  ResponseSchema: validate.ResponseSchema;
  SchemasOfVariant: validate.SchemasOfVariant;
  Validate: validate.Validate;
  ValidatedAnswer: validate.ValidatedAnswer;
  ValidationMode: validate.ValidationMode;
  ValidationSchemas: validate.ValidationSchemas;
}

/** Whether a type is `any`, or a function that takes or gives it. */
type IsOffence<T> =
  IsAny<T> extends true
    ? true
    : T extends (...args: infer Parameters) => infer Answer
      ? true extends IsAny<Parameters[number]> | IsAny<Awaited<Answer>>
        ? true
        : false
      : false;
/** A class's `prototype` has `any` by the language's own rule, and what stands on `Error` is not ours. */
type OwnKey<T> = Exclude<keyof T & string, "prototype" | keyof ErrorConstructor>;
type Members<T> = T extends object
  ? { [M in OwnKey<T>]: true extends IsOffence<T[M]> ? M : never }[OwnKey<T>]
  : never;
/** Names of exports that offend, and of members of exports. */
type Offenders<T> = { [K in keyof T]: true extends IsOffence<T[K]> ? K : Members<T[K]> }[keyof T];

proof<Equal<Offenders<Main>, never>>();
proof<Equal<Offenders<VariantA>, never>>();
proof<Equal<Offenders<VariantB>, never>>();
proof<Equal<Offenders<Validation>, never>>();
/** Functions, classes and guards need no line: the module's own type lists them. */
proof<Equal<Offenders<typeof main>, never>>();
proof<Equal<Offenders<typeof a>, never>>();
proof<Equal<Offenders<typeof b>, never>>();
proof<Equal<Offenders<typeof validate>, never>>();

/** Deeply for a service: what its calls and paths take and give. */
interface ServiceMembers {
  getAccessToken: main.Service["auth"]["getAccessToken"];
  invalidate: main.Service["auth"]["invalidate"];
  fetch: main.Service["fetch"];
  outcome: main.Outcome<OperationTypes, main.Variant, "listDevices">;
  data: Extract<main.Outcome<OperationTypes, "A", "requestToken">, { ok: true }>["data"];
  error: Extract<main.Outcome<OperationTypes, "A", "requestToken">, { ok: false }>["error"];
  body: Extract<main.Outcome<OperationTypes, "B", "listDevices">, { ok: false }>["error"]["body"];
  argumentsOfA: OperationTypes["A"]["requestToken"]["args"][0];
  argumentsOfB: OperationTypes["B"]["requestToken"]["args"][0];
  argumentsOfBoth: OperationTypes["both"]["listDevices"]["args"][0];
  pathOfA: main.ServiceOf<"A", OperationTypes>["paths"]["GET"];
  pathOfB: main.ServiceOf<"B", OperationTypes>["paths"]["GET"];
}
proof<Equal<Offenders<ServiceMembers>, never>>();

/** The control: the claims above find what they look for. */
interface Control {
  itself: typeof anything;
  parameter: (value: typeof anything) => void;
  answer: () => Promise<typeof anything>;
  innocent: (value: string) => unknown;
  members: { wrong: typeof anything; right: string };
}
declare const anything: ReturnType<typeof JSON.parse>;
proof<Equal<Offenders<Control>, "itself" | "parameter" | "answer" | "wrong">>();

export type { Main, Validation, VariantA, VariantB };
