// The example of a survey in a program, run as it is printed, over the customers that are printed.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { SurveyResult } from "../../src/survey/index.js";
import { readCustomers } from "../../src/survey/index.js";
import { deployment, PLUGIN_ID } from "../support/deployment.js";
import { pkcs8, rsaKey } from "../support/keys.js";
import { blockWith, cacheFolder, importBlock, read } from "./pages.js";

test("the survey in a program writes the page, deletes its state, and returns the customers that do not work", async () => {
  const publicUrl = "https://service.example";
  const { fetch } = deployment({ publicUrl, tenants: ["acme"] });
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) =>
    url.startsWith(publicUrl)
      ? fetch(url, { ...init, body: init.body && String(init.body) } as RequestInit)
      : new Response("<p>Hello"),
  );
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const folder = cacheFolder();
  const file = join(folder, "customers.jsonl");
  const plugin = { aClientId: PLUGIN_ID, aPrivateKeyFile: "key.pem" };
  const rows = [
    { baseUrl: publicUrl, tenantId: "acme", ...plugin },
    { baseUrl: publicUrl, tenantId: "other", ...plugin },
    { baseUrl: "nowhere" },
  ];
  await writeFile(file, rows.map((row) => JSON.stringify(row)).join("\n"));
  await writeFile(join(folder, "key.pem"), pkcs8(rsaKey()));
  const { surveyFile } = await importBlock<{ surveyFile(file: string): Promise<SurveyResult[]> }>(
    "surveyFile",
  );
  const failing = await surveyFile(file);
  expect(failing).toMatchObject([{ tenantId: "other", code: "token_refused", variant: "A" }]);
  expect(warn.mock.calls).toEqual([[expect.stringMatching(/^Line 3 is wrong/)]]);
  expect(await readFile(`${file}.html`, "utf8")).toContain("<title>Survey of 2 customers</title>");
  expect((await readdir(folder)).filter((name) => /state/.test(name))).toEqual([]);
});

test("the printed customers are read, with the columns that the page explains", async () => {
  const { customers, wrong } = await readCustomers(blockWith("csv", "baseUrl,tenantId"), {
    variables: { UMBRELLA_SECRET: "x" },
  });
  expect(wrong).toEqual([{ line: 2, problem: expect.stringContaining("cannot be read") }]);
  expect(customers).toMatchObject([
    { tenantId: "umbrella", bClientId: "reports", other: { region: "south" } },
    { tenantId: "initech", other: { region: "south" } },
  ]);
});

test("the page names every member of a result", async () => {
  const [, members = ""] =
    read("src/survey/result.ts").match(/interface SurveyResult \{([\s\S]*?)\n\}/) ?? [];
  const names = [...members.matchAll(/readonly (\w+)\??:/g)].map(([, name]) => name);
  expect(names).toContain("remedy");
  const page = read("src/survey/README.md");
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});
