// The one stylesheet of all pages; from the width of a phone up, light or dark as the person prefers.

export const stylesheet = `
:root {
  color-scheme: light dark;
  --ground: #f4f5f7; --surface: #fff; --text: #1b1f27; --quiet: #566072; --line: #d6dae1;
  --accent: #1f5fbf; --on-accent: #fff; --accent-soft: #e6effb; --alarm: #a3211b; --alarm-soft: #fdecea;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171c; --surface: #1d2128; --text: #e8ebf0; --quiet: #a2abba; --line: #373e4a;
    --accent: #86b4f5; --on-accent: #10233f; --accent-soft: #24344d; --alarm: #ff9d94; --alarm-soft: #43211f;
  }
}
*, *::before, *::after { box-sizing: border-box; }
html, body { height: 100%; }
body { margin: 0; background: var(--ground); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.4rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin: 0; font-size: .8rem; font-weight: 600; color: var(--quiet); }
p { margin: 0; overflow-wrap: anywhere; }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.quiet { color: var(--quiet); font-size: .9rem; }
.alarm { padding: .6rem .8rem; border-radius: .4rem; background: var(--alarm-soft); color: var(--alarm); }

.card { display: grid; place-items: center; padding: 1rem; }
.card main {
  display: grid; gap: 1.1rem; width: 100%; max-width: 26rem; padding: 1.5rem;
  background: var(--surface); border: 1px solid var(--line); border-radius: .7rem;
}
form { display: grid; gap: 1rem; margin: 0; }
.field { display: grid; gap: .3rem; }
label { font-weight: 600; font-size: .9rem; }
input, select, button { font: inherit; color: inherit; min-height: 2.75rem; border-radius: .4rem; }
input, select { width: 100%; padding: .4rem .7rem; background: var(--surface); border: 1px solid var(--quiet); }
input[aria-invalid="true"] { border-color: var(--alarm); }
button { padding: .4rem 1rem; background: none; border: 1px solid var(--quiet); cursor: pointer; }
button:hover { background: var(--accent-soft); }
button:disabled { cursor: default; opacity: .6; background: none; }
button.primary { background: var(--accent); border-color: var(--accent); color: var(--on-accent); font-weight: 600; }
button.primary:hover { filter: brightness(1.08); }
.actions { display: grid; grid-template-columns: 1fr 1fr; gap: .75rem; }
.scopes { margin: 0; padding: 0; list-style: none; border: 1px solid var(--line); border-radius: .4rem; }
.scopes li { padding: .55rem .8rem; }
.scopes li + li { border-top: 1px solid var(--line); }
.scopes .quiet { display: block; }

.app { display: grid; grid-template: auto minmax(0, 1fr) / minmax(0, 1fr); }
.sidebar {
  display: grid; grid-template: auto auto / minmax(0, 1fr) auto; gap: .6rem 1rem; align-items: center;
  padding: .75rem 1rem; background: var(--surface); border-bottom: 1px solid var(--line);
}
.sidebar nav { grid-row: 2; grid-column: 1 / -1; min-width: 0; }
.sidebar form { grid-row: 1; grid-column: 2; }
.plugins { display: flex; gap: .5rem; margin: 0; padding: .2rem; list-style: none; overflow-x: auto; }
.plugins button { width: 100%; white-space: nowrap; }
.plugins button[aria-current="true"] { background: var(--accent-soft); border-color: var(--accent); font-weight: 600; }
.sidebar nav h2 { display: none; }
.stage { display: grid; grid-template-rows: auto minmax(0, 1fr); min-height: 0; }
.status { padding: .4rem 1rem; min-height: 2.3rem; color: var(--quiet); font-size: .9rem; }
.frame { min-height: 0; padding: 0 1rem 1rem; }
.frame iframe {
  display: block; width: 100%; height: 100%; background: #fff; border: 1px solid var(--line); border-radius: .5rem;
}
.empty { display: grid; place-content: center; justify-items: center; gap: .4rem; height: 100%; text-align: center; }

@media (min-width: 50rem) {
  .app { grid-template: minmax(0, 1fr) / 16rem minmax(0, 1fr); }
  .sidebar {
    grid-template: auto minmax(0, 1fr) auto / minmax(0, 1fr); align-items: start; gap: 1.2rem;
    border-bottom: 0; border-right: 1px solid var(--line); padding: 1.25rem 1rem;
  }
  .sidebar nav { overflow-y: auto; height: 100%; }
  .sidebar form { grid-row: 3; grid-column: 1; }
  .status { padding: 1.25rem 1rem .6rem; }
  .sidebar nav h2 { display: block; padding: 0 .2rem .4rem; }
  .plugins { display: grid; overflow: visible; }
  .plugins button { text-align: left; white-space: normal; overflow-wrap: anywhere; }
}
`;
