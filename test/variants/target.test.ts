// The checks of the base URL and the tenant id, and of the URLs that the bearer may be sent to.
import { describe, expect, test } from "vitest";
import { isUnderBase, parseBaseUrl, parseTenantId } from "../../src/variants/target.js";

describe("the base URL", () => {
  describe("an accepted base URL", () => {
    const rows = [
      { name: "an origin", given: "https://a.example", parsed: "https://a.example" },
      { name: "a trailing slash is dropped", given: "https://a.example/", parsed: "https://a.example" },
      {
        name: "a path prefix",
        given: "https://a.example/tenant-api",
        parsed: "https://a.example/tenant-api",
      },
      { name: "a prefix with a slash", given: "https://a.example/x/y/", parsed: "https://a.example/x/y" },
      { name: "a port", given: "https://a.example:8443", parsed: "https://a.example:8443" },
      { name: "the default port is dropped", given: "https://a.example:443/", parsed: "https://a.example" },
      { name: "capital letters in the host", given: "https://A.Example/X", parsed: "https://a.example/X" },
      {
        name: "dots in the path are folded",
        given: "https://a.example/x/../y",
        parsed: "https://a.example/y",
      },
      { name: "http to 127.0.0.1", given: "http://127.0.0.1:3000", parsed: "http://127.0.0.1:3000" },
      { name: "http to another loopback address", given: "http://127.8.9.1", parsed: "http://127.8.9.1" },
      { name: "http to localhost", given: "http://localhost:3000/", parsed: "http://localhost:3000" },
      { name: "http to a name under localhost", given: "http://x.localhost", parsed: "http://x.localhost" },
      { name: "http to [::1]", given: "http://[::1]:3000", parsed: "http://[::1]:3000" },
    ];
    test.each(rows)("$name: $given", ({ given, parsed }) => {
      expect(parseBaseUrl(given)).toBe(parsed);
    });

    test("plain http to another machine is accepted with allowInsecureHttp", () => {
      expect(parseBaseUrl("http://a.example", true)).toBe("http://a.example");
    });
  });

  describe("a refused base URL", () => {
    const invalid = "base_url_invalid";
    const rows: { name: string; given: unknown; code: string }[] = [
      { name: "nothing", given: undefined, code: invalid },
      { name: "an empty text", given: "", code: invalid },
      { name: "spaces", given: "   ", code: invalid },
      { name: "a number", given: 443, code: invalid },
      { name: "a URL object", given: new URL("https://a.example"), code: invalid },
      { name: "no URL", given: "a.example", code: invalid },
      { name: "a path", given: "/api", code: invalid },
      { name: "ftp", given: "ftp://a.example", code: invalid },
      { name: "a script", given: "javascript:alert(1)", code: invalid },
      { name: "a file", given: "file:///etc/hosts", code: invalid },
      { name: "a user", given: "https://user@a.example", code: invalid },
      { name: "a user and a password", given: "https://user:pass-secret@a.example", code: invalid },
      { name: "a query", given: "https://a.example?key=pass-secret", code: invalid },
      { name: "an empty query", given: "https://a.example/?", code: invalid },
      { name: "a fragment", given: "https://a.example/#pass-secret", code: invalid },
      { name: "an empty fragment", given: "https://a.example#", code: invalid },
      { name: "braces in the path", given: "https://a.example/{tenantId}", code: invalid },
      { name: "encoded braces", given: "https://a.example/%7BtenantId%7D", code: invalid },
      { name: "braces in the host", given: "https://{customer}.example", code: invalid },
      { name: "plain http to another host", given: "http://a.example", code: "base_url_insecure" },
      {
        name: "plain http to a look-alike of loopback",
        given: "http://127.0.0.1.example",
        code: "base_url_insecure",
      },
      {
        name: "plain http to a look-alike of localhost",
        given: "http://notlocalhost",
        code: "base_url_insecure",
      },
      { name: "plain http to a private address", given: "http://10.0.0.1", code: "base_url_insecure" },
    ];
    test.each(rows)("$name", ({ given, code }) => {
      let error: unknown;
      try {
        parseBaseUrl(given);
      } catch (thrown) {
        error = thrown;
      }
      expect(error).toMatchObject({ name: "ConfigurationError", code, option: "baseUrl" });
      expect((error as Error).message).not.toContain("pass-secret");
    });

    test("allowInsecureHttp allows no other scheme", () => {
      for (const given of ["ftp://a.example", "http://user:x@a.example", "http://a.example?x=1"])
        expect(() => parseBaseUrl(given, true)).toThrow(expect.objectContaining({ code: invalid }));
    });
  });

  describe("the bearer is sent only under the base URL", () => {
    const base = "https://a.example/api";
    const rows = [
      { name: "the base itself", url: "https://a.example/api", under: true },
      { name: "a path under it", url: "https://a.example/api/v1/devices", under: true },
      { name: "a query", url: "https://a.example/api?x=1", under: true },
      { name: "the default port, written out", url: "https://a.example:443/api/v1", under: true },
      { name: "a path that begins alike", url: "https://a.example/apix", under: false },
      { name: "the origin above it", url: "https://a.example/", under: false },
      { name: "dots that lead out", url: "https://a.example/api/../admin", under: false },
      { name: "encoded dots that lead out", url: "https://a.example/api/%2e%2e/admin", under: false },
      { name: "an encoded slash behind dots", url: "https://a.example/api/..%2fadmin", under: false },
      { name: "an encoded backslash behind dots", url: "https://a.example/api/..%5cadmin", under: false },
      { name: "another port", url: "https://a.example:8443/api", under: false },
      { name: "plain http", url: "http://a.example/api", under: false },
      { name: "another host", url: "https://b.example/api", under: false },
      { name: "a host below", url: "https://x.a.example/api", under: false },
      { name: "user info", url: "https://user@a.example/api", under: false },
    ];
    test.each(rows)("$name: $under", ({ url, under }) => {
      expect(isUnderBase(new URL(url), base)).toBe(under);
    });
  });
});

describe("the tenant id", () => {
  describe("an accepted tenant id", () => {
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

  describe("a refused tenant id", () => {
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
    test("allows other characters", () => {
      expect(() => parseTenantId("eu:acme")).toThrow();
      expect(parseTenantId("eu:acme", /^[a-z]+:[a-z]+$/)).toBe("eu:acme");
    });

    test("forbids characters", () => {
      expect(() => parseTenantId("acme", /^tenant-\d+$/)).toThrow(/tenantIdPattern/);
    });

    test.each(changesThePath)("never allows $name", ({ given }) => {
      expect(() => parseTenantId(given, /.*/s)).toThrow(
        expect.objectContaining({ code: "tenant_id_invalid" }),
      );
    });

    test("with the flag g keeps no position between calls", () => {
      const pattern = /acme/g;
      for (let times = 0; times < 3; times++) expect(parseTenantId("acme", pattern)).toBe("acme");
    });
  });
});
