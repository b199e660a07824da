// The one stylesheet of all pages. It suits phones and wider screens, light or dark as the person prefers.

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
.card main, .panel, .message { background: var(--surface); border: 1px solid var(--line); border-radius: .6rem; }
.card button { justify-self: stretch; }
.actions { display: grid; grid-template-columns: 1fr 1fr; gap: .75rem; }
.scopes, .plugins, .sequence ol, .bar ul, .choices, .refusals, .rules { margin: 0; padding: 0; list-style: none; }
.scopes { border: 1px solid var(--line); border-radius: .4rem; }
.scopes li { padding: .55rem .8rem; }
.scopes li + li { border-top: 1px solid var(--line); }
.scopes .quiet { display: block; }

.app { display: grid; grid-template: auto minmax(0, 1fr) / minmax(0, 1fr); }
.sidebar {
  display: grid; grid-template: auto auto / minmax(0, 1fr) auto; gap: .6rem 1rem; align-items: center;
  padding: .75rem 1rem; background: var(--surface); border-bottom: 1px solid var(--line);
}
.sidebar nav { grid-row: 2; grid-column: 1 / -1; min-width: 0; }
.sidebar nav h2 { display: none; font-size: .8rem; color: var(--quiet); }
.sidebar form { grid-row: 1; grid-column: 2; }
.plugins { display: flex; gap: .5rem; padding: .2rem; overflow-x: auto; }
.plugins button { width: 100%; white-space: nowrap; }
.plugins button[aria-current="true"] { background: var(--accent-soft); border-color: var(--accent); font-weight: 600; }
.stage { display: grid; grid-template-rows: auto minmax(0, 1fr); min-height: 0; }
.status { padding: .4rem 1rem; min-height: 2.3rem; color: var(--quiet); font-size: .9rem; }
.frame { min-height: 0; padding: 0 1rem 1rem; }
.frame iframe { display: block; width: 100%; height: 100%; background: #fff; border: 1px solid var(--line); border-radius: .5rem; }
.empty { display: grid; place-content: center; height: 100%; text-align: center; }

.admin { display: grid; grid-template: auto auto / minmax(0, 1fr); align-content: start; height: auto; min-height: 100%; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; background: var(--surface); }
.bar { padding: .6rem 1rem; background: var(--surface); border-bottom: 1px solid var(--line); min-width: 0; }
.brand { font-weight: 700; }
.live { margin-left: auto; }
.live button, .row button { min-height: 2.25rem; padding: .1rem .8rem; }
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
.facts, .rules, .refusals { display: grid; gap: .6rem; margin: 0; }
.facts > div { display: grid; gap: 0 1rem; }
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

.lanes, .step { display: grid; grid-template-columns: repeat(8, minmax(0, 1fr)); }
.lanes { grid-template-columns: repeat(4, minmax(0, 1fr)); position: sticky; top: 0; z-index: 1; background: var(--ground); }
.lanes span { padding: .4rem .2rem; text-align: center; font-size: .8rem; font-weight: 600; line-height: 1.2; }
.step { padding-bottom: .9rem; background: repeating-linear-gradient(to right, transparent 0 12.4%, var(--line) 12.4% 12.6%, transparent 12.6% 25%); }
.arrow { position: relative; height: 1.6rem; color: var(--accent); border-bottom: 2px solid; margin-bottom: .6rem; }
.refused .arrow { color: var(--alarm); border-bottom-style: dashed; }
.arrow::after { content: ""; position: absolute; bottom: -.42rem; border: .36rem solid transparent; }
.right .arrow::after { right: 0; border-left: .6rem solid; border-right: 0; }
.left .arrow::after { left: 0; border-right: .6rem solid; border-left: 0; }
.from-0.to-1 .arrow { grid-column: 2 / 4; }
.from-1.to-2 .arrow { grid-column: 4 / 6; }
.from-2.to-3 .arrow { grid-column: 6 / 8; }
.message { grid-row: 2; grid-column: 1 / -1; display: grid; gap: .3rem; padding: .6rem .8rem; }
.refused .message { border-color: var(--alarm); }
.carried { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: .3rem .8rem; margin: 0; font-size: .9rem; }
.carried .wide { grid-column: span 2; }

@media (min-width: 50rem) {
  .facts > div { grid-template-columns: 11rem minmax(0, 1fr); }
  .app { grid-template: minmax(0, 1fr) / 16rem minmax(0, 1fr); }
  .sidebar {
    grid-template: auto minmax(0, 1fr) auto / minmax(0, 1fr); align-items: start; gap: 1.2rem;
    border-bottom: 0; border-right: 1px solid var(--line); padding: 1.25rem 1rem;
  }
  .sidebar nav { overflow-y: auto; height: 100%; }
  .sidebar nav h2 { display: block; padding: 0 .2rem .4rem; }
  .sidebar form { grid-row: 3; grid-column: 1; }
  .plugins { display: grid; overflow: visible; }
  .plugins button { text-align: left; white-space: normal; overflow-wrap: anywhere; }
}
@media (min-width: 62rem) {
  .admin { grid-template: minmax(0, 1fr) / 13rem minmax(0, 1fr); }
  .bar { border-bottom: 0; border-right: 1px solid var(--line); }
  .bar nav { position: sticky; top: 1rem; padding-top: .6rem; }
  .bar ul { display: grid; gap: .2rem; }
  .bar .row { padding: 0 .7rem; }
  .live { margin-left: 0; }
}
`;
