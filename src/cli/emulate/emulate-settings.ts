/** What `bivariant emulate` takes, with its defaults. It reads no environment: that is for those who call it. */
import { z } from "zod";
import { ConfigurationError, type Variant } from "../../errors.js";

export interface EmulateSettings {
  /** What is served; undefined: what the seed file says, or both. */
  readonly variant?: readonly Variant[] | undefined;
  readonly port: number;
  readonly host: string;
  readonly publicUrl?: string | undefined;
  readonly seedFile?: string | undefined;
  readonly watch: boolean;
  readonly randomSeed?: number | undefined;
  /** What is registered where no seed file is given. */
  readonly tenant: string;
  readonly aClientId: string;
  readonly bClientId: string;
  readonly scope: readonly string[];
  readonly pageUrl?: string | undefined;
}

const text = z.string().min(1, "is empty");

const schema: z.ZodType<EmulateSettings> = z.object({
  variant: z
    .enum(["A", "B", "both"], "must be A, B or both")
    .transform((one): readonly Variant[] => (one === "both" ? ["A", "B"] : [one]))
    .optional(),
  port: z
    .string()
    .regex(/^\d{1,5}$/, "must be a port number")
    .transform(Number)
    .pipe(z.number().max(65_535, "must be a port number"))
    .default(0),
  host: text.default("127.0.0.1"),
  publicUrl: text.optional(),
  seedFile: text.optional(),
  watch: z.boolean().default(false),
  randomSeed: z
    .string()
    .regex(/^\d{1,9}$/, "must be a whole number of at most nine digits")
    .transform(Number)
    .optional(),
  tenant: text.default("acme"),
  aClientId: text.default("emulated-plugin"),
  bClientId: text.default("emulated-account"),
  scope: z.array(text).default(["devices:read"]),
  pageUrl: text.optional(),
});

/** Flags that say what is registered, which a seed file says too. */
const REGISTERING = ["tenant", "aClientId", "bClientId", "scope", "pageUrl"];

/** @throws ConfigurationError `option_invalid` */
export function readEmulateSettings(flags: Readonly<Record<string, unknown>>): EmulateSettings {
  const { success, data, error } = schema.safeParse(flags);
  if (!success) throw refused(String(error.issues[0]?.path[0]), `${error.issues[0]?.message}.`);
  if (data.watch && data.seedFile === undefined) throw refused("watch", "needs a --seed-file to watch.");
  const both = data.seedFile !== undefined && REGISTERING.find((name) => flags[name] !== undefined);
  if (both) throw refused(both, "says what is registered, and so does the seed file: give one of the two.");
  return data;
}

function refused(flag: string, problem: string): ConfigurationError {
  const option = `--${flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  return new ConfigurationError("option_invalid", `${option} ${problem}`, { option });
}
