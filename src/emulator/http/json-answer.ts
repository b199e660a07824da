// An answer in JSON as plain data: a Response is made of it where one is wanted, for over HTTP none is.

/** What a token endpoint answers. */
export interface JsonAnswer {
  readonly status: number;
  /** In lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Empty where there is none. */
  readonly body: string;
}

export function jsonAnswer(
  value: unknown,
  { status = 200, headers }: { status?: number; headers?: Readonly<Record<string, string>> } = {},
): JsonAnswer {
  const all = { "content-type": "application/json", ...headers };
  return { status, headers: all, body: JSON.stringify(value) };
}

export function asResponse({ status, headers, body }: JsonAnswer): Response {
  return new Response(body === "" ? null : body, { status, headers });
}
