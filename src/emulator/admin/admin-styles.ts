// How the pages at /_emulator look, beyond what all pages share: three columns on a desk, one on a phone.

export const adminStyles = `
.admin { display: grid; grid-template: auto auto auto / minmax(0, 1fr); align-content: start; height: auto; min-height: 100%; }
.admin h1 { font-size: 1.5rem; }
.admin h2 { font-size: 1.1rem; color: inherit; overflow-wrap: anywhere; }
.admin h3 { margin: 0; font-size: 1rem; overflow-wrap: anywhere; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: .5rem; z-index: 2; padding: .4rem .8rem; background: var(--surface); }
.bar { display: grid; grid-template-columns: minmax(0, 1fr); gap: .3rem; padding: .6rem 1rem; background: var(--surface); border-bottom: 1px solid var(--line); min-width: 0; }
.brand { font-weight: 700; }
.live { margin-left: auto; }
.live button { min-height: 2rem; padding: .1rem .6rem; }
.bar ul, .choices { display: flex; flex-wrap: wrap; gap: .2rem; margin: 0 -.3rem; padding: .3rem; list-style: none; }
.bar a, .choices a {
  display: block; padding: .45rem .8rem; border-radius: .4rem; color: inherit; text-decoration: none; white-space: nowrap;
}
.bar a:hover, .choices a:hover { background: var(--accent-soft); }
.bar a[aria-current], .choices a[aria-current] { background: var(--accent-soft); font-weight: 600; }
.choices a { border: 1px solid var(--line); }
.admin main, .admin aside { display: grid; gap: 1rem; align-content: start; padding: 1rem; min-width: 0; }
.admin main:focus { outline: none; }
.admin main, .admin main > *, .panel, .admin aside, fieldset { grid-template-columns: minmax(0, 1fr); min-width: 0; }
.admin main > section, .admin main > form:not(.line) { display: grid; gap: .8rem; }
.admin aside { border-top: 1px solid var(--line); }
.panel {
  display: grid; gap: .9rem; margin: 0; padding: 1rem; min-width: 0;
  background: var(--surface); border: 1px solid var(--line); border-radius: .6rem;
}
.row { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem; }
.end { margin-left: auto; }
form.row button, form.end button, .rules button { min-height: 2.25rem; padding: .2rem .8rem; }
.line { display: flex; flex-wrap: wrap; align-items: start; gap: .75rem; }
.line > button { margin-top: 1.65rem; }
.line .field { flex: 1 1 9rem; }
.outcome:empty { display: none; }
.outcome { scroll-margin-top: 100vh; }
.line > .alarm, .line > .done { flex: 1 1 100%; }
.fields { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .8rem; align-items: start; }
.fields > fieldset { grid-column: 1 / -1; }
textarea {
  width: 100%; padding: .5rem .7rem; font: .9em/1.4 ui-monospace, monospace; color: inherit; resize: vertical;
  background: var(--surface); border: 1px solid var(--quiet); border-radius: .4rem;
}
textarea[aria-invalid="true"] { border-color: var(--alarm); }
input[type="checkbox"] { width: 1.25rem; min-height: 1.25rem; height: 1.25rem; margin: 0; accent-color: var(--accent); flex: none; }
fieldset { display: grid; gap: .8rem; min-width: 0; margin: 0; padding: .8rem 1rem 1rem; border: 1px solid var(--line); border-radius: .5rem; }
legend { padding: 0 .3rem; font-weight: 600; font-size: .9rem; }
fieldset.panel > legend { font-size: 1rem; }
.box { display: flex; align-items: center; gap: .5rem; min-height: 2rem; }
.box label { font-weight: 400; }
form > button { justify-self: start; }
summary { cursor: pointer; padding: .3rem 0; color: var(--accent); }
details > form { margin-top: .6rem; }
.confirm > summary { display: inline-block; padding: .55rem 1rem; border: 1px solid var(--quiet); border-radius: .4rem; color: inherit; }
.confirm > summary:hover { background: var(--accent-soft); }
.confirm[open] > summary { border-color: var(--alarm); color: var(--alarm); }
.confirm > form { padding: .8rem 1rem; border: 1px solid var(--alarm); border-radius: .5rem; }
button.danger { background: var(--alarm); border-color: var(--alarm); color: var(--surface); font-weight: 600; }
button.danger:hover { filter: brightness(1.08); }
.alarm ul { margin: .2rem 0 0; padding-left: 1.2rem; overflow-wrap: anywhere; }
.done { padding: .5rem .8rem; border-radius: .4rem; background: var(--accent-soft); }
.facts { display: grid; gap: .4rem; margin: 0; }
.facts > div { display: grid; gap: 0 1rem; }
dt { color: var(--quiet); font-size: .9rem; }
dd { margin: 0; overflow-wrap: anywhere; }
.key { display: block; }
.mark { padding: .05rem .5rem; border-radius: 1rem; font-size: .85rem; font-weight: 600; background: var(--accent-soft); white-space: nowrap; }
.mark.bad { background: var(--alarm-soft); color: var(--alarm); }
.rule { font-weight: 600; }
[hidden], fieldset:not(:has(li:not([hidden]))):has(.rules) { display: none !important; }
.now { font-size: 1.15rem; font-variant-numeric: tabular-nums; }
time { font-variant-numeric: tabular-nums; white-space: nowrap; }
.scroll { overflow-x: auto; }
[data-live] { display: grid; grid-template-columns: minmax(0, 1fr); gap: .7rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { padding: .4rem .7rem .4rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
thead th { color: var(--quiet); font-weight: 600; white-space: nowrap; }
td code, td a { white-space: nowrap; }
.refusals, .activity, .rules { display: grid; gap: .8rem; margin: 0; padding: 0; list-style: none; }
.rules li + li, .activity li + li { padding-top: .8rem; border-top: 1px solid var(--line); }
.rules li { display: grid; gap: .3rem; scroll-margin-top: 1rem; }
.activity { font-size: .9rem; }

.sequence > .lanes, .step { display: grid; grid-template-columns: repeat(8, minmax(0, 1fr)); }
.sequence > .lanes { grid-template-columns: repeat(4, minmax(0, 1fr)); position: sticky; top: 0; z-index: 1; background: var(--ground); }
.lanes span { padding: .4rem .2rem; text-align: center; font-size: .8rem; font-weight: 600; line-height: 1.2; }
.sequence ol { margin: 0; padding: 0; list-style: none; }
.step {
  padding-bottom: .9rem;
  background: linear-gradient(var(--line), var(--line)) 12.5% 0 / 1px 100%, linear-gradient(var(--line), var(--line)) 37.5% 0 / 1px 100%,
    linear-gradient(var(--line), var(--line)) 62.5% 0 / 1px 100%, linear-gradient(var(--line), var(--line)) 87.5% 0 / 1px 100%;
  background-repeat: no-repeat;
}
.arrow { position: relative; grid-row: 1; height: 1.6rem; color: var(--accent); border-bottom: 2px solid; margin-bottom: .6rem; }
.refused .arrow { color: var(--alarm); border-bottom-style: dashed; }
.arrow::after { content: ""; position: absolute; bottom: -.42rem; border: .36rem solid transparent; }
.right .arrow::after { right: 0; border-left: .6rem solid; border-right: 0; }
.left .arrow::after { left: 0; border-right: .6rem solid; border-left: 0; }
.from-0.to-1 .arrow { grid-column: 2 / 4; }
.from-1.to-2 .arrow { grid-column: 4 / 6; }
.from-2.to-3 .arrow { grid-column: 6 / 8; }
.message {
  grid-row: 2; grid-column: 1 / -1; display: grid; gap: .3rem; padding: .6rem .8rem;
  background: var(--surface); border: 1px solid var(--line); border-radius: .5rem;
}
.refused .message { border-color: var(--alarm); }
.message h2 { font-size: 1rem; }
.carried { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: .3rem .8rem; margin: 0; font-size: .9rem; }
.carried .wide { grid-column: span 2; }
.carried dt { font: .85em ui-monospace, monospace; }

@media (min-width: 40rem) {
  .facts > div { grid-template-columns: 11rem minmax(0, 1fr); }
  .from-0.to-1 .message { grid-column: 1 / 7; }
  .from-1.to-2 .message { grid-column: 2 / 8; }
  .from-2.to-3 .message { grid-column: 3 / 9; }
}
@media (min-width: 62rem) {
  .admin { grid-template: minmax(0, 1fr) auto / 13rem minmax(0, 1fr); }
  .bar { grid-row: 1 / 3; align-content: start; padding: 1.25rem .75rem; border-bottom: 0; border-right: 1px solid var(--line); }
  .bar nav { position: sticky; top: 1rem; }
  .bar .row { padding: 0 .8rem; }
  .live { margin-left: 0; }
  .bar ul { display: grid; margin: 0; }
  .admin main, .admin aside { padding: 1.25rem 1.5rem; }
}
@media (min-width: 75rem) {
  .admin:has(aside) { grid-template: minmax(0, 1fr) / 13rem minmax(0, 1fr) 21rem; }
  .admin:has(aside) .bar { grid-row: 1; }
  .admin aside { border-top: 0; border-left: 1px solid var(--line); }
}
`;
