// The scripts of the pages, in plain JavaScript that is sent unchanged.

/**
 * Launches a plugin in an iframe of the host, and answers the messages of its page. It posts to the
 * exact origin of that page, never to "*", and accepts messages only from that origin in the window
 * of the newest iframe.
 */
export const hostScript: string = `"use strict";
(() => {
  const { base, formToken } = document.body.querySelector("[data-base]").dataset;
  const frame = document.getElementById("frame");
  const status = document.getElementById("status");
  let current;

  async function ask(path, body) {
    const headers = { "content-type": "application/json", "x-form-token": formToken };
    const init = { method: "POST", headers, body: JSON.stringify(body), credentials: "same-origin" };
    const response = await fetch(base + path, init);
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error_description);
    return answer;
  }

  /** Runs a part of a launch, unless a newer one replaced it. */
  async function during(launched, path, body, proceed) {
    try {
      const answer = await ask(path, body);
      if (current === launched) proceed(answer);
    } catch (error) {
      if (current === launched) status.textContent = "The launch was refused: " + error.message;
    }
  }

  function launch(button) {
    const { clientId, name } = button.dataset;
    const launched = { clientId, name };
    current = launched;
    for (const other of document.querySelectorAll("[data-client-id]")) other.removeAttribute("aria-current");
    button.setAttribute("aria-current", "true");
    status.textContent = "Launching " + name + " …";
    during(launched, "/launches", { clientId }, ({ url, origin }) => {
      const iframe = document.createElement("iframe");
      iframe.title = name;
      iframe.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms");
      iframe.src = url;
      frame.replaceChildren(iframe);
      Object.assign(launched, { iframe, origin });
      status.textContent = name + " is loading; it has not asked for a code yet.";
    });
  }

  function authorize(launched, { challenge, opaque_code }) {
    const { iframe, origin, clientId, name } = launched;
    during(launched, "/authorizations", { clientId, challenge, opaque_code }, ({ posts = 1, ...answer }) => {
      for (let post = 0; post < posts; post++) {
        iframe.contentWindow.postMessage({ type: "host:auth-code", ...answer }, origin);
      }
      status.textContent = name + " is launched.";
    });
  }

  addEventListener("message", (event) => {
    const launched = current;
    if (launched?.iframe === undefined || event.source !== launched.iframe.contentWindow) return;
    if (event.origin !== launched.origin) return;
    const { data } = event;
    if (typeof data !== "object" || data === null || data.type !== "plugin:pkce-init") return;
    authorize(launched, data);
  });

  for (const button of document.querySelectorAll("[data-client-id]")) {
    button.addEventListener("click", () => launch(button));
  }
})();
`;

/**
 * Refreshes the live parts of the pages at /_emulator. It polls, so that the server keeps no
 * connection open.
 */
export const adminScript: string = `"use strict";
(() => {
  const EVERY_MS = 1000;
  const parts = [...document.querySelectorAll("[data-live]")];
  const state = document.getElementById("live-state");
  const pause = document.getElementById("live-pause");
  const seen = new Map();
  const isPaused = () => pause.getAttribute("aria-pressed") === "true";

  async function refresh(part) {
    const response = await fetch(part.dataset.live, { credentials: "same-origin", cache: "no-store" });
    if (!response.ok) throw new Error(String(response.status));
    const text = await response.text();
    // A part that has the focus is left alone.
    if (text === seen.get(part) || part.contains(document.activeElement) || isPaused()) return;
    seen.set(part, text);
    part.innerHTML = text;
  }

  async function go() {
    if (!isPaused() && !document.hidden) {
      try {
        await Promise.all(parts.map(refresh));
        state.textContent = "live";
      } catch {
        state.textContent = "The emulator does not answer";
      }
    }
    setTimeout(go, EVERY_MS);
  }

  pause.parentElement.hidden = false;
  pause.addEventListener("click", () => {
    const paused = !isPaused();
    pause.setAttribute("aria-pressed", String(paused));
    state.textContent = paused ? "paused" : "live";
  });
  go();
})();
`;
