// The steps of a launch: the host application's page, the plugin's page, and the messages between them.
import type { Deployment } from "../deployment.js";
import type { LaunchAnswer, LaunchIdentity } from "../host/launch.js";
import type { Refusal } from "../refusal.js";

/** Begins a flow, from the host's page or without one. */
export function recordLaunch(
  { flows, clock, plugins, operators }: Deployment,
  { tenantId, clientId, userId }: LaunchIdentity,
  opened: { readonly url: string; readonly opaqueCode: string } | Refusal,
  from: "page" | "process",
): void {
  const at = clock();
  const plugin = plugins.find(tenantId, clientId);
  const operator = operators.find(tenantId, userId);
  const registered = plugin?.tenantId ?? operator?.tenantId;
  const flow = flows.begin("launch", {
    tenantId: registered,
    clientId: plugin?.clientId,
    userId: operator?.userId,
  });
  const loadedAt = flows.pageLoadedAt({ tenantId, userId });
  if (from === "page") {
    const loaded = {
      at: loadedAt ?? at,
      from: "front",
      to: "browser",
      fields: { tenantId, userId },
    } as const;
    flow.add({ ...loaded, name: "Host page loaded" });
    flow.add({ at, name: "Plugin chosen", from: "browser", to: "front", fields: { clientId } });
  }
  const way = { at, from: "front", to: "browser" } as const;
  if ("rule" in opened) {
    flow.add({ ...way, name: "Launch refused", fields: {}, refused: opened.rule });
    return;
  }
  const { opaque_code, state } = Object.fromEntries(new URL(opened.url).searchParams);
  flow.add({ ...way, name: "Plugin launched", fields: { opaque_code, state } }, opened.opaqueCode);
}

/** The page's message and the host's. */
export function recordAuthCode(
  { flows, clock }: Deployment,
  asked: { readonly opaqueCode: unknown; readonly codeChallenge: unknown },
  answer: LaunchAnswer | Refusal,
): void {
  const flow = flows.find(asked.opaqueCode);
  const at = clock();
  const fields = { challenge: asked.codeChallenge, opaque_code: asked.opaqueCode };
  flow?.add({ at, name: "plugin:pkce-init", from: "browser", to: "front", fields });
  const way = { at, from: "front", to: "browser" } as const;
  if ("rule" in answer) {
    flow?.add({ ...way, name: "Code refused", fields: {}, refused: answer.rule });
    return;
  }
  const { code, state, tenantId } = answer;
  const name = answer.posts === undefined ? "host:auth-code" : `host:auth-code, posted ${answer.posts} times`;
  flow?.add({ ...way, name, fields: { code, state, tenantId } }, code);
}
