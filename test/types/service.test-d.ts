/** A service of either variant, and of a known one. */
import {
  type Auth,
  type AuthOptions,
  createAuth,
  createService,
  type Detection,
  type Service,
  serviceAccount,
  servicePlugin,
} from "../../src/index.js";
import type { components as A } from "../../src/variant-a.js";
import type { components as B } from "../../src/variant-b.js";
import { type Equal, proof } from "./proof.js";

/** As Next.js does. */
declare global {
  interface RequestInit {
    next?: { readonly revalidate: number };
  }
}
declare const service: Service;
declare const options: AuthOptions & { baseUrl: string; tenantId: string };

/** While the variant is unknown, a call needs nothing but its operationId. */
export async function callsWithoutKnowingTheVariant(): Promise<void> {
  const outcome = await service.call("listDevices");
  proof<Equal<(typeof outcome)["variant"], "A" | "B">>();
  proof<Equal<Extract<typeof outcome, { ok: true }>["status"], 200>>();
  proof<Equal<Extract<typeof outcome, { ok: true }>["data"], unknown>>();

  await service.call("listDevices", { envelope: "full", headers: { "x-team": null } });
  await service.call("listDevices", { cache: "no-store", next: { revalidate: 60 } });
  await service.call("listDevices", { timeoutMs: 5_000, idempotent: true, redirect: "error" });
  proof<Equal<(typeof outcome)["requestId"], string>>();

  // @ts-expect-error an unknown operationId
  await service.call("listPlanets");
  // @ts-expect-error a number is not a header
  await service.call("listDevices", { headers: 5 });
  // @ts-expect-error a time limit is a number
  await service.call("listDevices", { timeoutMs: "5s" });
  // @ts-expect-error whether a call may be repeated is a boolean
  await service.call("listDevices", { idempotent: "yes" });
  // @ts-expect-error an unknown cache mode
  await service.call("listDevices", { cache: "never" });
  // @ts-expect-error a text is not a signal
  await service.call("listDevices", { signal: "now" });
  // @ts-expect-error the operation has no body
  await service.call("listDevices", { body: {} });
  // @ts-expect-error an unknown option
  await service.call("listDevices", { timeout: 5 });
  // @ts-expect-error the operation has its own method
  await service.call("listDevices", { method: "POST" });
  // @ts-expect-error X-Envelope is the option `envelope`
  await service.call("listDevices", { params: { header: { "X-Envelope": "x" } } });
  // @ts-expect-error requestToken needs a body
  await service.call("requestToken");
  const login = { code: "c", code_verifier: "v", client_id: "i", redirect_uri: "r" };
  // @ts-expect-error Variant A does not accept this body
  await service.call("requestToken", { body: login });
  // @ts-expect-error a path that only one variant has cannot be called on either
  await service.paths.GET("/v1/devices");
}

/** `service.variant` narrows `paths`, and the options and outcomes of `call`. */
export async function narrowsByVariant(): Promise<void> {
  if (service.variant === "A") {
    proof<Equal<typeof service.variant, "A">>();
    proof<Equal<typeof service.auth.variant, "A">>();

    const outcome = await service.call("listDevices", { params: { path: { tenantId: "acme" } } });
    proof<Equal<(typeof outcome)["variant"], "A">>();

    const byPath = await service.paths.GET("/api/v1/{tenantId}/devices");
    proof<Equal<typeof byPath, typeof outcome>>();

    // @ts-expect-error a path of Variant B
    await service.paths.GET("/v1/devices");
    // @ts-expect-error the path does not have that method
    await service.paths.POST("/api/v1/{tenantId}/devices");
    const grant = { grant_type: "client_credentials", client_id: "i" } as const;
    // @ts-expect-error only Variant B accepts this body
    await service.call("requestToken", { body: { ...grant, client_secret: "s" } });

    const client_assertion_type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    const body = { ...grant, client_assertion: "a.b.c", client_assertion_type } as const;
    const token = await service.call("requestToken", { body });
    if (token.status === 200) proof<Equal<typeof token.data, A["schemas"]["TokenResponse"]>>();
  } else {
    proof<Equal<typeof service.variant, "B">>();

    const outcome = await service.paths.GET("/v1/devices");
    proof<Equal<(typeof outcome)["variant"], "B">>();

    // @ts-expect-error a path of Variant A
    await service.paths.GET("/api/v1/{tenantId}/devices");
    // @ts-expect-error Variant B has no path parameter
    await service.call("listDevices", { params: { path: { tenantId: "acme" } } });

    const body = { code: "c", code_verifier: "v", client_id: "i", redirect_uri: "r" };
    const token = await service.call("requestToken", { body });
    if (token.ok) proof<Equal<typeof token.data, B["schemas"]["TokenResponse"]>>();
  }
}

/** `call` needs its service: detached, it does not know the variant. */
export async function callNeedsItsService(): Promise<void> {
  const { call } = service;
  // @ts-expect-error called without the service
  await call("listDevices");
}

/** createAuth keeps the variant of its credential, and createService that of its Auth. */
export async function keepsTheVariant(auth: Auth): Promise<void> {
  const plugin = createAuth({
    ...options,
    credential: servicePlugin({ clientId: "c", privateKey: "pem" }),
  });
  const credential = serviceAccount({ clientId: "c", clientSecret: "s" });
  const account = createAuth({ ...options, credential });
  proof<Equal<typeof plugin.variant, "A">>();
  proof<Equal<typeof account.variant, "B">>();

  await createService(plugin).paths.GET("/api/v1/{tenantId}/devices");
  await createService(account).paths.GET("/v1/devices");
  // @ts-expect-error the Auth is of Variant A
  await createService(plugin).paths.GET("/v1/devices");

  const either = createService(auth);
  proof<Equal<typeof either, Service>>();
}

/** Other members of a service. */
proof<Equal<Service["detection"], Detection | undefined>>();
proof<Equal<Service["baseUrl"], string>>();
proof<Equal<Awaited<ReturnType<Service["fetch"]>>, Response>>();
