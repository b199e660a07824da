/** The environment that points the client and this command line at an emulated deployment. */

export type Environment = Readonly<Record<`BIVARIANT_${string}`, string>>;

/** Lines for a POSIX shell. */
export function exportLines(environment: Environment): string[] {
  return Object.entries(environment).map(([name, value]) => `export ${name}=${quoted(value)}`);
}

function quoted(value: string): string {
  return /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
}
