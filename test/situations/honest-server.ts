// A server of both variants made of node:http and node:crypto alone, from the description. It obeys
// every rule, and a situation may replace an answer after the work was done, as a gateway in
// between would.
import { createHash, type KeyObject, randomUUID, verify } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text as readText } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { type SteppedClock, steppedClock } from "../support/clock.js";

/** What a request asks for. `probe`: a question of the detection, which carries no credential. */
export type Kind = "token" | "code" | "refresh" | "probe" | "call" | "login";

/** An answer in place of the honest one. */
export interface Answer {
  readonly status?: number;
  readonly json?: unknown;
  /** Fields to change in the honest answer; `undefined` removes one. */
  readonly with?: Readonly<Record<string, unknown>>;
  readonly text?: string;
  /** Content type; `null` leaves it out. */
  readonly type?: string | null;
  /** `{base}` stands for the base URL and `{outside}` for an address outside. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly fault?: "reset" | "silence" | "cut";
  readonly isGzip?: boolean;
  readonly isInPieces?: boolean;
  /** The server did not do the work, so a code or refresh token is not spent. */
  readonly isUnspent?: boolean;
}

export type Answers = Answer | readonly Answer[];

interface Reply {
  readonly kind: Kind;
  readonly status: number;
  readonly json?: unknown;
  readonly location?: string;
}

export const CLIENT_SECRET = "s3cret-of-the-account";
export const REDIRECT_URI = "https://portal.example/callback";
const fixedText = "The token request was rejected.";
const fieldsOfA = "client_assertion client_assertion_type client_id grant_type";
const fieldsOfB = "client_id code code_verifier redirect_uri";

/** One deployment with one tenant, `acme`. Each situation has its own. */
export class World {
  readonly clock: SteppedClock = steppedClock();
  readonly sent = { token: 0, code: 0, refresh: 0, probe: 0, call: 0, login: 0 };
  /** What a careful client never does. */
  readonly misuses: string[] = [];
  readonly baseUrl: string;
  serves = "AB";
  /** By how much the server's clock is ahead. */
  aheadMs = 0;
  isEnabled = true;
  /** Called for each request that is not answered. */
  onSilence: () => void = () => {};
  pluginType: "service" | "user interface" = "service";
  /** The aud that the server expects behind a proxy that rewrites the URL. */
  audience: string | undefined;
  /** A list holds one answer for each request, after which the honest ones come. */
  answers: Partial<Record<Kind, Answers>> = {};
  readonly #publicKey: KeyObject;
  readonly #jtis = new Set<string>();
  readonly #codes = new Map<string, { challenge: string; expiresAt: number; isSpent: boolean }>();
  /** By refresh token: whether it is spent. */
  readonly #refreshTokens = new Map<string, boolean>();
  readonly #bearers = new Map<string, number>();

  constructor(baseUrl: string, publicKey: KeyObject) {
    this.baseUrl = baseUrl;
    this.#publicKey = publicKey;
  }

  get now(): number {
    return this.clock.now() + this.aheadMs;
  }

  /** The tokens and codes that no error may show. */
  get issuedValues(): readonly string[] {
    return [this.#bearers, this.#refreshTokens, this.#codes].flatMap((all) => [...all.keys()]);
  }

  /**
   * Makes a code, as the host application does at a launch and the authorization endpoint at a
   * login.
   */
  launch(challenge: string): string {
    const code = `code-${randomUUID()}`;
    this.#codes.set(code, { challenge, expiresAt: this.now + 120_000, isSpent: false });
    return code;
  }

  override(kind: Kind): Answer | undefined {
    const answers = this.answers[kind];
    return Array.isArray(answers) ? answers[this.sent[kind] - 1] : (answers as Answer | undefined);
  }

  /** Registers the access token of an answer as it is sent. */
  issued(text: string): void {
    const value = /"access_token":"([^"]{9,})"/.exec(text)?.[1];
    if (value !== undefined) this.#bearers.set(value, this.now + 3_600_000);
  }

  respond(
    { method, headers }: IncomingMessage,
    { pathname, searchParams }: URL,
    body: string,
  ): Reply {
    const path = pathname.split("/").slice(2).join("/");
    if (path === "authorize") return this.#authorize(searchParams);
    if (path === "api/v1/acme/external-plugin/oauth/token" && this.serves.includes("A"))
      return this.#tokenOfA(new URLSearchParams(body), String(headers["content-type"]));
    if (path === "v1/auth/token" && this.serves.includes("B"))
      return this.#tokenOfB(JSON.parse(body));
    const isProbe = body === "{}" || body.includes("bivariant-detect");
    if (path.endsWith("/token") || isProbe)
      return this.#count(isProbe ? "probe" : "token", 404, {});
    const bearer = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1] ?? "";
    const expiresAt = this.#bearers.get(bearer);
    if (expiresAt === undefined) this.misuses.push(`${method} ${path} with an unknown bearer`);
    return this.now < (expiresAt ?? 0)
      ? this.#count("call", 200, [{ id: "d1" }])
      : this.#count("call", 401);
  }

  #count(kind: Kind, status: number, json?: unknown): Reply {
    this.sent[kind]++;
    return { kind, status, json };
  }

  #authorize(query: URLSearchParams): Reply {
    const code = this.launch(query.get("code_challenge") ?? "");
    const answer = new URLSearchParams({ code, state: query.get("state") ?? "" });
    return { ...this.#count("login", 302), location: `${query.get("redirect_uri")}?${answer}` };
  }

  #tokenOfA(form: URLSearchParams, contentType: string): Reply {
    const grant = form.get("grant_type");
    const kind: Kind =
      grant === "client_credentials" ? "token" : grant === "authorization_code" ? "code" : "probe";
    const refused = (error: string): Reply => {
      return { kind, status: 400, json: { error, error_description: fixedText } };
    };
    this.sent[kind]++;
    if (kind === "probe") return refused("unsupported_grant_type");
    const own = kind === "code" ? ["code", "code_verifier"] : [];
    const fields = [...fieldsOfA.split(" "), ...own].sort().join();
    const isForm = contentType.startsWith("application/x-www-form-urlenc");
    if ([...form.keys()].sort().join() !== fields || !isForm)
      this.misuses.push("a request that section 4.1 does not show");
    if (this.override(kind)?.isUnspent) return refused("invalid_grant");
    // The code is spent whether the attempt succeeds or fails (section 3, rule 3).
    const isCodeRight =
      kind === "token" || this.#spend(form.get("code"), form.get("code_verifier"));
    if (!this.isEnabled || form.get("client_id") !== "planner") return refused("invalid_grant");
    if (!this.#isAssertionRight(form.get("client_assertion") ?? ""))
      return refused("invalid_client");
    if ((this.pluginType === "service") !== (kind === "token") || !isCodeRight)
      return refused("invalid_grant");
    const revo = { tenant: "acme", roles: [{ name: "planner" }], ...(kind === "code" && { user }) };
    const token = { access_token: `a-${randomUUID()}`, token_type: "Bearer", expires_in: 3_600 };
    return { kind, status: 200, json: { ...token, revo } };
  }

  #isAssertionRight(assertion: string): boolean {
    const [head = "", claims = "", signature = ""] = assertion.split(".");
    const jsonOf = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString());
    const { iss, sub, aud, jti, iat, exp } = jsonOf(claims);
    const bytes = Buffer.from(`${head}.${claims}`);
    const isSigned = verify("sha256", bytes, this.#publicKey, Buffer.from(signature, "base64url"));
    if (!isSigned || jsonOf(head).alg !== "RS256" || this.#jtis.has(jti)) return false;
    this.#jtis.add(jti);
    const now = this.now / 1_000;
    const isFresh = iat <= now + 30 && iat >= now - 330 && exp >= now - 30 && exp - iat <= 300;
    const expected = this.audience ?? `${this.baseUrl}/api/v1/acme/external-plugin/oauth/token`;
    return isFresh && iss === "planner" && sub === "planner" && aud === expected;
  }

  #tokenOfB(fields: Record<string, string>): Reply {
    const { grant_type, client_id, client_secret, code, refresh_token = "" } = fields;
    const known: Record<string, Kind> = { client_credentials: "token", refresh_token: "refresh" };
    const kind = known[grant_type ?? ""] ?? (code === undefined ? "probe" : "code");
    const refused = (status: number, error: string): Reply => ({ kind, status, json: { error } });
    this.sent[kind]++;
    if (kind === "probe" || this.override(kind)?.isUnspent) return refused(400, "invalid_request");
    const tokens = { access_token: `b-${randomUUID()}` };
    if (kind === "token") {
      const isKnown = client_id === "reports" && client_secret === CLIENT_SECRET;
      return isKnown ? { kind, status: 200, json: tokens } : refused(401, "invalid_client");
    }
    if (kind === "code") {
      if (Object.keys(fields).sort().join(" ") !== fieldsOfB)
        this.misuses.push("a request that section 4.2 does not show");
      if (!this.#spend(code, fields.code_verifier)) return refused(400, "invalid_grant");
    } else {
      const isSpent = this.#refreshTokens.get(refresh_token);
      if (isSpent) this.misuses.push("a refresh token was sent again after it was spent");
      if (isSpent !== false) return refused(400, "invalid_grant");
      this.#refreshTokens.set(refresh_token, true);
    }
    const next = `r-${randomUUID()}`;
    this.#refreshTokens.set(next, false);
    return { kind, status: 200, json: { ...tokens, refresh_token: next } };
  }

  #spend(code: string | null | undefined, verifier: string | null | undefined): boolean {
    const grant = this.#codes.get(code ?? "");
    if (grant === undefined) return false;
    if (grant.isSpent) this.misuses.push("a code was sent twice");
    const hash = createHash("sha256");
    const challenge = hash.update(verifier ?? "").digest("base64url");
    const isRight = !grant.isSpent && this.now < grant.expiresAt && grant.challenge === challenge;
    grant.isSpent = true;
    return isRight;
  }
}

const user = { userId: "u-1", firstname: "Ada", lastname: "Byron" };

export interface HonestServer {
  world(): World;
  close(): Promise<void>;
}

/** Starts one server for many worlds. Each has a path of its own, which is part of its base URL. */
export async function honestServer(publicKey: KeyObject): Promise<HonestServer> {
  const worlds = new Map<string, World>();
  const server = createServer(async (incoming, response) => {
    const body = await readText(incoming).catch(() => "");
    const url = new URL(incoming.url ?? "", "http://127.0.0.1");
    const [, place = ""] = url.pathname.split("/");
    const world = worlds.get(place.replace("outside-", ""));
    if (world === undefined) return void response.writeHead(404).end();
    if (place.startsWith("w")) return send(world, world.respond(incoming, url, body), response);
    if (incoming.headers.authorization !== undefined)
      world.misuses.push("the bearer left the base URL");
    response.setHeader("content-type", "application/json").end('["outside"]');
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    world() {
      const place = `w${worlds.size + 1}`;
      const world = new World(`http://127.0.0.1:${port}/${place}`, publicKey);
      worlds.set(place, world);
      return world;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function send(world: World, honest: Reply, response: ServerResponse): void {
  const { kind, location } = honest;
  const answer: Answer = world.override(kind) ?? { status: honest.status, with: {} };
  const { status = 200, fault, type = "application/json", headers, isGzip, isInPieces } = answer;
  if (fault === "silence") return void world.onSilence();
  if (fault === "reset") return void response.destroy();
  const isList = Array.isArray(honest.json) || honest.json === undefined;
  const changed = isList ? honest.json : { ...Object(honest.json), ...answer.with };
  const text =
    answer.text ?? JSON.stringify(answer.with === undefined ? answer.json : changed) ?? "";
  if (["token", "code", "refresh"].includes(kind)) world.issued(text);
  response.sendDate = false;
  response.statusCode = status;
  response.setHeader("date", new Date(world.now).toUTCString());
  if (type !== null && text !== "") response.setHeader("content-type", type);
  const outside = world.baseUrl.replace("/w", "/outside-w");
  const all = { ...headers, ...(location !== undefined && { location }) };
  for (const [name, value] of Object.entries(all))
    response.setHeader(name, value.replace("{base}", world.baseUrl).replace("{outside}", outside));
  if (fault === "cut") {
    response.setHeader("content-length", text.length + 100);
    return void response.write(text, () => response.destroy());
  }
  if (isGzip) return void response.setHeader("content-encoding", "gzip").end(gzipSync(text));
  for (let at = 0; isInPieces && at < text.length; at += 7) response.write(text.slice(at, at + 7));
  response.end(isInPieces ? undefined : text);
}
