// The answer of a token endpoint that gives a token.

export function tokenAnswer(
  value = "token-1",
  expiresInSeconds = 3_600,
  headers: HeadersInit = {},
): Response {
  const body = { access_token: value, token_type: "Bearer", expires_in: expiresInSeconds };
  return Response.json(body, { headers });
}
