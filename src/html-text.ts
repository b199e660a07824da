/** Text in HTML. It knows nothing of the service, so every part of the package may use it. */

/** Escapes markup, and shows control and direction characters instead of obeying them. */
export function htmlText(value: string): string {
  return value
    .replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
    .replace(
      /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
      (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`,
    );
}
