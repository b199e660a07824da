/** The requests of an emulator as they come, each with the real reason of its refusal from the customer's log. */
import type { CustomerLogEntry, Emulator, JournalEntry } from "../../emulator/index.js";
import type { Output } from "../output.js";
import type { Paint } from "../paint.js";

const lookEveryMs = 50;

/** Prints until the signal aborts. The journal and the log hold no secret; they stay as they are, for the page too. */
export async function printTraffic(
  { journal, customerLog }: Pick<Emulator, "journal" | "customerLog">,
  output: Output,
  signal: AbortSignal,
): Promise<void> {
  const newRequests = newOf(() => journal.entries());
  const newRefusals = newOf(() => customerLog.entries());
  const print = () => {
    // Stable: at the same instant the request comes before its reason.
    const seen = [
      ...newRequests().map((request) => ({ at: request.at, request })),
      ...newRefusals().map((refusal) => ({ at: refusal.at, refusal })),
    ].sort((one, other) => one.at - other.at);
    for (const { at: _, ...entry } of seen) {
      if (output.json) output.valueLine(entry);
      else
        output.lines([
          "request" in entry ? requestLine(entry.request, output.paint) : refusalLine(entry.refusal),
        ]);
    }
  };
  const timer = setInterval(print, lookEveryMs);
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  clearInterval(timer);
  print();
}

/** At each call what came since the one before. After a reset, or when the list was cleared, all of it is new. */
function newOf<Entry>(entries: () => readonly Entry[]): () => readonly Entry[] {
  let last: Entry | undefined;
  return () => {
    const all = entries();
    const added = last === undefined ? all : all.slice(all.lastIndexOf(last) + 1);
    last = all.at(-1) ?? last;
    return added;
  };
}

function requestLine({ at, method, path, status, variant, operation }: JournalEntry, paint: Paint): string {
  const what = variant === undefined ? "" : `  ${variant} ${operation ?? ""}`.trimEnd();
  const time = new Date(at).toISOString().slice(11, 23);
  return `${paint("dim", time)} ${method} ${path} ${paint(status < 400 ? "green" : "yellow", String(status))}${what}`;
}

function refusalLine({ rule, section, expected, actual, remedy }: CustomerLogEntry): string {
  return `  ${rule} (section ${section}): expected ${expected}, got ${actual}. ${remedy}`;
}
