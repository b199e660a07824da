// What must work in every runtime, by the entries of the packed package alone, without a test
// runner.
import { createBackend, toNodeHandler } from "../../src/backend/index.js";
import { runContract } from "../../src/contract/index.js";
import { createEmulator, type Emulator } from "../../src/emulator/index.js";
import {
  apiClient,
  beginLogin,
  completeLogin,
  connect,
  createAuth,
  createConnector,
  createService,
  detectVariant,
  isTransportError,
  type MachineCredential,
  memoryStore,
  type PrivateKey,
  resumeAuth,
  serviceAccount,
  servicePlugin,
  unwrap,
  userInterfacePlugin,
} from "../../src/index.js";
import { encryptedStore } from "../../src/stores/encrypted.js";
import { fileStore } from "../../src/stores/file.js";
import { validator } from "../../src/validate.js";

export interface Case {
  readonly run: () => Promise<void>;
  /** Why a runtime cannot have it. */
  readonly lacks?: Readonly<Record<string, string>>;
}

function same(actual: unknown, expected: unknown): void {
  const [is, should] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (is !== should) throw new Error(`expected ${should}, got ${is}`);
}

async function rejection(promise: Promise<unknown>): Promise<{ code?: string; name?: string }> {
  const none = () => new Error("it did not reject");
  return promise.then(none, (reason) => reason);
}

const baseUrl = "https://customer.example";
const target = { baseUrl, tenantId: "acme" };
const reports = { tenantId: "acme", clientId: "reports" };
const panel = { tenantId: "acme", clientId: "panel" };
const redirectUri = "https://portal.example/auth/callback";
const clientSecret = "not a real secret";
const scopes = ["devices:read"];

function deployment(): Emulator {
  const emulator = createEmulator({ publicUrl: baseUrl });
  emulator.registerPlugin({ ...reports, type: "service", scopes });
  emulator.registerPlugin({ ...panel, type: "user_interface", scopes });
  emulator.registerServiceAccount({ ...reports, clientSecret });
  const portal = { tenantId: "acme", clientId: "portal", redirectUris: [redirectUri] };
  emulator.registerApiClient(portal);
  emulator.registerOperator({ tenantId: "acme", userId: "7", capabilities: scopes });
  emulator.clock.freeze();
  return emulator;
}

const pluginOf = (emulator: Emulator) =>
  servicePlugin({ clientId: "reports", privateKey: emulator.testKey(reports) });
const account = () => serviceAccount({ clientId: "reports", clientSecret });
const through = ({ fetch, clock }: Emulator) => ({ ...target, fetch, clock });

async function countsDevices(credential: MachineCredential, emulator: Emulator): Promise<void> {
  const { fetch, clock } = emulator;
  const auth = createAuth({ ...through(emulator), credential });
  const devices = unwrap(await createService(auth, { fetch, clock }).call("listDevices"));
  same((devices as readonly unknown[]).length, 3);
}

const pem = (label: string, bytes: ArrayBuffer) =>
  `-----BEGIN ${label}-----\n${btoa(String.fromCharCode(...new Uint8Array(bytes)))}\n-----END ` +
  `${label}-----\n`;

async function newKey(): Promise<CryptoKeyPair> {
  const publicExponent = new Uint8Array([1, 0, 1]);
  const rsa = { name: "RSASSA-PKCS1-v1_5", modulusLength: 2048, publicExponent };
  const uses: KeyUsage[] = ["sign", "verify"];
  return (await crypto.subtle.generateKey(
    { ...rsa, hash: "SHA-256" },
    true,
    uses,
  )) as CryptoKeyPair;
}

/** A document of one operation, and a fetch that answers as given and keeps what was sent. */
function recorded(operation: object, answer: () => Response) {
  const sent: { url: string; headers: Headers; body: string }[] = [];
  const fetch = async (url: string, init: RequestInit = {}) => {
    const request = new Request(url, { ...init, signal: null });
    const body = request.body === null ? "" : await request.text();
    sent.push({ url, headers: request.headers, body });
    return answer();
  };
  const entry = { method: "GET", path: "/v1/own", success: [200], failure: [], ...operation };
  const api = { operations: { A: {}, B: { own: entry } } } as never;
  const auth = {
    variant: "B" as const,
    ...target,
    invalidate: () => undefined,
    getAccessToken: async () => ({ value: "a-token", expiresAt: Date.now() + 3_600_000 }),
  };
  const call = (init: object) =>
    createService(auth, { api, fetch, maxRetries: 0 }).call("own" as never, init as never);
  return {
    call: call as (init: object) => Promise<{ ok: boolean; data?: unknown; error?: unknown }>,
    sent,
  };
}

const noFiles = { workerd: "no file system" };
const noServer = { workerd: "no server of node:http" };

export const cases: Readonly<Record<string, Case>> = {
  "detection finds the variant that is served": {
    async run() {
      for (const variant of ["A", "B"] as const) {
        const { fetch } = createEmulator({ publicUrl: baseUrl, variants: [variant] });
        const { served } = await detectVariant({ ...target, fetch });
        same([served[variant], served[variant === "A" ? "B" : "A"]], ["yes", "no"]);
      }
    },
  },
  "a service plugin gets a token and calls (Variant A)": {
    async run() {
      const emulator = deployment();
      await countsDevices(pluginOf(emulator), emulator);
    },
  },
  "a service account gets a token and calls (Variant B)": {
    async run() {
      await countsDevices(account(), deployment());
    },
  },
  "a key as PKCS#8 PEM, JWK, CryptoKey and a function": {
    async run() {
      const { subtle } = globalThis.crypto;
      const { privateKey, publicKey } = await newKey();
      const jwk = await subtle.exportKey("jwk", privateKey);
      const forms: PrivateKey[] = [
        pem("PRIVATE KEY", (await subtle.exportKey("pkcs8", privateKey)) as ArrayBuffer),
        jwk as PrivateKey,
        privateKey as PrivateKey,
      ];
      const { kty, n, e } = await subtle.exportKey("jwk", publicKey);
      for (const form of [...forms, () => forms[0] as PrivateKey]) {
        const emulator = createEmulator({ publicUrl: baseUrl });
        const jwks = { keys: [{ kty, n, e }] } as never;
        emulator.registerPlugin({ ...reports, type: "service", scopes, jwks });
        const credential = servicePlugin({ clientId: "reports", privateKey: form });
        await createAuth({ ...target, fetch: emulator.fetch, credential }).getAccessToken();
      }
    },
  },
  "a token is renewed before it expires, and shared by callers": {
    async run() {
      const emulator = deployment();
      const auth = createAuth({ ...through(emulator), credential: account() });
      const both = await Promise.all([auth.getAccessToken(), auth.getAccessToken()]);
      same(both[0] === both[1], true);
      emulator.clock.advance(3_600_000);
      same((await auth.getAccessToken()).value === both[0].value, false);
      same(emulator.journal.tokenRequests({ tenantId: "acme" }).length, 2);
    },
  },
  "Retry-After of a 429 is waited for": {
    async run() {
      const emulator = deployment();
      emulator.faults.add({ name: "rate-limited", retryAfter: 5, match: { tenantId: "acme" } });
      const auth = createAuth({ ...through(emulator), credential: account() });
      const token = auth.getAccessToken();
      same((await emulator.clock.skipSleep()) >= 5_000, true);
      await token;
    },
  },
  "a person logs in, and a shared store renews the login elsewhere": {
    async run() {
      const emulator = deployment();
      const authorizationEndpoint = `${baseUrl}/v1/auth/authorize`;
      const credential = apiClient({ clientId: "portal", redirectUri, authorizationEndpoint });
      const store = memoryStore();
      const options = { ...through(emulator), credential, store, person: "ada" };
      const { url, login } = await beginLogin(options);
      const { callbackUrl } = emulator.login({ url, tenantId: "acme", userId: "7" } as never);
      const auth = await completeLogin({ ...options, callbackUrl, login });
      const first = await auth.getAccessToken();
      emulator.clock.advance(3_600_000);
      const elsewhere = await resumeAuth(options);
      same((await elsewhere?.getAccessToken())?.value === first.value, false);
    },
  },
  "a file store keeps tokens, encrypted": {
    lacks: noFiles,
    async run() {
      const { mkdtemp, rm } = await import("node:fs/promises");
      const { tmpdir } = await import("node:os");
      const folder = await mkdtemp(`${tmpdir()}/everywhere-`);
      const emulator = deployment();
      const { fetch, clock } = emulator;
      const options = { fetch, clock, credentials: [account()] };
      const key = new Uint8Array(32).fill(7);
      for (let round = 0; round < 2; round++) {
        const store = fileStore(folder, { key });
        const connector = createConnector({ ...options, store });
        await (await connector.connect(target)).auth.getAccessToken();
      }
      same(emulator.journal.tokenRequests({ tenantId: "acme" }).length, 1);
      await rm(folder, { recursive: true });
    },
  },
  "an encrypted store holds no token in clear": {
    async run() {
      const emulator = deployment();
      const inner = memoryStore();
      const values: string[] = [];
      const spied = new Proxy(inner, {
        get(of, name: keyof typeof inner) {
          const member = of[name] as unknown;
          if (typeof member !== "function") return member;
          return (...args: unknown[]) => {
            values.push(JSON.stringify(args));
            return member.apply(of, args);
          };
        },
      });
      const store = encryptedStore(spied, new Uint8Array(32).fill(7));
      const options = { ...through(emulator), credential: account(), store };
      const { value } = await createAuth(options).getAccessToken();
      same([values.length > 0, values.some((one) => one.includes(value))], [true, false]);
    },
  },
  "a backend answers its routes": {
    async run() {
      const emulator = deployment();
      const privateKey = emulator.testKey(panel);
      const launch = userInterfacePlugin({ clientId: "panel", privateKey });
      const deployments = [{ ...target, hostOrigin: "https://host.example", launch }];
      const { fetch, clock } = emulator;
      const backend = createBackend({ deployments, fetch, clock } as never);
      const answer = await backend(new Request("https://app.example/auth/me"));
      same([answer.status, (await answer.json()).error], [401, "session_missing"]);
    },
  },
  "a backend is served by node:http": {
    lacks: noServer,
    async run() {
      const { createServer } = await import("node:http");
      const path = async ({ url }: Request) => Response.json(new URL(url).pathname);
      const server = createServer(toNodeHandler(path));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as { port: number };
      same(await (await fetch(`http://127.0.0.1:${port}/a%20b`)).json(), "/a%20b");
      server.close();
      server.closeAllConnections();
    },
  },
  "parameters in every style": {
    async run() {
      const ids = { name: "ids", style: "pipeDelimited", explode: false };
      const filter = { name: "filter", style: "deepObject", explode: true };
      const parameters = [
        { in: "query", ...ids, schema: { type: "array" } },
        { in: "query", ...filter, schema: { type: "object" } },
      ];
      const { call, sent } = recorded({ parameters }, () => Response.json({}));
      await call({ params: { query: { ids: [1, 2], filter: { a: "x y" } } } });
      same(new URL(sent[0]?.url ?? "").searchParams.get("filter[a]"), "x y");
    },
  },
  "a form with a file as multipart": {
    async run() {
      const contentType = "multipart/form-data";
      const operation = { method: "POST", contentType, contents: { [contentType]: {} } };
      const { call, sent } = recorded(operation, () => Response.json({}));
      const body = new FormData();
      body.set("file", new Blob(["bytes"], { type: "text/plain" }), "a.txt");
      await call({ body });
      const type = sent[0]?.headers.get("content-type") ?? "";
      same(/multipart\/form-data; boundary=/.test(type), true);
      same(sent[0]?.body.includes("bytes"), true);
    },
  },
  "events of a stream": {
    async run() {
      const headers = { "content-type": "text/event-stream" };
      const answer = () => new Response("data: one\n\ndata: two\n\n", { headers });
      const { call } = recorded({ answers: { 200: { "text/event-stream": {} } } }, answer);
      const { data } = await call({ parseAs: "stream" });
      const text = await new Response(data as ReadableStream).text();
      same(text.includes("data: two"), true);
    },
  },
  "a time limit ends a call, and an abort at once": {
    async run() {
      const silent = () => new Promise<Response>(() => undefined);
      const options = { ...target, fetch: silent, credential: account(), retryDeadlineMs: 0 };
      const late = createAuth({ ...options, timeoutMs: 20 }).getAccessToken();
      same((await rejection(late)).code, "timed_out");
      const signal = AbortSignal.abort(new DOMException("gone", "AbortError"));
      same((await rejection(createAuth(options).getAccessToken({ signal }))).name, "AbortError");
    },
  },
  "a network fault is a typed error, recognised by its guard": {
    async run() {
      const fetch = () => Promise.reject(new TypeError("fetch failed"));
      const options = { ...target, fetch, credential: account(), retryDeadlineMs: 0 };
      const error = await rejection(createAuth(options).getAccessToken());
      same([isTransportError(error), error.code], [true, "network_failed"]);
      same(JSON.stringify(error).includes(clientSecret), false);
    },
  },
  "answers are validated": {
    async run() {
      const emulator = deployment();
      const credentials = [account()];
      const validate = validator("strict");
      const service = await connect({ ...through(emulator), variant: "B", credentials, validate });
      same((await service.call("listDevices")).ok, true);
    },
  },
  "the emulator listens": {
    lacks: noServer,
    async run() {
      const { url, close } = await createEmulator({ variants: ["B"] }).listen();
      const { served } = await detectVariant({ baseUrl: url, tenantId: "acme" });
      await close();
      same(served.B, "yes");
    },
  },
  "contract cases run against the emulator": {
    async run() {
      const emulator = deployment();
      const plugin = { clientId: "reports", privateKey: emulator.testKey(reports) };
      const { fetch } = emulator;
      let held = 0;
      const options = { fetch, only: ["assertion.audience"] };
      for await (const { result } of runContract({ ...target, plugin }, options))
        if (result === "holds") held++;
      same(held > 0, true);
    },
  },
};
