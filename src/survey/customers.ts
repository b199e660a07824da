/**
 * The customers of a survey: what a row may hold, and what is wrong with one, found before anything
 * is sent.
 */
import { access, constants } from "node:fs/promises";
import { resolve } from "node:path";
import { isConfigurationError, type Variant } from "../errors.js";
import { type NamesOf, unknownName } from "../option-names.js";
import { requireOptions } from "../options.js";
import { parseBaseUrl, parseTenantId } from "../variants/target.js";
import { SurveyError } from "./errors.js";
import { type Row, readRows, shownName, type WrongRow } from "./rows.js";

/**
 * A customer of a survey. A credential is named by the file or the variable that holds its secret.
 */
export interface Customer {
  readonly baseUrl: string;
  /** Needed for Variant A, whose paths hold it. Without it only Variant B is asked. */
  readonly tenantId?: string | undefined;
  /**
   * Uses the credential of this variant, and it must be served. Without it the deployment decides,
   * and A is preferred.
   */
  readonly variant?: Variant | undefined;
  /**
   * The service plugin of Variant A, with its private key (PEM or JWK) in a file or in a variable
   * of this name.
   */
  readonly aClientId?: string | undefined;
  readonly aPrivateKeyFile?: string | undefined;
  readonly aPrivateKeyVariable?: string | undefined;
  readonly aKeyId?: string | undefined;
  /** The service account of Variant B, with its secret in a file or in a variable of this name. */
  readonly bClientId?: string | undefined;
  readonly bClientSecretFile?: string | undefined;
  readonly bClientSecretVariable?: string | undefined;
  /** What else the row holds, repeated in the result. */
  readonly other?: Readonly<Record<string, string>> | undefined;
  /** Where the customer is in its file. */
  readonly line?: number | undefined;
}

type Column = Exclude<keyof Customer, "other" | "line">;

const columnNames: NamesOf<Pick<Customer, Column>> = {
  baseUrl: true,
  tenantId: true,
  variant: true,
  aClientId: true,
  aPrivateKeyFile: true,
  aPrivateKeyVariable: true,
  aKeyId: true,
  bClientId: true,
  bClientSecretFile: true,
  bClientSecretVariable: true,
};
export const columns = Object.keys(columnNames) as Column[];
const memberNames: NamesOf<Customer> = { ...columnNames, other: true, line: true };

/** Which addresses of customers are accepted. */
export interface CheckOptions {
  readonly allowInsecureHttp?: boolean | undefined;
}

/** The options of {@link readCustomers}. */
export interface ReadCustomersOptions extends CheckOptions {
  /** Where relative paths of secrets begin. Default: the working directory. */
  readonly folder?: string | undefined;
  /** The variables that rows may name. Default: those of the process. */
  readonly variables?: Readonly<Record<string, string | undefined>> | undefined;
}

const optionNames: NamesOf<ReadCustomersOptions> = {
  folder: true,
  variables: true,
  allowInsecureHttp: true,
};

/** What {@link readCustomers} found in a file. */
export interface ReadCustomers {
  readonly customers: readonly Customer[];
  /** The rows that are wrong, or the same customer as an earlier one, by line. */
  readonly wrong: readonly WrongRow[];
}

/**
 * Reads customers from CSV, JSON lines or YAML, and checks each row: its values, that it is there
 * once, and that the file or variable of its secret is there.
 *
 * @throws SurveyError `customers_invalid` if no row can be read, or a column may hold a secret;
 * `customers_too_large`
 * @example
 * import { readFile } from "node:fs/promises";
 *
 * const { customers, wrong } = await readCustomers(await readFile("customers.csv", "utf8"));
 * for (const { line, problem } of wrong) console.error(`line ${line}: The row ${problem}`);
 */
export async function readCustomers(
  text: string,
  options: ReadCustomersOptions = {},
): Promise<ReadCustomers> {
  requireOptions("readCustomers", options, optionNames);
  const { folder = ".", variables = process.env, allowInsecureHttp } = options;
  const wrong: WrongRow[] = [];
  const rows = readRows(text, checkHeader).flatMap((row) => {
    const customer = "problem" in row ? row.problem : customerOf(row, folder);
    if (typeof customer !== "string") return [customer];
    wrong.push({ line: row.line, problem: customer });
    return [];
  });
  const checked = checkCustomers(rows, { allowInsecureHttp });
  wrong.push(...checked.wrong);
  const problems = await Promise.all(
    checked.customers.map((customer) => secretProblem(customer, variables)),
  );
  const customers = checked.customers.filter((customer, index) => {
    const problem = problems[index];
    if (problem !== undefined) wrong.push({ line: customer.line ?? 0, problem });
    return problem === undefined;
  });
  return { customers, wrong: wrong.sort((one, other) => one.line - other.line) };
}

const secrets = ["aPrivateKey", "bClientSecret"] as const;

/** The rest of a sentence about a file or a variable that is not there. */
async function secretProblem(
  customer: Customer,
  variables: Readonly<Record<string, string | undefined>>,
) {
  for (const secret of secrets) {
    const [file, variable] = [customer[`${secret}File`], customer[`${secret}Variable`]];
    const fault = file && (await access(file, constants.R_OK).catch((error: unknown) => error));
    if (fault)
      return (
        `has a file in ${secret}File that cannot be read. ` +
        "Write the path of a file, not the secret itself."
      );
    if (variable !== undefined && !variables[variable])
      return `names a variable in ${secret}Variable that is not set.`;
  }
  return undefined;
}

function checkHeader(names: readonly string[]): void {
  const double = names.find((name, index) => name !== "" && names.indexOf(name) !== index);
  const problem =
    names.map(problemOfName).find((one) => one !== undefined) ??
    (double && `names a column twice: ${shownName(double)}.`) ??
    (names.includes("baseUrl")
      ? undefined
      : "names no column baseUrl. " +
        "A survey reads a CSV whose first line names the columns, JSON lines, or a list in YAML. " +
        `The columns are ${columns.join(", ")}.`);
  if (problem !== undefined)
    throw new SurveyError("customers_invalid", `The first line ${problem}`);
}

const letters = (name: string) => name.toLowerCase().replace(/[^a-z]/g, "");
const byLetters = new Map(columns.map((name) => [letters(name), name]));
/** At the end, or before what says its form or age: a `secretary` and a `tokenUrl` hold none. */
const secretName =
  /(?:secret|privatekey|password|passwd|pwd|passphrase|token|apikey|assertion|credential)s?(?:value|text|pem|jwk|base|b|old|new)?$/;
/** PEM, or the private part of a JWK. */
const privateKey = /PRIVATE KEY-----|"d"\s*:\s*"[\w-]{20}/;

/**
 * The rest of a sentence about a column that would repeat a secret in the output, or is misspelt
 * and would do nothing.
 */
function problemOfName(name: string): string | undefined {
  if (Object.hasOwn(columnNames, name)) return undefined;
  const meant = byLetters.get(letters(name));
  if (meant !== undefined) return `has a column ${shownName(name)}. Name it ${meant}.`;
  if (!secretName.test(letters(name))) return undefined;
  return (
    `has a column that may hold a secret (${shownName(name)}), which would be repeated in ` +
    "the output. Put the secret into a file or a variable, and name that in aPrivateKeyFile, " +
    "aPrivateKeyVariable, bClientSecretFile or bClientSecretVariable."
  );
}

function customerOf({ line, fields }: Row, folder: string): Customer | string {
  const known: Record<string, unknown> = { line };
  const other: [string, string][] = [];
  for (const [name, value] of fields) {
    const problem = problemOfName(name);
    if (problem !== undefined) return problem;
    if (privateKey.test(value)) return "holds a private key. Put it into a file or a variable.";
    if (value === "") continue;
    if (!Object.hasOwn(columnNames, name)) other.push([name, value]);
    else known[name] = /File$/.test(name) ? resolve(folder, value) : value;
  }
  return {
    ...known,
    ...(other.length > 0 && { other: Object.fromEntries(other) }),
  } as unknown as Customer;
}

/** Checks customers without reading a file. Each base URL is normalised. */
export function checkCustomers(given: readonly Customer[], options: CheckOptions): ReadCustomers {
  const customers: Customer[] = [];
  const wrong: WrongRow[] = [];
  const lines = new Map<string, number>();
  for (const [index, one] of given.entries()) {
    const line = one?.line ?? index + 1;
    const checked = checkCustomer(one, options);
    const key = typeof checked === "string" ? "" : identityOf(checked);
    const earlier = lines.get(key);
    if (typeof checked === "string") wrong.push({ line, problem: checked });
    else if (earlier !== undefined)
      wrong.push({ line, problem: `is the same customer as that of line ${earlier}.` });
    else {
      customers.push(checked);
      lines.set(key, line);
    }
  }
  return { customers, wrong };
}

/**
 * Two rows are the same customer if these are the same: each tenant is asked once with each
 * credential.
 */
export function identityOf(
  one: { readonly [Name in "baseUrl" | "tenantId" | "aClientId" | "bClientId"]?: unknown },
): string {
  const { baseUrl, tenantId, aClientId, bClientId } = one;
  return JSON.stringify([baseUrl, tenantId, aClientId, bClientId]);
}

/**
 * Returns the customer with its base URL normalised, or the rest of a sentence about what is wrong
 * with it.
 */
function checkCustomer(customer: Customer, { allowInsecureHttp }: CheckOptions): Customer | string {
  try {
    const baseUrl = parseBaseUrl(customer?.baseUrl, allowInsecureHttp);
    const unknown = unknownName("a customer", customer, memberNames);
    const problem = unknown === undefined ? problemOf(customer) : `is wrong: ${unknown.message}`;
    if (problem !== undefined) return problem;
    if (customer.tenantId !== undefined) parseTenantId(customer.tenantId, undefined);
    return { ...customer, baseUrl };
  } catch (error) {
    if (!isConfigurationError(error)) throw error;
    return `is wrong: ${error.message}`;
  }
}

/**
 * The rest of a sentence about what is wrong with a customer, apart from its base URL and tenant
 * id.
 */
function problemOf(customer: Customer): string | undefined {
  for (const name of columns)
    if (!["string", "undefined"].includes(typeof customer[name]) || customer[name] === "")
      return `must hold a text in ${name}.`;
  const { tenantId, variant, aClientId, aKeyId, bClientId } = customer;
  if (variant !== undefined && variant !== "A" && variant !== "B")
    return "must have A or B in variant.";
  for (const secret of secrets) {
    const [file, variable] = [customer[`${secret}File`], customer[`${secret}Variable`]];
    if (file !== undefined && variable !== undefined)
      return `has both ${secret}File and ${secret}Variable. Keep one.`;
    if (variable !== undefined && !/^[A-Za-z_]\w{0,127}$/.test(variable))
      return `must have the name of a variable in ${secret}Variable, and not the secret itself.`;
  }
  const hasKey = (customer.aPrivateKeyFile ?? customer.aPrivateKeyVariable) !== undefined;
  const hasSecret = (customer.bClientSecretFile ?? customer.bClientSecretVariable) !== undefined;
  if ((aClientId === undefined) === hasKey)
    return (
      "has only one of aClientId and a private key. " +
      "Add aPrivateKeyFile or aPrivateKeyVariable, or aClientId."
    );
  if (aKeyId !== undefined && !hasKey) return "has an aKeyId, but no private key.";
  if ((bClientId === undefined) === hasSecret)
    return (
      "has only one of bClientId and a client secret. " +
      "Add bClientSecretFile or bClientSecretVariable, or bClientId."
    );
  if (tenantId === undefined && (variant === "A" || hasKey))
    return "needs a tenantId for Variant A.";
  const [hasOwn, hasOther] = variant === "A" ? [hasKey, hasSecret] : [hasSecret, hasKey];
  if (variant !== undefined && hasOther && !hasOwn)
    return `names Variant ${variant}, but has only a credential of the other variant.`;
  return undefined;
}
