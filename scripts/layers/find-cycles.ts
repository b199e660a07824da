// Finds cycles in a graph of modules: a module of a cycle is undefined for whoever loads it too early.

/** One shortest cycle for each group of modules that lead back to themselves, as "a", "b", "a". */
export function findCycles(edges: readonly { from: string; to: string }[]): readonly (readonly string[])[] {
  const next = new Map<string, string[]>();
  for (const { from, to } of edges) next.set(from, [...(next.get(from) ?? []), to]);

  const reported = new Set<string>();
  const cycles: string[][] = [];
  for (const start of [...next.keys()].sort()) {
    if (reported.has(start)) continue;
    const cycle = shortestWayBack(next, start);
    if (cycle === undefined) continue;
    for (const module of cycle) reported.add(module);
    cycles.push(cycle);
  }
  return cycles;
}

function shortestWayBack(next: ReadonlyMap<string, readonly string[]>, start: string): string[] | undefined {
  const seen = new Set<string>();
  let ways: string[][] = [[start]];
  while (ways.length > 0) {
    const longer: string[][] = [];
    for (const way of ways) {
      for (const module of next.get(way.at(-1) ?? start) ?? []) {
        if (module === start) return [...way, start];
        if (seen.has(module)) continue;
        seen.add(module);
        longer.push([...way, module]);
      }
    }
    ways = longer;
  }
  return undefined;
}
