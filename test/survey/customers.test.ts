// What a file of customers may hold, and what is said of a wrong row before anything is sent.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ReadCustomers, readCustomers, SurveyError } from "../../src/survey/index.js";
import { rejectionOf } from "../support/wait.js";

let folder: string;
const variables = { SECRET: "planted-secret-0123456789" };
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "customers-"));
  await writeFile(join(folder, "key.pem"), "a key");
});
afterAll(() => rm(folder, { recursive: true }));

const read = (text: string): Promise<ReadCustomers> => readCustomers(text, { folder, variables });

const one = {
  baseUrl: "https://one.example",
  tenantId: "0123",
  aClientId: "reports",
  aKeyId: "k",
  aPrivateKeyFile: "key.pem",
  region: "Nord, Süd",
  since: "2024",
};
const two = {
  baseUrl: "https://two.example/prefix",
  variant: "B",
  bClientId: "account",
  bClientSecretVariable: "SECRET",
  region: "no",
};
const csv = `baseUrl,tenantId,variant,aClientId,aPrivateKeyFile,aKeyId,bClientId,bClientSecretVariable,region,since
https://ONE.example/,0123,,reports,key.pem,k,,,"Nord, Süd",2024

https://two.example/prefix/,,B,,,,account,SECRET,no
`;
const semicolons = csv.replace('"Nord, Süd"', "Nord| Süd").replaceAll(",", ";").replace("|", ",");
const yaml = `# the customers
- baseUrl: https://one.example
  tenantId: 0123
  aClientId: reports
  aPrivateKeyFile: key.pem
  aKeyId: k
  region: Nord, Süd
  since: 2024
- { baseUrl: https://two.example/prefix, tenantId: , variant: B, bClientId: account, bClientSecretVariable: SECRET, region: no }
`;
const jsonLines = `${JSON.stringify({ ...one, since: 2024 })}\n\n${JSON.stringify({ ...two, tenantId: null })}`;

describe("customers are read from", () => {
  test.each([
    ["CSV", csv, [2, 4]],
    ["CSV with a byte order mark and CRLF", `\ufeff${csv.replaceAll("\n", "\r\n")}`, [2, 4]],
    ["CSV with semicolons", semicolons, [2, 4]],
    ["CSV with semicolons after an empty line", `\r\n${semicolons}`, [3, 5]],
    ["JSON lines", jsonLines, [1, 3]],
    ["YAML, in which every value is a text", yaml, [2, 9]],
    ["a JSON array", JSON.stringify([one, two]), [1, 1]],
  ])("%s", async (_, text, [first, second]) => {
    const { region, since, ...ofOne } = { ...one, aPrivateKeyFile: join(folder, "key.pem") };
    const { region: no, ...ofTwo } = two;
    expect(await read(text)).toEqual({
      customers: [
        { ...ofOne, other: { region, since }, line: first },
        { ...ofTwo, other: { region: no }, line: second },
      ],
      wrong: [],
    });
  });

  test.each(["\n", "\r\n"])(
    "CSV whose cells have line breaks, with the line at which each row begins: %j",
    async (end) => {
      const text = `baseUrl,note\nhttps://a.example,"one\ntwo"\nhttps://b.example,three\n`;
      const { customers } = await read(text.replaceAll("\n", end));
      expect(customers.map(({ line }) => line)).toEqual([2, 4]);
    },
  );
});

describe("a wrong row is reported with its line:", () => {
  const planted = "planted-by-mistake-0123456789";
  const pem = `-----BEGIN PRIVATE KEY-----${planted}`;
  const jwk = `{"kty":"RSA","d":"${planted.padEnd(40, "x")}"}`;
  const plugin = { tenantId: "a", aClientId: "x", aPrivateKeyFile: "key.pem" };
  const ofB = { bClientId: "x", bClientSecretVariable: "SECRET" };
  test.each<[name: string, fields: object | string, says: string]>([
    ["no base URL", { baseUrl: undefined }, "baseUrl is missing"],
    ["a base URL without a scheme", { baseUrl: "customer.example" }, "absolute URL"],
    ["plain http", { baseUrl: "http://customer.example" }, "plain http"],
    ["a secret in the URL", { baseUrl: `https://u:${planted}@a.example` }, "contain credentials"],
    ["a tenant id with a slash", { tenantId: "a/b" }, "tenantId"],
    ["a tenant id that is a number", { tenantId: 1 }, "text in quotes"],
    ["another variant", { variant: "C" }, "A or B"],
    ["a client id without a key", { tenantId: "a", aClientId: "x" }, "only one of aClientId"],
    ["a secret without a client id", { ...ofB, bClientId: undefined }, "only one of bClientId"],
    ["a key id without a key", { aKeyId: "k" }, "no private key"],
    ["a plugin without a tenant", { ...plugin, tenantId: undefined }, "needs a tenantId"],
    ["a credential of B for A", { ...ofB, variant: "A", tenantId: "a" }, "only a credential of"],
    ["a file and a variable", { ...plugin, aPrivateKeyVariable: "SECRET" }, "Keep one"],
    ["a missing file", { ...plugin, aPrivateKeyFile: planted }, "cannot be read"],
    ["a variable that is not set", { ...ofB, bClientSecretVariable: "MISSING" }, "not set"],
    ["a secret as a name", { ...ofB, bClientSecretVariable: planted }, "not the secret itself"],
    ...["bClientSecret", "access_token", "Client secret (old)", "aPrivateKeyPem", "pwd"].map(
      (one): [string, object, string] => [`a secret in ${one}`, { [one]: planted }, "may hold a"],
    ),
    ["a private key", { note: pem }, "holds a private key"],
    ["a private key as a JWK", { note: jwk }, "holds a private key"],
    ["a misspelt column", { baseUrl: undefined, base_url: "https://a.example" }, "Name it baseUrl"],
    ["a nested member", { notes: [planted] }, "must be a text: notes"],
    ["a list", "[1]", "is not a JSON object"],
    ["text that is not JSON", `{"baseUrl": ${planted}}`, "is not JSON"],
    ["a long line", { note: "x".repeat(70_000) }, "is longer than"],
    ["line 1 again", { baseUrl: "https://FIRST.example:443/" }, "same customer as that of line 1"],
  ])("%s", async (_, fields, says) => {
    const given = typeof fields === "string" ? fields : { baseUrl: "https://a.example", ...fields };
    const row = typeof given === "string" ? given : JSON.stringify(given);
    const { customers, wrong } = await read(`{"baseUrl":"https://first.example"}\n${row}`);
    expect(customers).toHaveLength(1);
    expect(wrong).toEqual([{ line: 2, problem: expect.stringContaining(says) }]);
    expect(JSON.stringify(wrong)).not.toContain(planted);
  });

  test("but no row with a secretary, or with the address of a token endpoint", async () => {
    const other = { secretary: "Ada", tokenUrl: "/token", passwordless: "yes" };
    const found = await read(JSON.stringify({ baseUrl: "https://a.example", ...other }));
    expect(found).toMatchObject({ customers: [{ other }], wrong: [] });
  });

  test("a CSV row with more cells than columns", async () => {
    const { wrong } = await read("baseUrl,region\nhttps://a.example,x,y\n");
    const problem = "has 3 cells, but the first line names 2 columns.";
    expect(wrong).toEqual([{ line: 2, problem }]);
  });

  test("a YAML row with an alias, or a member twice", async () => {
    const alias = "- { baseUrl: &a https://a.example, x: *a }\n";
    const double = "- { baseUrl: https://b.example, region: x, region: y }\n";
    const { wrong } = await read(`${alias}${double}- text\n`);
    expect(wrong).toEqual([
      { line: 1, problem: expect.stringContaining("must be a text: x") },
      { line: 2, problem: expect.stringContaining("occurs twice: region") },
      { line: 3, problem: "is not a mapping." },
    ]);
  });
});

describe("a file is refused as a whole:", () => {
  const row = "baseUrl: https://a.example";
  const open = `- ${"[".repeat(50_000)}`;
  const [invalid, large] = ["customers_invalid", "customers_too_large"];
  test.each([
    { name: "an empty one", text: "", code: invalid },
    { name: "one without the column baseUrl", text: "url\nhttps://a.example\n", code: invalid },
    { name: "a column of secrets", text: "baseUrl,b_client_secret\n", code: invalid },
    { name: "a misspelt column", text: "baseUrl,Tenant-ID\n", code: invalid },
    { name: "a column twice", text: "baseUrl,region,region\n", code: invalid },
    { name: "an open quote", text: 'baseUrl,x\nhttps://a.example,"x\n', code: invalid },
    { name: "a quote in a cell", text: 'baseUrl,x\nhttps://a.example,"x"y\n', code: invalid },
    { name: "YAML that is broken", text: "- baseUrl: [https://a.example\n", code: invalid },
    { name: "YAML that is a scalar", text: "# nothing\ntext\n", code: invalid },
    { name: "YAML with open lists in lists", text: open, code: invalid },
    { name: "YAML with lists in lists", text: open + "]".repeat(50_000), code: invalid },
    { name: "YAML with lists in lists, by dashes", text: "- ".repeat(20_000), code: invalid },
    { name: "two documents of YAML", text: `- ${row}\n---\n- ${row}\n`, code: invalid },
    { name: "a binary file", text: "\u0000\u0001\u0002", code: invalid },
    { name: "too many lines", text: '{"baseUrl":"https://a.b"}\n'.repeat(100_001), code: large },
    { name: "too many characters", text: `baseUrl,x\n${"y".repeat(34_000_000)}`, code: large },
    { name: "too much YAML", text: `- ${"y".repeat(9_000_000)}`, code: large },
  ])("$name", async ({ text, code }) => {
    const error = await rejectionOf(read(text));
    expect(error).toBeInstanceOf(SurveyError);
    expect(error).toMatchObject({ code, message: expect.stringMatching(/[A-Z].*\.$/s) });
  });
});
