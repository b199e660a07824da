/** An emulator with everything that a case can need, and the target that lends it. */
import {
  type ContractOptions,
  type ContractResult,
  type ContractTarget,
  contractCases,
  type Launched,
  type Learnt,
  learnFrom,
  runContract,
} from "../../src/contract/index.js";
import {
  createEmulator,
  type Emulator,
  type EmulatorOptions,
  type RuleId,
} from "../../src/emulator/index.js";
import { pluginKey } from "../emulator/deployment.js";
import { secondKey } from "../emulator/negative/world.js";
import type { SigningKey } from "../emulator/signing-key.js";

const tenantId = "acme";
const scopes = ["devices:read"];
/** Small, so that a run meets it and waits. */
const rateLimit = { requests: 30, windowSeconds: 60 };
/** An operator with every capability; a whole number, so that the option userIdType matters. */
const ada = "1815";
const redirectUri = "https://app.example/callback";

/**
 * All plugins but one have the first key alone: the emulator would take its time to make others.
 */
const plugin = (clientId: string, type: "service" | "user_interface", more: object = {}) => ({
  clientId,
  tenantId,
  type,
  scopes,
  jwks: { keys: [pluginKey.publicJwk] },
  ...more,
});

export interface Rig {
  readonly emulator: Emulator;
  readonly target: ContractTarget;
  /** `wait` moves the emulator's clock, and `fetch` answers in-process. */
  readonly options: ContractOptions;
  run(
    options?: ContractOptions,
    target?: Partial<ContractTarget>,
  ): Promise<Map<string, ContractResult>>;
}

export function createRig(emulatorOptions: EmulatorOptions = {}): Rig {
  const startedAt = Date.now();
  const emulator = createEmulator({
    publicUrl: "http://service.localhost",
    rateLimit,
    // Only waits move it, so that a slow machine sees the same windows.
    now: () => startedAt,
    ...emulatorOptions,
    seed: {
      plugins: [
        plugin("reports", "service", {
          jwks: { keys: [pluginKey.publicJwk, secondKey.publicJwk] },
        }),
        plugin("disabled", "service", { enabled: false }),
        plugin("restricted", "service", { devices: ["device-1"] }),
        plugin("page", "user_interface"),
        plugin("other-page", "user_interface"),
        plugin("page", "user_interface", { tenantId: "umbrella" }),
      ],
      operators: [
        { userId: ada, tenantId, capabilities: scopes, firstname: "Ada", lastname: "Lovelace" },
        { userId: "bob", tenantId, capabilities: [] },
        { userId: "eve", tenantId: "umbrella", capabilities: scopes },
      ],
      serviceAccounts: [{ clientId: "nightly", clientSecret: "a secret of the account", tenantId }],
      apiClients: ["portal", "kiosk"].map((clientId) => ({
        clientId,
        tenantId,
        redirectUris: [redirectUri],
        ...(clientId === "portal" && { clientSecret: "a secret of the portal" }),
      })),
    } as never,
  });
  const keyOf = ({ privateKey, kid }: SigningKey) => ({
    privateKey: privateKey.export({ format: "jwk" }),
    keyId: kid,
  });
  const credential = (clientId: string) => ({ clientId, ...keyOf(pluginKey) });
  const launch = (userId: string, clientId: string): Launched => {
    const { url, authorize } = emulator.launch({ tenantId, clientId, userId });
    const parameters = Object.fromEntries(new URL(url, "https://page.example").searchParams);
    return { parameters, initialise: async (message) => authorize(message) };
  };
  const authorizationEndpoint = `${emulator.publicUrl}/v1/auth/authorize`;
  const target: ContractTarget = {
    baseUrl: emulator.publicUrl,
    tenantId,
    plugin: credential("reports"),
    secondKey: keyOf(secondKey),
    disabledPlugin: credential("disabled"),
    restrictedPlugin: credential("restricted"),
    pagePlugin: credential("page"),
    otherPagePlugin: credential("other-page"),
    launch: async (clientId) => launch(ada, clientId),
    limitedLaunch: async () => launch("bob", "page"),
    secondTenantId: "umbrella",
    secondTenantPlugin: credential("page"),
    closedRoute: "GET /api/v1/acme/tenant-settings",
    otherScopeRoute: "POST /api/v1/acme/schedules/7/executions",
    deviceRoute: "GET /api/v1/acme/devices/device-2",
    async narrow() {
      emulator.updatePlugin({ clientId: "reports", tenantId, scopes: [] });
      return async () => emulator.updatePlugin({ clientId: "reports", tenantId, scopes });
    },
    async disable() {
      emulator.updatePlugin({ clientId: "reports", tenantId, enabled: false });
      return async () => emulator.updatePlugin({ clientId: "reports", tenantId, enabled: true });
    },
    rateLimit,
    envelopes: ["true", "full"],
    serviceAccount: { clientId: "nightly", clientSecret: "a secret of the account" },
    apiClient: {
      clientId: "portal",
      clientSecret: "a secret of the portal",
      redirectUri,
      authorizationEndpoint,
    },
    otherApiClient: { clientId: "kiosk", redirectUri, authorizationEndpoint },
    login: async (url) => emulator.login({ url, userId: ada }).callbackUrl,
    denyLogin: async (url) => emulator.login({ url, userId: ada, decision: "deny" }).callbackUrl,
  };
  const options: ContractOptions = {
    fetch: emulator.fetch,
    now: () => emulator.clock.now(),
    wait: async (ms) => emulator.clock.advance(ms),
    maxRequests: 1_000,
  };
  return {
    emulator,
    target,
    options,
    async run(more = {}, changed = {}) {
      const results = new Map<string, ContractResult>();
      for await (const result of runContract({ ...target, ...changed }, { ...options, ...more }))
        results.set(result.id, result);
      return results;
    },
  };
}

/** Not the one that the kit tries first. */
export const refreshPath = "/v1/auth/session/renew";

/** Runs every case, or every one of a variant. */
export async function runAll(rig: Rig, variant?: "A" | "B"): Promise<readonly ContractResult[]> {
  const cases = contractCases.filter((one) => variant === undefined || one.variant === variant);
  return [...(await rig.run({ only: cases.map(({ id }) => id) }, { refreshPath })).values()];
}

/** What a comparison of two runs looks at. */
type Compared = Pick<ContractResult, "id" | "result" | "observed" | "settings">;
const verdicts = (all: readonly ContractResult[]): readonly Compared[] =>
  all.map(({ id, result, observed, settings }) => ({ id, result, observed, settings }));

/**
 * Runs against an emulator without these rules, and then against one with the settings that were
 * learnt, as from a file.
 */
export async function roundTrip(
  broken: readonly RuleId[],
  variant?: "A" | "B",
): Promise<{
  readonly learnt: Learnt;
  readonly first: readonly Compared[];
  readonly second: readonly Compared[];
}> {
  const rules = Object.fromEntries(broken.map((rule) => [rule, false]));
  const first = await runAll(createRig({ refreshPath, rules }), variant);
  const learnt = learnFrom(JSON.parse(JSON.stringify(first)));
  const second = await runAll(createRig(JSON.parse(JSON.stringify(learnt.settings))), variant);
  return { learnt, first: verdicts(first), second: verdicts(second) };
}
