/** What `bivariant emulate` takes, with its defaults. It reads no environment: that is for those who call it. */
import { z } from "zod";
import { ConfigurationError, type Variant } from "../../errors.js";

export interface EmulateSettings {
  /** What is served. */
  readonly variant: readonly Variant[];
  readonly port: number;
  readonly host: string;
  readonly publicUrl?: string | undefined;
  readonly tenant: string;
  readonly aClientId: string;
  readonly bClientId: string;
  readonly scope: readonly string[];
}

const text = z.string().min(1, "is empty");

const schema: z.ZodType<EmulateSettings> = z.object({
  variant: z
    .enum(["A", "B", "both"], "must be A, B or both")
    .default("both")
    .transform((one): readonly Variant[] => (one === "both" ? ["A", "B"] : [one])),
  port: z
    .string()
    .regex(/^\d{1,5}$/, "must be a port number")
    .transform(Number)
    .pipe(z.number().max(65_535, "must be a port number"))
    .default(0),
  host: text.default("127.0.0.1"),
  publicUrl: text.optional(),
  tenant: text.default("acme"),
  aClientId: text.default("emulated-plugin"),
  bClientId: text.default("emulated-account"),
  scope: z.array(text).default(["devices:read"]),
});

/** @throws ConfigurationError `option_invalid` */
export function readEmulateSettings(flags: Readonly<Record<string, unknown>>): EmulateSettings {
  const { success, data, error } = schema.safeParse(flags);
  if (success) return data;
  const [issue] = error.issues;
  const name = String(issue?.path[0]).replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new ConfigurationError("option_invalid", `--${name} ${issue?.message}.`, { option: `--${name}` });
}
