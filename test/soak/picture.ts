// Draws what a soak measured, one small chart for each figure, for light and dark pages.
export interface Sample {
  readonly hour: number;
  readonly heapMB: number;
  readonly rssMB: number;
  readonly handles: number;
  readonly entries: number;
}

const charts: readonly { readonly name: Exclude<keyof Sample, "hour">; readonly title: string }[] =
  [
    { name: "heapMB", title: "Heap after a collection, MB" },
    { name: "rssMB", title: "Memory of the process, MB" },
    { name: "handles", title: "Handles and timers" },
    { name: "entries", title: "Entries of the store" },
  ];
const [width, height, left, gap] = [640, 110, 60, 46];
const style = `
  svg { --ink: #1f2328; --dim: #59636e; --page: #fff; --line: #0969da }
  @media (prefers-color-scheme: dark) { svg { --ink: #e6edf3; --dim: #9198a1; --page: #0d1117; --line: #4493f8 } }
  text { font: 13px system-ui, sans-serif; fill: var(--ink) }
  .dim { fill: var(--dim); font-size: 12px }
  .page { fill: var(--page) }
  .axis { stroke: var(--dim); stroke-width: 1 }
  .line { stroke: var(--line); stroke-width: 2; fill: none }`;

export function drawSoak(samples: readonly Sample[]): string {
  const parts = charts.map(({ name, title }, index) => {
    const top = 30 + index * (height + gap);
    const most = Math.max(1, ...samples.map((one) => one[name])) * 1.1;
    const x = (hour: number) => (left + (hour / 60) * width).toFixed(1);
    const y = (value: number) => (top + height - (value / most) * height).toFixed(1);
    const points = samples.map((one) => `${x(one.hour)},${y(one[name])}`).join(" ");
    const hours = [0, 12, 24, 36, 48, 60].map(
      (hour) =>
        `<text class="dim" x="${x(hour)}" y="${top + height + 16}" ` +
        `text-anchor="middle">${hour} h</text>`,
    );
    return `<text x="${left}" y="${top - 8}">${title}</text>
<text class="dim" x="${left - 8}" y="${top + 10}" text-anchor="end">${Math.round(most)}</text>
<text class="dim" x="${left - 8}" y="${top + height}" text-anchor="end">0</text>
<path class="axis" d="M${left} ${top}V${top + height}H${left + width}" fill="none"/>
<polyline class="line" points="${points}"/>${hours.join("")}`;
  });
  const [w, h] = [left + width + 30, 30 + charts.length * (height + gap)];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${w} ${h}" role="img">
<title>Sixty hours of 1,000 tenants and 10,000 sessions</title>
<style>${style}</style><rect class="page" width="${w}" height="${h}"/>
${parts.join("\n")}
</svg>
`;
}
