// The only script of the pages at /_emulator: it refreshes their live parts and filters the rules while typing.

/** Plain JavaScript, sent as it stands. It polls, so that the server keeps no connection open. */
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

  const filter = document.querySelector("[data-filter]");
  filter?.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase();
    for (const row of document.querySelectorAll(filter.dataset.filter)) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
    }
    for (const kept of document.querySelectorAll("input[type=hidden][name=filter]")) kept.value = filter.value;
  });
})();
`;
