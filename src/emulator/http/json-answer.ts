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
  // Else it would go out in chunks, of which there are none.
  if (body === "") return new Response(null, { status, headers: { ...headers, "content-length": "0" } });
  return new Response(body, { status, headers });
}
