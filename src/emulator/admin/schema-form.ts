// Renders a form from a zod schema, and reads it back: one field per member, named as in code.
import { html } from "hono/html";
import { z } from "zod";
import { EmulatorError } from "../errors.js";
import type { Markup } from "../pages/page.js";
import { checkbox, selectField, textField } from "./form.js";
import type { AdminView } from "./view.js";

/** The part of JSON Schema that zod emits for our schemas. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** In the order in which a form shows them, required members before all others. */
const KINDS = ["choice", "boolean", "number", "text", "secret", "lines", "json", "group"] as const;

interface Member {
  /** Its path in the input, as "match.tenantId". */
  readonly path: string;
  readonly kind: (typeof KINDS)[number];
  readonly required: boolean;
  /** Whether `null` is a value of its own. */
  readonly nullable: boolean;
  readonly choices: readonly string[];
  readonly members: readonly Member[];
}

interface SchemaForm {
  /** The id of the form. */
  readonly form: string;
  readonly schema: z.ZodType;
  /** Members that are not fields: the caller sends them hidden, or not at all. */
  readonly omit: readonly string[];
  /** The current values of an update. Absent: the form registers something new. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** By the path of a member. */
  readonly hints?: Readonly<Record<string, string>>;
}

export function schemaFields(view: AdminView, shape: SchemaForm): Markup {
  const members = membersOf(shape.schema, shape.omit);
  const rank = ({ required, kind }: Member) => (required ? 0 : 1 + KINDS.indexOf(kind));
  members.sort((a, b) => rank(a) - rank(b));
  return html`<div class="fields">${members.map((member) => fieldOf(view, shape, member))}</div>`;
}

function fieldOf(view: AdminView, shape: SchemaForm, member: Member): Markup {
  const { form, values, hints = {} } = shape;
  const { path, kind, required, nullable } = member;
  if (kind === "group") {
    return html`<fieldset><legend>${path}</legend><div class="fields">${member.members.map((part) => fieldOf(view, shape, part))}</div></fieldset>`;
  }
  const value = values?.[path];
  const isHidden = values !== undefined && value === undefined && (kind === "json" || kind === "secret");
  const hint = [
    hints[path],
    { lines: "One per line.", json: "JSON." }[kind as string],
    isHidden && "Empty: unchanged.",
  ];
  const field = {
    ...{ form, name: path, label: nameOf(path), issuePath: path, required, value: textOf(kind, value) },
    hint: hint.filter(Boolean).join(" ") || undefined,
  };
  if (kind === "choice" || kind === "boolean") {
    const named = kind === "boolean" ? ["true", "false"] : member.choices;
    const choices = Object.fromEntries(named.map((one) => [one, one]));
    return selectField(view, {
      ...field,
      choices: required || values ? choices : { "": "default", ...choices },
    });
  }
  const rows = kind === "lines" || kind === "json" ? 3 : undefined;
  const input = textField(view, { ...field, isSecret: kind === "secret", ...(rows && { rows }) });
  // Tells an emptied list from a list that there never was.
  const isList = kind === "lines" && Array.isArray(value);
  const marker = isList ? html`<input type="hidden" name="${path}.list" value="yes">` : "";
  const isRemovable = nullable && values !== undefined && value !== null;
  const remove = { form, name: `${path}.remove`, label: `Remove ${path}` };
  return html`<div>${input}${marker}${isRemovable ? checkbox(view, remove) : ""}</div>`;
}

function textOf(kind: Member["kind"], value: unknown): string {
  if (value === undefined || value === null) return "";
  if (kind === "lines" && Array.isArray(value)) return value.join("\n");
  return kind === "json" ? JSON.stringify(value) : String(value);
}

/**
 * Reads the input for the schema's own check. An empty field is left out, an emptied list is an empty list, and a member
 * that is to be removed is null.
 *
 * @throws EmulatorError `option_invalid` for text that is not JSON.
 */
export function readSchemaFields(
  fields: URLSearchParams,
  { schema, omit }: Pick<SchemaForm, "schema" | "omit">,
): Record<string, unknown> {
  return readMembers(membersOf(schema, omit), fields);
}

function readMembers(members: readonly Member[], fields: URLSearchParams): Record<string, unknown> {
  const entries = members.map((member) => {
    return [nameOf(member.path), readMember(member, fields)] as const;
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function readMember(member: Member, fields: URLSearchParams): unknown {
  const { path, kind, nullable, members } = member;
  if (kind === "group") {
    const parts = readMembers(members, fields);
    return Object.keys(parts).length === 0 ? undefined : parts;
  }
  if (nullable && fields.has(`${path}.remove`)) return null;
  const text = (fields.get(path) ?? "").trim();
  if (text === "") return fields.has(`${path}.list`) ? [] : undefined;
  switch (kind) {
    case "boolean":
      return text === "true";
    case "lines":
      return text
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== "");
    case "number":
      // What is not a number stays text, for the schema to report.
      return Number.isNaN(Number(text)) ? text : Number(text);
    case "json":
      return parseJson(path, text);
    default:
      return text;
  }
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new EmulatorError("option_invalid", path, { issues: [`${path}: is not JSON`] });
  }
}

function membersOf(schema: z.ZodType, omit: readonly string[]): Member[] {
  const whole = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Schema;
  return objectMembers(whole, "").filter(({ path }) => !omit.includes(path));
}

function objectMembers({ properties = {}, required = [] }: Schema, prefix: string): Member[] {
  return Object.entries(properties).map(([name, schema]) =>
    memberOf(prefix + name, schema, required.includes(name)),
  );
}

function memberOf(path: string, schema: Schema, required: boolean): Member {
  const types = [schema, ...(schema.anyOf ?? [])].flatMap(({ type = [] }) => type);
  const [inner = schema] = (schema.anyOf ?? []).filter(({ type }) => type !== "null");
  const member = { path, required, nullable: types.includes("null"), choices: inner.enum ?? [], members: [] };
  if (types.includes("boolean")) return { ...member, kind: "boolean" };
  if (types.includes("number") || types.includes("integer")) return { ...member, kind: "number" };
  if (inner.enum !== undefined) return { ...member, kind: "choice" };
  if (types.includes("string")) return { ...member, kind: /secret|password/i.test(path) ? "secret" : "text" };
  if (inner.items?.type === "string") return { ...member, kind: "lines" };
  const members = objectMembers(inner, `${path}.`);
  const isFlat = members.length > 0 && members.every(({ kind }) => kind === "text" || kind === "choice");
  return isFlat ? { ...member, kind: "group", members } : { ...member, kind: "json" };
}
