// The network between the processes of a world and the service.
import type { FaultKind, FaultPlan, Plan } from "./plan.js";
import type { Rules, TokenFields } from "./rules.js";
import type { Owner, Scheduler } from "./scheduler.js";
import type { SimulatedService } from "./service.js";

/** What all parts of a world share. */
export interface World {
  readonly plan: Plan;
  readonly scheduler: Scheduler;
  readonly rules: Rules;
  readonly service: SimulatedService;
  readonly random: () => number;
  /** Adds a line to the trace. */
  readonly note: (text: string) => void;
  /** Returns a fault that is on now and meant for this, and counts it. */
  readonly faultOf: (isMeant: (fault: FaultPlan) => boolean) => FaultPlan | undefined;
  /** Called when a process has sent a token request. */
  readonly tokenSent: (process: number) => void;
}

export type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

/**
 * The header by which a process of a world names the purpose and the tenant of a request, which
 * Variant B's lack.
 */
export const factsHeader = "x-simulated";
/**
 * The headers by which a call names the tenant and the person that it is made for, whatever the
 * client believes.
 */
export const tenantHeader = "x-tenant";
export const personHeader = "x-person";

const isOfNetwork = (kind: FaultKind) =>
  !/store|jump|suspend|death|disabled|narrowed|revoked/.test(kind);

/**
 * Returns the fetch of the connector or the backend of a process, by whose name the rules know it.
 */
export function networkOf(
  world: World,
  from: Owner & { readonly index: number },
  name: string,
): Fetch {
  const { plan, scheduler, rules, service, random, note, faultOf } = world;
  const latency = () => 1 + random() * plan.latencyMs;
  return (url, init = {}) => {
    const headers = (init.headers ?? {}) as Record<string, string>;
    const [purpose = "", believed = ""] = (headers[factsHeader] ?? "").split(" ");
    const tenantId = headers[tenantHeader] ?? believed;
    const userId = headers[personHeader];
    const index = plan.customers.findIndex((one) => one.tenantId === tenantId);
    const customer = plan.customers[index];
    if (customer === undefined) return Promise.reject(new TypeError("a request without a tenant"));
    const what = `${name} ${purpose} ${userId ?? tenantId}`;
    const fault = faultOf((one) => one.customer === index && isOfNetwork(one.kind));
    const kind = fault?.kind;
    const slowMs = kind === "slow" ? 12_000 * random() : 0;
    const isForToken = purpose === "token";
    // Without a connection nothing of the body is read.
    const fields = isForToken && kind !== "refused" ? fieldsOf(String(init.body)) : undefined;
    note(`${what}${fields ? ` ${fields.grant}` : ""}${kind ? ` (${kind})` : ""}`);
    if (fields) {
      rules.tokenRequested(scheduler.now, name, customer, fields);
      world.tokenSent(from.index);
    }
    const bearer = headers.authorization?.replace("Bearer ", "") ?? "";
    if (purpose === "call") rules.called(scheduler.now, name, tenantId, userId, bearer);
    /** The token of a machine in an answer that arrives whole. */
    let issued: string | undefined;
    return new Promise((resolve, reject) => {
      let isOver = false;
      const settle = (end: () => void) => {
        if (isOver) return;
        isOver = true;
        signal?.removeEventListener("abort", onAbort);
        end();
      };
      const { signal } = init;
      const onAbort = () => settle(() => reject(signal?.reason));
      signal?.addEventListener("abort", onAbort);
      if (signal?.aborted) onAbort();
      const later = (run: () => void, owner?: Owner) =>
        scheduler.after(latency() + slowMs, run, owner);
      const fail = (cause?: string) => {
        note(`${what} -> lost`);
        const error = new TypeError(
          "fetch failed",
          cause ? { cause: Object.assign(new Error(cause), { code: cause }) } : {},
        );
        settle(() => reject(error));
      };
      const deliver = (response: Response) => {
        note(`${what} -> ${response.status}`);
        settle(() => {
          const seconds = Number(response.headers.get("retry-after"));
          if (fields && response.status === 429)
            rules.limited(scheduler.now, name, tenantId, fields, seconds);
          if (response.status === 401) rules.unauthorized(scheduler.now, name, tenantId, bearer);
          if (issued !== undefined) rules.delivered(scheduler.now, name, tenantId, issued);
          resolve(response);
        });
      };
      if (kind === "silence") return;
      if (kind === "refused") return void later(() => fail("ECONNREFUSED"), from);
      if (kind === "lost before") return void later(fail, from);
      later(async () => {
        const gateway = fault && answerOf(fault);
        if (gateway !== undefined) {
          if (gateway.status === 429 && fields) rules.unsent(name, fields);
          return void later(() => deliver(gateway), from);
        }
        const { signal: _signal, ...request } = init;
        if (init.body != null) request.body = fields?.text ?? String(init.body);
        const answer = await service.fetch(customer, url, request);
        const delivered = fields ? await read(answer, fields) : answer;
        if (kind === "lost after") return void later(fail, from);
        const changed =
          kind?.endsWith("body") || kind === "reset" ? await broken(delivered) : delivered;
        later(() => deliver(changed), from);
      });

      const read = async (answer: Response, fields: TokenFields): Promise<Response> => {
        const text = await answer.text();
        if (answer.ok) {
          const { access_token: token, refresh_token: refreshToken } = JSON.parse(text);
          rules.tokenIssued(scheduler.now, tenantId, fields, token, refreshToken);
          if (fields.grant === "client_credentials" && !/body|reset/.test(kind ?? ""))
            issued = token;
        } else if (answer.status < 429) {
          rules.refused(scheduler.now, name, tenantId, fields);
          // No token is read for a variant that is left, or for a secret that was replaced.
          const isRotated = answer.status === 401 && customer.rotatesAt !== undefined;
          if (answer.status === 404 || isRotated) rules.unsent(name, fields);
        }
        return new Response(text || null, { status: answer.status, headers: answer.headers });
      };
      /** The answer with a body that ends early, breaks off, or comes in two parts. */
      const broken = async (answer: Response): Promise<Response> => {
        const bytes = new Uint8Array(await answer.arrayBuffer());
        const head = bytes.slice(0, bytes.length / 2);
        if (bytes.length === 0) return answer;
        if (kind === "cut body") return new Response(head, answer);
        const restMs = kind === "slow body" ? 20_000 * random() : 100;
        const body = new ReadableStream<Uint8Array>({
          start(controller) {
            controller.enqueue(head);
            scheduler.after(2 * latency() + restMs, () => {
              if (kind === "reset") return controller.error(new TypeError("terminated"));
              // The reader may have given up.
              try {
                controller.enqueue(bytes.slice(head.length));
                controller.close();
              } catch {}
            });
          },
        });
        return new Response(body, answer);
      };
    });
  };
}

function fieldsOf(text: string): TokenFields & { readonly text: string } {
  const {
    grant_type,
    client_id = "",
    client_assertion,
    code,
    refresh_token,
  } = text.startsWith("{") ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text));
  const grant = grant_type ?? "authorization_code";
  return {
    grant,
    clientId: client_id,
    assertion: client_assertion,
    code,
    refreshToken: refresh_token,
    text,
  };
}

/** What a gateway answers in place of the service. */
function answerOf({ kind, retryAfter }: FaultPlan): Response | undefined {
  if (kind === "429") return new Response(null, { status: 429 });
  if (kind === "429 for a while")
    return new Response(null, { status: 429, headers: { "retry-after": String(retryAfter) } });
  if (kind === "500") return Response.json({ error: "server_error" }, { status: 500 });
  if (kind === "503") return new Response(null, { status: 503 });
  if (kind === "redirect")
    return new Response(null, { status: 302, headers: { location: "https://elsewhere.example" } });
  if (kind === "page") return new Response("<html>", { headers: { "content-type": "text/html" } });
  return undefined;
}
