// Lets everything that is ready to run, run: for what is asserted not to happen, or to happen in the background.

export async function settled(): Promise<void> {
  for (let turns = 0; turns < 30; turns++) await new Promise((resolve) => setImmediate(resolve));
}
