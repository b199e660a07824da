/** What a refused call's answer said, if it can be shown. */

const longestCharacters = 4_000;

/** The body, or a sentence in its place when it is long or repeats something that must not be printed. */
export function withoutSecrets(body: unknown, secrets: readonly string[]): unknown {
  if (body === undefined) return undefined;
  const text = JSON.stringify(body);
  if (text.length > longestCharacters) return `(not shown: ${text.length} characters)`;
  const repeats = secrets.some(
    (secret) => text.includes(secret) || text.includes(JSON.stringify(secret).slice(1, -1)),
  );
  return repeats ? "(not shown: it repeats a secret)" : body;
}
