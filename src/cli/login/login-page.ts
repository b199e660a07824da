/** What the browser shows when it comes back from a login: one small page without scripts. */
import { createHash } from "node:crypto";

export interface LoginPage {
  readonly title: string;
  readonly text: string;
  /** Decides the mark beside the title. */
  readonly isGood: boolean;
}

export const loggedIn: LoginPage = {
  title: "You are logged in",
  text: "You can close this window and go back to the terminal.",
  isGood: true,
};

export const notLoggedIn: LoginPage = {
  title: "The login did not work",
  text: "The terminal tells why. Close this window and run bivariant login again.",
  isGood: false,
};

export const denied: LoginPage = {
  title: "The login was denied",
  text: "Nothing was granted. Close this window; to try again, run bivariant login in the terminal.",
  isGood: false,
};

export const anotherLogin: LoginPage = {
  title: "Not the login that is waited for",
  text: "This answer belongs to another login, or to none. Close this window, and use the address that the terminal shows.",
  isGood: false,
};

const style = `:root{color-scheme:light dark}
body{margin:0;min-height:100vh;display:grid;place-items:center;font:1rem/1.5 system-ui,sans-serif;background:Canvas;color:CanvasText}
main{box-sizing:border-box;max-width:30rem;padding:2rem 1.5rem;text-align:center}
.mark{display:inline-grid;place-items:center;width:3rem;height:3rem;border-radius:50%;font-size:1.5rem;color:#fff}
.good{background:#1a7f4b}.bad{background:#b3402e}
h1{margin:1rem 0 .5rem;font-size:1.5rem;line-height:1.25}p{margin:0}`;

/** The page loads nothing, runs nothing, and passes the address that it was reached by, with the code, to nobody. */
export const pageHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** Takes the texts above only: nothing that came over the wire is ever on the page. */
export function loginPage({ title, text, isGood }: LoginPage): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
<main>
<div class="mark ${isGood ? "good" : "bad"}" aria-hidden="true">${isGood ? "&#10003;" : "&#33;"}</div>
<h1>${title}</h1>
<p>${text}</p>
</main>
</body>
</html>
`;
}
