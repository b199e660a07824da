// Tasks after the last test of a file, for modules that several files of a process share: Vitest
// runs an afterAll() of such a module for the first of them only.
const tasks: (() => unknown)[] = [];

/** Runs a task after the last test of the file, the latest one first. */
export function whenDone(task: () => unknown): void {
  tasks.unshift(task);
}

export async function finish(): Promise<void> {
  for (const task of tasks.splice(0)) await task();
}
