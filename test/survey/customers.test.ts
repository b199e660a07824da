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
const refusal = async (text: string) => (await rejectionOf(read(text))) as SurveyError;

const wanted = () => [
  {
    ...{ baseUrl: "https://one.example", tenantId: "0123", aClientId: "reports", aKeyId: "k" },
    ...{ aPrivateKeyFile: join(folder, "key.pem"), other: { region: "Nord, Süd", since: "2024" } },
  },
  {
    ...{ baseUrl: "https://two.example/prefix", variant: "B", bClientId: "account" },
    ...{ bClientSecretVariable: "SECRET", other: { region: "no" } },
  },
];
const columns =
  "baseUrl,tenantId,variant,aClientId,aPrivateKeyFile,aKeyId,bClientId,bClientSecretVariable,region,since";
const csv = `${columns}
https://ONE.example/,0123,,reports,key.pem,k,,,"Nord, Süd",2024

https://two.example/prefix/,,B,,,,account,SECRET,no
`;

describe("customers are read from", () => {
  test.each([
    ["CSV", csv, [2, 4]],
    ["CSV with a byte order mark and CRLF", `\ufeff${csv.replaceAll("\n", "\r\n")}`, [2, 4]],
    [
      "CSV with semicolons",
      csv.replace('"Nord, Süd"', "Nord| Süd").replaceAll(",", ";").replace("|", ","),
      [2, 4],
    ],
    [
      "JSON lines",
      `{"baseUrl":"https://one.example","tenantId":"0123","aClientId":"reports","aPrivateKeyFile":"key.pem","aKeyId":"k","region":"Nord, Süd","since":2024}

{"baseUrl":"https://two.example/prefix","tenantId":null,"variant":"B","bClientId":"account","bClientSecretVariable":"SECRET","region":"no"}`,
      [1, 3],
    ],
    [
      "YAML, in which every value is a text",
      `# the customers
- baseUrl: https://one.example
  tenantId: 0123
  aClientId: reports
  aPrivateKeyFile: key.pem
  aKeyId: k
  region: Nord, Süd
  since: 2024
- { baseUrl: https://two.example/prefix, tenantId: , variant: B, bClientId: account, bClientSecretVariable: SECRET, region: no }
`,
      [2, 9],
    ],
    [
      "a JSON array",
      JSON.stringify([
        {
          ...{
            baseUrl: "https://one.example",
            tenantId: "0123",
            aClientId: "reports",
            aKeyId: "k",
          },
          ...{ aPrivateKeyFile: "key.pem", region: "Nord, Süd", since: "2024" },
        },
        {
          ...{ baseUrl: "https://two.example/prefix", variant: "B", bClientId: "account" },
          ...{ bClientSecretVariable: "SECRET", region: "no" },
        },
      ]),
      [1, 1],
    ],
  ])("%s", async (_, text, lines) => {
    const { customers, wrong } = await read(text);
    expect(wrong).toEqual([]);
    expect(customers).toEqual(wanted().map((one, index) => ({ ...one, line: lines[index] })));
  });

  test("CSV whose cells have line breaks, with the line at which each row begins", async () => {
    const { customers } = await read(
      `baseUrl,note\nhttps://a.example,"one\ntwo"\nhttps://b.example,three\n`,
    );
    expect(customers.map(({ line }) => line)).toEqual([2, 4]);
  });
});

describe("a wrong row is told with its line:", () => {
  const https = "https://a.example";
  const row = (fields: object) => JSON.stringify(fields);
  const second = (text: string) => `{"baseUrl":"https://first.example"}\n${text}`;
  const planted = "planted-by-mistake-0123456789";
  test.each([
    ["no base URL", row({ tenantId: "a" }), "baseUrl is missing"],
    ["a base URL without a scheme", row({ baseUrl: "customer.example" }), "absolute URL"],
    ["plain http", row({ baseUrl: "http://customer.example" }), "plain http"],
    [
      "credentials in the base URL",
      row({ baseUrl: `https://u:${planted}@a.example` }),
      "must not contain credentials",
    ],
    ["a tenant id with a slash", row({ baseUrl: https, tenantId: "a/b" }), "tenantId"],
    ["a tenant id that is a number", `{"baseUrl":"${https}","tenantId":1}`, "text in quotes"],
    ["another variant", row({ baseUrl: https, variant: "C" }), "A or B"],
    [
      "a client id without a key",
      row({ baseUrl: https, tenantId: "a", aClientId: "x" }),
      "only one of aClientId",
    ],
    [
      "a secret without a client id",
      row({ baseUrl: https, bClientSecretVariable: "SECRET" }),
      "only one of bClientId",
    ],
    ["a key id without a key", row({ baseUrl: https, aKeyId: "k" }), "no private key"],
    [
      "a plugin without a tenant",
      row({ baseUrl: https, aClientId: "x", aPrivateKeyFile: "key.pem" }),
      "needs a tenantId",
    ],
    [
      "a credential of the variant that is not named",
      row({
        baseUrl: https,
        variant: "A",
        tenantId: "a",
        bClientId: "x",
        bClientSecretVariable: "SECRET",
      }),
      "only a credential of the other",
    ],
    [
      "a file and a variable",
      row({
        ...{ baseUrl: https, tenantId: "a", aClientId: "x" },
        ...{ aPrivateKeyFile: "key.pem", aPrivateKeyVariable: "SECRET" },
      }),
      "Keep one",
    ],
    [
      "a missing file",
      row({ baseUrl: https, tenantId: "a", aClientId: "x", aPrivateKeyFile: planted }),
      "cannot be read",
    ],
    [
      "a variable that is not set",
      row({ baseUrl: https, bClientId: "x", bClientSecretVariable: "MISSING" }),
      "not set",
    ],
    [
      "a secret in place of the name of a variable",
      row({ baseUrl: https, bClientId: "x", bClientSecretVariable: planted }),
      "not the secret itself",
    ],
    ["a secret", row({ baseUrl: https, bClientSecret: planted }), "may hold a secret"],
    ["a token", row({ baseUrl: https, access_token: planted }), "may hold a secret"],
    [
      "a private key",
      row({ baseUrl: https, note: `-----BEGIN PRIVATE KEY-----${planted}` }),
      "holds a private key",
    ],
    ...["secret_b64", "Client secret (old)", "aPrivateKeyPem", "pwd"].map((name) => [
      `a secret in ${name}`,
      row({ baseUrl: https, [name]: planted }),
      "may hold a secret",
    ]),
    [
      "a private key as a JWK",
      row({ baseUrl: https, note: `{"kty":"RSA","d":"${planted.padEnd(40, "x")}"}` }),
      "holds a private key",
    ],
    ["a misspelt column", row({ base_url: https }), "Name it baseUrl"],
    ["a nested member", row({ baseUrl: https, notes: [planted] }), "must be a text: notes"],
    ["a list", "[1]", "is not a JSON object"],
    ["text that is not JSON", `{"baseUrl": ${planted}}`, "is not JSON"],
    ["a long line", row({ baseUrl: https, note: "x".repeat(70_000) }), "is longer than"],
    [
      "a customer that is there already",
      row({ baseUrl: "https://FIRST.example:443/", variant: "B" }),
      "same customer as that of line 1",
    ],
  ])("%s", async (_, row, says) => {
    const { customers, wrong } = await read(second(row));
    expect(customers).toHaveLength(1);
    expect(wrong).toEqual([{ line: 2, problem: expect.stringContaining(says) }]);
    expect(JSON.stringify(wrong)).not.toContain(planted);
  });

  test("no row with a secretary, or with the address of a token endpoint", async () => {
    const row = {
      baseUrl: "https://a.example",
      secretary: "Ada",
      tokenUrl: "/token",
      passwordless: "yes",
    };
    expect(await read(JSON.stringify(row))).toMatchObject({
      customers: [{ other: { secretary: "Ada" } }],
      wrong: [],
    });
  });

  test("a CSV row with more cells than columns", async () => {
    const { wrong } = await read("baseUrl,region\nhttps://a.example,x,y\n");
    expect(wrong).toEqual([
      { line: 2, problem: "has 3 cells, but the first line names 2 columns." },
    ]);
  });

  test("a YAML row with an alias, or a member twice", async () => {
    const { wrong } = await read(
      "- { baseUrl: &a https://a.example, x: *a }\n- { baseUrl: https://b.example, region: " +
        "x, region: y }\n- text\n",
    );
    expect(wrong.map(({ line, problem }) => [line, problem])).toEqual([
      [1, expect.stringContaining("must be a text: x")],
      [2, expect.stringContaining("occurs twice: region")],
      [3, "is not a mapping."],
    ]);
  });
});

describe("a file is refused as a whole:", () => {
  test.each([
    { name: "an empty one", text: "" },
    { name: "one without the column baseUrl", text: "url,tenantId\nhttps://a.example,a\n" },
    {
      name: "a CSV with a column of secrets",
      text: "baseUrl,b_client_secret\nhttps://a.example,x\n",
    },
    { name: "a CSV with a misspelt column", text: "baseUrl,Tenant-ID\nhttps://a.example,x\n" },
    { name: "a CSV with a column twice", text: "baseUrl,region,region\nhttps://a.example,x,y\n" },
    { name: "a CSV with an open quote", text: 'baseUrl,region\nhttps://a.example,"x\n' },
    { name: "a CSV with a quote in a cell", text: 'baseUrl,region\nhttps://a.example,"x"y\n' },
    { name: "YAML that is broken", text: "- baseUrl: [https://a.example\n" },
    { name: "YAML that is a scalar", text: "# nothing\ntext\n" },
    { name: "YAML with open lists in lists", text: `- ${"[".repeat(50_000)}` },
    { name: "YAML with lists in lists", text: `- ${"[".repeat(10_000)}${"]".repeat(10_000)}` },
    { name: "YAML with lists in lists, by dashes", text: "- ".repeat(20_000) },
    {
      name: "two documents of YAML",
      text: "- baseUrl: https://a.example\n---\n- baseUrl: https://b.example\n",
    },
    { name: "a binary file", text: "\u0000\u0001\u0002" },
  ])("$name", async ({ text }) => {
    const error = await refusal(text);
    expect(error).toBeInstanceOf(SurveyError);
    expect(error.code).toBe("customers_invalid");
    expect(error.message).toMatch(/[A-Z].*\.$/s);
  });

  test.each([
    { name: "too many rows", text: `baseUrl\n${"https://a.example\n".repeat(100_001)}` },
    { name: "too many lines of JSON", text: '{"baseUrl":"https://a.example"}\n'.repeat(100_001) },
    { name: "too many characters", text: `baseUrl,x\n${"y".repeat(34_000_000)}` },
    { name: "too much YAML", text: `- ${"y".repeat(9_000_000)}` },
  ])("$name", async ({ text }) => {
    expect((await refusal(text)).code).toBe("customers_too_large");
  });
});
