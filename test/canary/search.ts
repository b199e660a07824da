// Secrets to plant, the places in which a token endpoint may echo them, and the search for them.
import { expect, vi } from "vitest";
import { pkcs1, pkcs8, privateJwk, rsaKey } from "../support/keys.js";
import { shown } from "../support/shown.js";

/**
 * Has characters that JSON, a form and a URL encode differently, so that an echo of any of them is
 * found.
 */
export const clientSecret = 'canary-secret-"quoted"\\back/slash+plus %41 ünï-0123456789';
export const accessToken = "canary-access-token-8f31bb02c7de4a55a1f0";
export const code = "canary-code-3f1b9c7d5e";
export const codeVerifier = "canary-verifier-canary-verifier-canary-verifier";
export const refreshToken = "canary-refresh-token-22cc";

/** Every form in which a planted secret could appear, each too long to occur by chance. */
function secretForms(): string[] {
  const { d = "", p = "", q = "", dp = "", dq = "", qi = "" } = privateJwk(rsaKey());
  const lines = [pkcs8(rsaKey()), pkcs1(rsaKey())].flatMap((pem) =>
    pem.split("\n").filter((line) => line.length > 20 && !line.startsWith("-----")),
  );
  return [
    clientSecret,
    JSON.stringify(clientSecret).slice(1, -1),
    encodeURIComponent(clientSecret),
    new URLSearchParams({ s: clientSecret }).toString().slice(2),
    ...["canary-secret", "canary-code", "canary-verifier", "canary-access", "canary-refresh"],
    ...[d, p, q, dp, dq, qi],
    ...lines,
    "eyJhbGciOi",
  ];
}

const planted = secretForms();

/** The assertion of a request, whole and in part, and the verifier that was made for a login. */
function secretsOf(body: string): string[] {
  if (body.startsWith("{")) return [JSON.parse(body).code_verifier ?? []].flat();
  const assertions = new URLSearchParams(body).getAll("client_assertion");
  return [...assertions, ...assertions.flatMap((assertion) => assertion.split("."))];
}

/** `bodies` are those of the requests, whose secrets are searched for too. */
export function expectNone(outputs: readonly unknown[], bodies: readonly string[] = []): void {
  const text = outputs.map((output) => shown(output)).join("\n");
  const secrets = [...planted, ...bodies.flatMap(secretsOf)];
  const leak = secrets.find((secret) => text.includes(secret));
  expect(leak === undefined, `${leak?.slice(0, 30)}… is shown`).toBe(true);
}

/** Passes what is printed to `print`, until the mocks are restored. */
export function watchPrinted(print: (...words: unknown[]) => void): void {
  for (const method of ["log", "info", "warn", "error", "debug", "trace"] as const)
    vi.spyOn(console, method).mockImplementation(print);
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream);
    vi.spyOn(stream, "write").mockImplementation(((chunk: string, ...rest: never[]) => {
      if (String(chunk).includes("canary")) print(String(chunk));
      return write(chunk, ...rest);
    }) as typeof stream.write);
  }
}

export interface Echo {
  readonly name: string;
  readonly answer: (echo: string) => Response;
}

const described = (error_description: string) =>
  Response.json({ error: "invalid_client", error_description }, { status: 400 });
export const issued = (more: object): Response =>
  Response.json({ access_token: accessToken, ...more });

/** The places in which a token endpoint could echo a request. */
export const tokenEchoes: readonly Echo[] = [
  ...[400, 401, 404, 200].map((status) => ({
    name: `error, error_description and error_uri, ${status}`,
    answer: (echo: string) => {
      const echoed = { error_description: `you sent ${echo}`, error_uri: `https://x/?${echo}` };
      return Response.json({ error: echo, ...echoed }, { status });
    },
  })),
  { name: "error_description with a known error", answer: described },
  { name: "a cut error_description", answer: (echo) => described(echo.slice(0, 60)) },
  {
    name: "an error_description without its start",
    answer: (echo) => described(echo.slice(9, 120)),
  },
  { name: "control characters", answer: (echo) => described(`\u0000\u200b${echo}\r\n${echo}`) },
  {
    name: "an error_description that quotes the token beside it",
    answer: () => issued({ error: "x", error_description: accessToken }),
  },
  {
    name: "a token as the name of a field",
    answer: () => Response.json({ [`${accessToken}-1`]: "x" }, { status: 400 }),
  },
  { name: "field names", answer: (echo) => Response.json({ [echo]: 1 }, { status: 400 }) },
  { name: "nested fields", answer: (echo) => Response.json({ detail: { echo } }, { status: 400 }) },
  {
    name: "headers",
    answer: (echo) => new Response("{}", { status: 400, headers: echoHeaders(echo) }),
  },
  {
    name: "a redirect",
    answer: (echo) => {
      const location = `/?${encodeURIComponent(echo)}`;
      return new Response(null, { status: 302, headers: { location } });
    },
  },
  {
    name: "a page",
    answer: (echo) => new Response(`<p>${echo}`, { headers: { "content-type": "text/html" } }),
  },
  { name: "broken JSON", answer: (echo) => new Response(`{"access_token":"${echo}`) },
  { name: "a JSON text", answer: (echo) => Response.json(echo) },
  { name: "a wrong shape", answer: (echo) => Response.json({ access_token: [echo] }) },
  {
    name: "wrong values with a token",
    answer: (echo) =>
      issued({ access_token: `${accessToken} `, token_type: echo, expires_in: echo }),
  },
  {
    name: "a 429",
    answer: (echo) => {
      const headers = { ...echoHeaders(echo), "retry-after": "600" };
      return new Response(echo, { status: 429, headers });
    },
  },
];
export function echoHeaders(echo: string): Record<string, string> {
  const value = echo.replace(/[^\x20-\x7e]/g, "?").slice(0, 4_000);
  return {
    "x-echo": value,
    "www-authenticate": `Bearer error="${value}"`,
    "content-type": `application/json; x=${value}`,
  };
}
