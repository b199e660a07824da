// Which tenant ids may stand in a path.
import { describe, expect, test } from "vitest";
import { parseTenantId } from "../../src/variants/target.js";

describe("a tenant id that is taken", () => {
  const rows = ["acme", "ACME-2", "a", "a.b", "a..b", "_x", "~x", "-x", "0f8a-77.eu~1", "x".repeat(200)];
  test.each(rows)("%s", (given) => {
    expect(parseTenantId(given)).toBe(given);
  });
});

const changesThePath = [
  { name: "one dot", given: "." },
  { name: "two dots", given: ".." },
  { name: "an encoded dot", given: "%2e" },
  { name: "encoded dots", given: "%2e%2e" },
  { name: "encoded dots in capitals", given: "%2E%2E" },
  { name: "one dot as it is and one encoded", given: ".%2e" },
  { name: "a slash", given: "a/b" },
  { name: "a slash in front", given: "/acme" },
  { name: "dots and a slash", given: "../acme" },
  { name: "an encoded slash", given: "a%2fb" },
  { name: "a backslash", given: "a\\b" },
  { name: "a question mark", given: "a?b" },
  { name: "a hash", given: "a#b" },
  { name: "a percent sign", given: "a%b" },
  { name: "a line break", given: "a\nb" },
  { name: "a tab", given: "a\tb" },
  { name: "a NUL", given: "a\0b" },
  { name: "a space", given: "a b" },
  { name: "a placeholder", given: "{tenantId}" },
];

describe("a tenant id that is refused", () => {
  const rows: { name: string; given: unknown }[] = [
    { name: "nothing", given: undefined },
    { name: "null", given: null },
    { name: "a number", given: 7 },
    { name: "an empty text", given: "" },
    { name: "a dot in front", given: ".acme" },
    { name: "letters beyond ASCII", given: "ängström" },
    { name: "a full-width dot", given: "．．" },
    { name: "a colon", given: "a:b" },
    { name: "an at sign", given: "a@b" },
    { name: "a semicolon", given: "a;b" },
    { name: "a trailing line break, which a bare $ would let through", given: "acme\n" },
    ...changesThePath,
  ];
  test.each(rows)("$name", ({ given }) => {
    expect(() => parseTenantId(given)).toThrow(
      expect.objectContaining({ code: "tenant_id_invalid", option: "tenantId" }),
    );
  });
});

describe("tenantIdPattern", () => {
  test("widens what a tenant id looks like", () => {
    expect(() => parseTenantId("eu:acme")).toThrow();
    expect(parseTenantId("eu:acme", /^[a-z]+:[a-z]+$/)).toBe("eu:acme");
  });

  test("narrows it", () => {
    expect(() => parseTenantId("acme", /^tenant-\d+$/)).toThrow(/tenantIdPattern/);
  });

  test.each(changesThePath)("never allows $name", ({ given }) => {
    expect(() => parseTenantId(given, /.*/s)).toThrow(expect.objectContaining({ code: "tenant_id_invalid" }));
  });

  test("keeps no position between calls", () => {
    const pattern = /acme/g;
    for (let times = 0; times < 3; times++) expect(parseTenantId("acme", pattern)).toBe("acme");
  });
});
