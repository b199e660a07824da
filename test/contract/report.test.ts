// The reports of a run: the page for people, JUnit XML for CI, and the comparison with an earlier
// run.
import { createHash } from "node:crypto";
import { describe, expect, it, test } from "vitest";
import {
  type ComparedResult,
  compareRuns,
  htmlReport,
  junitReport,
  type NotTriedReason,
  parseBaseline,
} from "../../src/contract/index.js";
import { about, results } from "./results.js";
import { createRig } from "./rig.js";

describe("the page", () => {
  const page = htmlReport(results, about);

  it("holds nothing that a browser would load, run or send", () => {
    const links = [...page.matchAll(/(?:href|src|action|srcset)="([^"]*)"/g)];
    expect(new Set(links.map(([, link]) => link))).toEqual(
      new Set(["data:,", "#variant-A", "#variant-B"]),
    );
    expect(page).not.toMatch(/<script|<form|<img|<iframe| style=| on\w+=|@import|url\(/i);
  });

  it("permits its own stylesheet by hash, and nothing else", () => {
    const [, style = ""] = /<style>([\s\S]*?)<\/style>/.exec(page) ?? [];
    const hash = createHash("sha256").update(style).digest("base64");
    expect(page).toContain(`content="default-src 'none'; style-src 'sha256-${hash}';`);
  });

  it("shows markup and control characters of a server as text", () => {
    expect(page).toContain("&#60;script&#62;alert(1)&#60;/script&#62;");
    expect(page).toContain("\\u{202e}");
    expect(page).not.toContain("\u202e");
  });

  it("gives each variant a verdict, opens the cases that break, and groups what was not tried", () => {
    expect(page).toMatch(
      /Variant A<\/a> <span class="mark bad">breaks<\/span>.*1 hold, 1 break, 1 learnt/,
    );
    expect(page).toMatch(/Variant B<\/a> <span class="mark ">not tried<\/span>/);
    expect(page.match(/<details open>/g)).toHaveLength(1);
    expect(page).toContain("What was not tried, and why (2)");
    expect(page.match(/<p>It needs a person who logs in\.<\/p>/g)).toHaveLength(1);
    expect(page).toContain("&#34;requireKid&#34;: false");
  });

  it("says that a run was interrupted", () => {
    expect(page).not.toContain("interrupted");
    const interrupted = htmlReport(results, { ...about, interrupted: true });
    expect(interrupted).toContain("The run was interrupted.");
  });
});

describe("the JUnit file", () => {
  const xml = junitReport(results, about);

  it("has a failure for a case that breaks and a skip for one that was not tried", () => {
    expect(xml).toContain('tests="5" failures="1" errors="0" skipped="2"');
    expect(xml).toContain('"Variant B of https://customer.example" tests="2" failures="0"');
    expect(
      xml.match(/<failure message="[^"]*Observed: 200 with an access token\. [^"]*">/g),
    ).toEqual([
      '<failure message="An assertion without a kid is refused. Expected: The request is refused ' +
        'with 400 invalid_client. Observed: 200 with an access token. Section: 2.2">',
    ]);
    expect(xml.match(/<skipped message="It needs a person who logs in\."\/>/g)).toHaveLength(2);
    expect(xml).toContain("Learnt: A wrong kid is accepted.");
  });

  it("counts the time of a shared exchange once", () => {
    const times = [...xml.matchAll(/<testcase.* time="([\d.]+)">/g)].map(([, time]) => time);
    expect(times).toEqual(["0.012", "0.000", "0.000", "0.000", "0.000"]);
  });

  it("escapes markup, and replaces characters that XML does not allow", () => {
    expect(xml).toContain("&#60;script&#62;alert(1)&#60;/script&#62;");
    expect(xml).toContain("\ufffd");
    expect(xml).not.toContain("\u0007");
  });
});

test("a run says how long it waits, and why", async () => {
  const rig = createRig({ rateLimit: { requests: 1, windowSeconds: 60 } });
  const reasons = new Set<string>();
  const onWait = ({ ms, reason }: { ms: number; reason: string }) =>
    void (ms > 0 && reasons.add(reason));
  const results = await rig.run({ only: ["token-request.media-type"], paceMs: 10, onWait });
  expect([...results.values()].map(({ result }) => result)).toEqual(["holds"]);
  expect(reasons).toEqual(new Set(["pace", "rate_limit"]));
});

test("a large body closes its connection, so that no later request meets one that the server has closed", async () => {
  const rig = createRig();
  const connections: unknown[] = [];
  const fetch = async (url: string, init: RequestInit) => {
    connections.push((init.headers as Record<string, string>).connection);
    return rig.emulator.fetch(url, init);
  };
  await rig.run({ only: ["client-request.body-size"], fetch });
  expect(connections).toEqual([undefined, undefined, "close"]);
});

describe("a comparison with an earlier run", () => {
  const one = (changes: Partial<ComparedResult> = {}): ComparedResult => ({
    id: "assertion.kid",
    variant: "A",
    result: "learnt",
    observed: "Refused.",
    ...changes,
  });
  const settings = { requireKid: false };

  const notTried = (reason?: NotTriedReason) => one({ result: "not tried", reason });
  it.each<[name: string, kinds: string, before: ComparedResult, after: ComparedResult]>([
    ["an equal case", "", one(), one()],
    ["another observation", "moved", one(), one({ observed: "Accepted." })],
    ["other settings", "moved", one(), one({ settings })],
    ["a case that was tried neither time", "", notTried("needs"), notTried()],
    ["a case that could not be tried any more", "moved", one(), notTried()],
    ["a case for which less was lent", "untried", one(), notTried("needs")],
    ["a case for which more was lent", "tried", notTried("needs"), one()],
    ["a case that has no answer any more", "moved", one(), notTried("no_answer")],
    ["a case of the other variant", "new,gone", one(), one({ variant: "B" })],
  ])("reports %s: %s", (_, kinds, before, after) => {
    const compared = compareRuns([before], [after]);
    expect(compared.map(({ kind }) => kind).join()).toBe(kinds);
  });

  it("is a failing suite of the JUnit file and a section of the page, with the settings that moved", () => {
    const untried = { id: "assertion.replay", result: "not tried", reason: "needs" } as const;
    const moved = compareRuns(
      [one({ settings: { requireKid: true } }), one({ id: untried.id })],
      [one({ result: "breaks", observed: "<b>", settings }), one(untried)],
    );
    const xml = junitReport(results, { ...about, moved });
    expect(xml).toMatch(/<testsuites [^>]*tests="6" failures="2"/);
    expect(xml).toContain('<testsuite name="Moved since the baseline" tests="1" failures="1"');
    expect(xml).toContain('name="assertion.kid: moved"');
    expect(xml).toContain("requireKid: true -&#62; false");
    const page = htmlReport(results, { ...about, moved });
    expect(page).toContain("What moved since the baseline (1)");
    expect(page).toContain("requireKid: true -&#62; false");
    expect(page).toContain("now     breaks: &#60;b&#62;");
    expect(page).toContain("Tried in only one of the two runs: 1.");
  });

  it("of a run with itself, through JSON, moves nothing", () => {
    const before = parseBaseline(JSON.stringify({ results, summary: {} }));
    expect(parseBaseline(JSON.stringify(results))).toEqual(before);
    expect(compareRuns(before, results)).toEqual([]);
  });

  test.each([
    { name: "no JSON", text: "<testsuites/>" },
    { name: "a list of something else", text: "[1]" },
    { name: "results of another tool", text: '{"results":[{"id":"x","status":"passed"}]}' },
  ])("with $name fails", ({ text }) => {
    const invalid = expect.objectContaining({ code: "baseline_invalid" });
    expect(() => parseBaseline(text)).toThrow(invalid);
  });
});
