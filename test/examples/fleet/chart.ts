// Draws the token requests of two runs as an SVG, in steps of two seconds, for light and dark
// pages.

/** What a run is drawn from. */
export interface Series {
  /** Token requests in each second. */
  readonly perSecond: readonly number[];
  /** When Redis was down: begin and end, in milliseconds since the start. */
  readonly outages: readonly (readonly [number, number])[];
}

const title = "Token requests of three replicas for 12 tenants";
const plot = { left: 64, right: 784, top: 104, bottom: 350 };
const stepSeconds = 2;
const style = `
  svg { --ink: #1f2328; --dim: #59636e; --page: #fff; --grid: #d1d9e0; --with: #0969da; --without: #bc4c00 }
  @media (prefers-color-scheme: dark) {
    svg { --ink: #e6edf3; --dim: #9198a1; --page: #0d1117; --grid: #3d444d; --with: #58a6ff; --without: #f0883e }
  }
  text { font: 14px system-ui, sans-serif; fill: var(--ink) }
  .title { font-size: 18px; font-weight: 600 }
  .dim { font-size: 13px; fill: var(--dim) }
  .middle { text-anchor: middle }
  .end { text-anchor: end }
  .page { fill: var(--page) }
  .grid { stroke: var(--grid) }
  .with { stroke: var(--with); fill: none; stroke-width: 3 }
  .without { stroke: var(--without); fill: none; stroke-width: 2; stroke-dasharray: 6 4 }
  .down { fill: #cf222e; opacity: 0.2 }`;

/** `caption` is two lines that say what is compared. */
export function drawChart(fleet: Series, alone: Series, caption: readonly string[]): string {
  const seconds = fleet.perSecond.length;
  const curves = [
    { name: "without a store", kind: "without", perSecond: alone.perSecond },
    { name: "with Redis", kind: "with", perSecond: fleet.perSecond },
  ].map((curve) => ({ ...curve, rates: ratesOf(curve.perSecond), total: sum(curve.perSecond) }));
  const highest = Math.max(1, ...curves.flatMap(({ rates }) => rates));
  const tick = [1, 2, 5, 10, 20].find((size) => highest / size <= 6) ?? 50;
  const top = Math.ceil(highest / tick) * tick;
  const x = (second: number) =>
    plot.left + ((plot.right - plot.left) * Math.min(second, seconds)) / seconds;
  const y = (rate: number) => plot.bottom - ((plot.bottom - plot.top) * rate) / top;

  const shapes = [
    text(16, 30, "title", title),
    text(16, 54, "dim", "requests per second"),
    text(x(seconds / 2), plot.bottom + 42, "dim middle", "seconds since the start"),
    ...caption.map((words, index) => text(16, plot.bottom + 67 + 17 * index, "dim", words)),
    ...fleet.outages.map(([from, to]) =>
      band(x(from / 1_000), plot.top, x(to / 1_000), plot.bottom),
    ),
    band(586, 70, 622, 86),
    text(632, 83, "", "Redis is down"),
    ...range(top, tick).flatMap((rate) => [
      `<path class="grid" d="M${plot.left} ${y(rate)}H${plot.right}"/>`,
      text(plot.left - 8, y(rate) + 5, "end", String(rate)),
    ]),
    ...range(seconds, seconds > 20 ? 10 : 5).map((second) =>
      text(x(second), plot.bottom + 22, "middle", String(second)),
    ),
    ...curves.flatMap(({ name, kind, rates, total }, index) => {
      const left = plot.left + 265 * index;
      const steps = rates.map((rate, step) => `V${y(rate)}H${x((step + 1) * stepSeconds)}`);
      return [
        `<path class="${kind}" d="M${left} 78h36"/>`,
        text(left + 46, 83, "", `${name}: ${total} in ${seconds} s`),
        `<path class="${kind}" d="M${plot.left} ${plot.bottom}${steps.join("")}"/>`,
      ];
    }),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 440" role="img">
<title>${title}</title>
<style>${style}
</style>
<rect class="page" width="800" height="440"/>
${shapes.join("\n").replace(/\d+\.\d+/g, (number) => String(Math.round(Number(number))))}
</svg>
`;
}

function ratesOf(perSecond: readonly number[]): number[] {
  const steps = range(perSecond.length - 1, stepSeconds).map((at) =>
    perSecond.slice(at, at + stepSeconds),
  );
  return steps.map((step) => sum(step) / step.length);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

/** 0, `step`, twice `step`, up to `last`. */
function range(last: number, step: number): number[] {
  return Array.from({ length: Math.floor(last / step) + 1 }, (_, index) => index * step);
}

function band(left: number, top: number, right: number, bottom: number): string {
  return `<path class="down" d="M${left} ${top}H${Math.max(right, left + 3)}V${bottom}H${left}"/>`;
}

function text(x: number, y: number, className: string, words: string): string {
  return `<text class="${className}" x="${x}" y="${y}">${words}</text>`;
}
