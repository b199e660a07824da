// What is made of results: CSV that no spreadsheet takes for formulas, the page, and the comparison
// with earlier ones.
import { createHash } from "node:crypto";
import { parse } from "csv-parse/sync";
import { describe, expect, test } from "vitest";
import {
  compareWith,
  type EarlierResult,
  parseResults,
  resultsCsv,
  resultsPage,
  type SurveyResult,
} from "../../src/survey/index.js";
import { hostile, results } from "./results.js";

const [works, served, fails, down] = results;

describe("the CSV", () => {
  test("has no cell that begins a formula, in its first line neither", () => {
    const formulas = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1"];
    const others = formulas.map((one) => ({ ...works, other: { [one]: one }, tenantId: "-a" }));
    const rows: string[][] = parse(resultsCsv([...results, ...others]));
    expect(rows).toHaveLength(1 + results.length + formulas.length);
    for (const cell of rows.flat()) expect(cell).not.toMatch(/^[=+\-@\t\r＝]/);
  });

  test("has no formula after a separator in a cell, which another country's spreadsheet would split there", () => {
    const cell = 'x;=1,"@SUM(A1)"\n-1\t+1; -1';
    const baseUrl = "https://a.example/x;=y,-z";
    const text = resultsCsv([{ ...works, baseUrl, other: { [cell]: cell } }]);
    for (const separator of [",", ";", "\t", "\n"])
      for (const part of text.split(separator)) expect(part).not.toMatch(/^"*[=+\-@]/);
    expect(parse(text)[1]?.at(-1)).toBe(`x;'=1,'"@SUM(A1)"\n'-1\t'+1; -1`);
    expect(parseResults(text)[0]?.baseUrl).toBe(baseUrl);
  });

  test("has a column for each member, and for the other columns of the rows at the end", () => {
    const [header = [], ...rows]: string[][] = parse(resultsCsv(results));
    const first = "tenantId baseUrl variant works state code problem remedy";
    expect(header.slice(0, 8).join(" ")).toBe(first);
    expect(header.slice(-3)).toEqual(["region", hostile, "constructor"]);
    const cell = (row: number, name: string) => rows[row]?.[header.indexOf(name)];
    expect([cell(2, "state"), cell(2, "changes")]).toEqual(["fails", "broke moved"]);
    expect([cell(3, "constructor"), cell(3, "code")]).toEqual(["'-2", "network_failed"]);
    expect([cell(0, "constructor"), cell(0, "at")]).toEqual(["", "2026-01-02T03:04:05.000Z"]);
  });
});

describe("the page", () => {
  const gone = [{ ...down, baseUrl: hostile }];
  const page = resultsPage(results, { startedAt: works.at, seconds: 3.2, since: hostile, gone });

  test("escapes all text of servers and rows, and shows direction marks", () => {
    expect(page.match(/<script/g)).toHaveLength(1);
    expect(page.match(/<\/style/g)).toHaveLength(1);
    expect(page).not.toMatch(/alert\(1\)<\/|\u202e/);
    expect(page).not.toContain("\u0000");
    expect(page).toContain("&#60;script&#62;alert(1)");
  });

  test("allows its own script and stylesheet alone, by their hashes, and loads nothing", () => {
    const hashOf = (tag: string) => {
      const [, content = ""] = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(page) ?? [];
      return `'sha256-${createHash("sha256").update(content).digest("base64")}'`;
    };
    const policy = /content-security-policy" content="([^"]*)"/.exec(page)?.[1];
    expect(policy).toContain(`style-src ${hashOf("style")};`);
    expect(policy).toContain(`script-src ${hashOf("script")};`);
    expect(policy).toMatch(/^default-src 'none';/);
    expect(page).not.toMatch(/ (?:src|style|on\w+)=/);
    expect(page.match(/ href="[^"]*"/g)).toEqual([' href="data:,"']);
  });

  test("counts each variant and state, names the reasons, and lists first what does not work", () => {
    const counts = (state: string) => {
      const [, row = ""] = new RegExp(`>${state}</span></th>(.*)</tr>`).exec(page) ?? [];
      return [...row.matchAll(/<td>(\d+)/g)].map(([, number]) => Number(number));
    };
    expect(counts("does not work")).toEqual([0, 1, 1, 2]);
    expect(counts("works")).toEqual([1, 0, 0, 1]);
    expect(counts("served")).toEqual([0, 1, 0, 1]);
    expect(page).toMatch(/data-find="token_refused"><code>token_refused<\/code> 1</);
    const order = ["initech", "no tenant", "acme", "umbrella"];
    expect(page).toMatch(new RegExp(order.map((name) => `<strong>${name}<`).join("[\\s\\S]*")));
    expect(page).toMatch(/no longer works: 1[\s\S]*not asked about any more: 1/);
  });

  test("of a survey without a failure or an earlier one has no parts for them", () => {
    const sound = resultsPage([works], { startedAt: 0, seconds: 1 });
    expect(sound).not.toMatch(/id="reasons"|id="changes"/);
    expect(sound).toContain("<title>Survey of 1 customer</title>");
  });
});

describe("an earlier result", () => {
  const lines = results.map((one) => JSON.stringify(one)).join("\n");
  const interruption = '{"error":{"code":"interrupted","message":"Interrupted.","exitCode":130}}';

  test.each([
    { name: "JSON lines with empty lines", text: `\n${lines.replaceAll("\n", "\r\n\r\n")}\n` },
    { name: "JSON lines of an interrupted survey", text: `${lines}\n${interruption}\n` },
    { name: "the CSV", text: resultsCsv(results) },
  ])("is read from $name", ({ text }) => {
    const members = (one: EarlierResult) => [one.baseUrl, one.tenantId, one.variant, one.works];
    expect(parseResults(text).map(members)).toEqual(results.map(members));
  });

  test("of a tenant whose id begins like a formula is the same in CSV", () => {
    const [read] = parseResults(resultsCsv([{ ...works, tenantId: "-a" }]));
    expect(read?.tenantId).toBe("-a");
  });

  test.each([
    { name: "something else", text: "name,age\nx,1\n" },
    { name: "an empty file", text: "" },
    { name: "a state file", text: '{"bivariant":"survey state","version":1}\n' },
    { name: "an interruption before the end", text: `${interruption}\n${lines}` },
    { name: "another error at the end", text: `${lines}\n{"error":{"code":"internal"}}` },
    { name: "a broken line", text: `${lines}\n{"baseUrl"` },
    { name: "a CSV with another verdict", text: resultsCsv([works]).replace(",true,", ",maybe,") },
  ])("is refused if it is $name", ({ text }) => {
    const invalid = expect.objectContaining({ code: "earlier_invalid" });
    expect(() => parseResults(text)).toThrow(invalid);
  });

  test.each<[string, Partial<EarlierResult>, Partial<SurveyResult>, string[]]>([
    ["the same", {}, {}, []],
    ["another variant", { variant: "B" }, {}, ["moved"]],
    ["a failure of an unknown variant", {}, { works: false, variant: null }, ["broke"]],
    ["a recovery", { works: false, variant: null }, {}, ["recovered"]],
    ["a move that broke it", { variant: "B" }, { works: false }, ["moved", "broke"]],
    ["another tenant", { tenantId: "other" }, {}, ["new"]],
    ["another client", { aClientId: "other" }, {}, ["new"]],
  ])("is compared: %s", (_, before, now, changes) => {
    const comparison = compareWith([{ ...works, ...before }]);
    expect(comparison.changesOf({ ...works, ...now })).toEqual(changes);
    expect(comparison.gone()).toHaveLength(changes.includes("new") ? 1 : 0);
  });

  test("lists the customers that are not asked about any more", () => {
    const comparison = compareWith([works, served, fails]);
    comparison.changesOf(served);
    expect(comparison.gone().map(({ tenantId }) => tenantId)).toEqual(["acme", "initech"]);
  });
});
