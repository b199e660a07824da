// The one stylesheet of all pages. It suits phones and wider screens, light or dark as the person
// prefers.

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
h1, h2, p, dd { margin: 0; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; line-height: 1.25; }
h2 { font-size: 1.1rem; }
a { color: var(--accent); }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.quiet { color: var(--quiet); font-size: .9rem; }
.alarm, .done { padding: .6rem .8rem; border-radius: .4rem; background: var(--alarm-soft); color: var(--alarm); }
.done { background: var(--accent-soft); color: inherit; }

form, .panel, .admin main, [data-live] { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1rem; margin: 0; min-width: 0; }
.field { display: grid; gap: .3rem; }
label, legend { font-weight: 600; font-size: .9rem; }
input, select, button { font: inherit; color: inherit; min-height: 2.75rem; border-radius: .4rem; }
input, select, textarea { width: 100%; padding: .4rem .7rem; color: inherit; background: var(--surface); border: 1px solid var(--quiet); border-radius: .4rem; }
textarea { font: .9em/1.4 ui-monospace, monospace; resize: vertical; }
input[type="checkbox"] { width: 1.25rem; min-height: 1.25rem; accent-color: var(--accent); }
[aria-invalid="true"] { border-color: var(--alarm); }
button { padding: .4rem 1rem; background: none; border: 1px solid var(--quiet); cursor: pointer; justify-self: start; }
button:not(.primary, .danger):hover { background: var(--accent-soft); }
button:disabled { cursor: default; opacity: .6; background: none; }
button.primary, button.danger { background: var(--accent); border-color: var(--accent); color: var(--on-accent); font-weight: 600; }
button.danger { background: var(--alarm); border-color: var(--alarm); color: var(--surface); }

.card { display: grid; place-items: center; padding: 1rem; }
.card main { display: grid; gap: 1.1rem; width: 100%; max-width: 26rem; padding: 1.5rem; }
.card main, .panel { background: var(--surface); border: 1px solid var(--line); border-radius: .6rem; }
.card button { justify-self: stretch; }
.actions { display: grid; grid-template-columns: 1fr 1fr; gap: .75rem; }
.scopes, .plugins, .bar ul, .choices, .steps, .refusals, .rules { margin: 0; padding: 0; list-style: none; }
.scopes { border: 1px solid var(--line); border-radius: .4rem; }
.scopes li { padding: .55rem .8rem; }
.scopes li + li { border-top: 1px solid var(--line); }
.scopes .quiet { display: block; }

.app, .admin { display: flex; flex-wrap: wrap; align-content: flex-start; height: auto; min-height: 100%; }
.sidebar, .bar { flex: 1 1 12rem; display: grid; align-content: start; gap: 1rem; padding: 1rem; min-width: 0; }
.sidebar, .bar { background: var(--surface); border: 1px solid var(--line); }
.stage, .admin main { flex: 999 1 34rem; min-width: 0; }
.plugins { display: grid; gap: .5rem; }
.plugins button { width: 100%; text-align: left; overflow-wrap: anywhere; }
.plugins button[aria-current="true"] { background: var(--accent-soft); border-color: var(--accent); font-weight: 600; }
.stage { display: grid; grid-template-rows: auto minmax(0, 1fr); min-height: 100vh; }
.status { padding: .4rem 1rem; min-height: 2.3rem; color: var(--quiet); font-size: .9rem; }
.frame { min-height: 0; padding: 0 1rem 1rem; }
.frame iframe { display: block; width: 100%; height: 100%; background: #fff; border: 1px solid var(--line); border-radius: .5rem; }
.empty { display: grid; place-content: center; height: 100%; text-align: center; }

.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; background: var(--surface); }
.brand { font-weight: 700; }
.live { margin-left: auto; }
.row button { min-height: 2.25rem; padding: .1rem .8rem; }
.bar li { flex: 1 1 9rem; }
.bar ul, .choices, .row, .line { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem; }
.bar a, .choices a { display: block; padding: .4rem .7rem; border-radius: .4rem; color: inherit; text-decoration: none; white-space: nowrap; }
.bar a:hover, .choices a:hover, .bar a[aria-current], .choices a[aria-current] { background: var(--accent-soft); }
.choices a { border: 1px solid var(--line); }
.admin main { align-content: start; padding: 1rem; }
.admin main:focus { outline: none; }
.outcome { position: sticky; top: .5rem; z-index: 2; }
.panel { padding: 1rem; }
.panel ul:not([class]) { margin: 0; padding-left: 1.2rem; }
.end { margin-left: auto; }
.line { align-items: start; }
.line > button { margin-top: 1.65rem; }
.line .field { flex: 1 1 9rem; }
.fields { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .8rem; align-items: start; }
.box { display: flex; align-items: center; gap: .5rem; min-height: 2rem; }
summary { cursor: pointer; padding: .3rem 0; color: var(--accent); }
details > form { margin-top: .6rem; }
.confirm[open] { padding: .6rem 1rem; border: 1px solid var(--alarm); border-radius: .5rem; }
.facts, .rules, .refusals, .steps { display: grid; gap: .6rem; margin: 0; }
.steps { counter-reset: step; }
.step h2::before { counter-increment: step; content: counter(step) ". "; }
.sequence { display: block; width: 100%; min-width: 40rem; max-width: 60rem; }
.sequence text { fill: currentColor; font-size: 13px; text-anchor: middle; }
.sequence line, .sequence path { fill: none; stroke: var(--line); }
.sequence path { stroke: var(--accent); stroke-width: 1.5; }
.sequence .bad text { fill: var(--alarm); }
.sequence .bad path { stroke: var(--alarm); stroke-dasharray: 4 3; }
.facts > div { display: flex; flex-wrap: wrap; gap: 0 1rem; }
.facts dt { flex: 0 0 11rem; }
.facts dd { flex: 1 1 14rem; }
dt { color: var(--quiet); font-size: .9rem; }
dd { overflow-wrap: anywhere; }
.mark { padding: .05rem .5rem; border-radius: 1rem; font-size: .85rem; font-weight: 600; background: var(--accent-soft); white-space: nowrap; }
.mark.bad { background: var(--alarm-soft); color: var(--alarm); }
.rule { font-weight: 600; }
time { font-variant-numeric: tabular-nums; white-space: nowrap; }
[hidden] { display: none !important; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { padding: .4rem .7rem .4rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th, td code { white-space: nowrap; }
.rules li + li { padding-top: .6rem; border-top: 1px solid var(--line); }
`;
