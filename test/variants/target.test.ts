// The checks of the base URL and the tenant id, and of the URLs that the bearer may be sent to.
import { describe, expect, test } from "vitest";
import { isUnderBase, parseBaseUrl, parseTenantId } from "../../src/variants/target.js";

describe("the base URL", () => {
  describe("an accepted base URL", () => {
    test.each([
      ["https://a.example", "https://a.example"],
      ["https://a.example/", "https://a.example"],
      ["https://a.example/tenant-api", "https://a.example/tenant-api"],
      ["https://a.example:8443/x/y/", "https://a.example:8443/x/y"],
      ["https://a.example:443/", "https://a.example"],
      ["https://A.Example/X", "https://a.example/X"],
      ["https://a.example/x/../y", "https://a.example/y"],
      ["http://127.0.0.1:3000", "http://127.0.0.1:3000"],
      ["http://127.8.9.1", "http://127.8.9.1"],
      ["http://localhost:3000/", "http://localhost:3000"],
      ["http://x.localhost", "http://x.localhost"],
      ["http://[::1]:3000", "http://[::1]:3000"],
    ])("%s is read as %s", (given, parsed) => {
      expect(parseBaseUrl(given)).toBe(parsed);
    });

    test("plain http to another machine is accepted with allowInsecureHttp", () => {
      expect(parseBaseUrl("http://a.example", true)).toBe("http://a.example");
    });
  });

  describe("a refused base URL", () => {
    const refusalOf = (given: unknown) => {
      try {
        return parseBaseUrl(given);
      } catch (error) {
        return error;
      }
    };

    test.each([
      ...[undefined, "", "   ", 443, new URL("https://a.example"), "a.example", "/api"],
      ...["ftp://a.example", "javascript:alert(1)", "file:///etc/hosts"],
      ...["https://user@a.example", "https://user:pass-secret@a.example"],
      ...["https://a.example?key=pass-secret", "https://a.example/?"],
      ...["https://a.example/#pass-secret", "https://a.example#"],
      ...["https://a.example/{tenantId}", "https://a.example/%7BtenantId%7D"],
    ])("%s is invalid", (given) => {
      const error = refusalOf(given);
      const invalid = { name: "ConfigurationError", code: "base_url_invalid", option: "baseUrl" };
      expect(error).toMatchObject(invalid);
      expect((error as Error).message).not.toContain("pass-secret");
    });

    test.each([
      "http://a.example",
      // These only look like this machine.
      ...["http://127.0.0.1.example", "http://notlocalhost", "http://evil-localhost"],
      ...["http://localhost.", "http://localhost.evil.example"],
    ])("%s is insecure", (given) => {
      expect(refusalOf(given)).toMatchObject({ code: "base_url_insecure", option: "baseUrl" });
    });

    test("allowInsecureHttp allows no other scheme", () => {
      for (const given of ["ftp://a.example", "http://user:x@a.example", "http://a.example?x=1"])
        expect(() => parseBaseUrl(given, true)).toThrow(
          expect.objectContaining({ code: "base_url_invalid" }),
        );
    });
  });

  describe("the bearer is sent only under the base URL", () => {
    const isUnder = (url: string) => isUnderBase(new URL(url), "https://a.example/api");

    test.each([
      "https://a.example/api",
      "https://a.example/api/v1/devices",
      "https://a.example/api?x=1",
      "https://a.example:443/api/v1",
    ])("to %s", (url) => {
      expect(isUnder(url)).toBe(true);
    });
  });
});

describe("the tenant id", () => {
  describe("an accepted tenant id", () => {
    test.each(["ACME-2", "a", "a..b", "_x", "~x", "-x", "x".repeat(200)])("%s", (given) => {
      expect(parseTenantId(given)).toBe(given);
    });
  });

  const changesThePath = [
    ...[".", "..", "%2e", "%2e%2e", "%2E%2E", ".%2e", "a/b", "/acme", "../acme", "a%2fb", "a\\b"],
    ...["a?b", "a#b", "a%b", "a\nb", "a\tb", "a\0b", "a b", "{tenantId}", "..;", "..;x"],
  ];

  describe("a refused tenant id", () => {
    test.each([
      ...[undefined, null, 7, "", ".acme", "ängström", "a:b", "a@b", "a;b", ...changesThePath],
      // Full-width dots, and a trailing line break, which a bare $ would let through.
      ...["．．", "acme\n"],
    ])("%j", (given) => {
      expect(() => parseTenantId(given)).toThrow(
        expect.objectContaining({ code: "tenant_id_invalid", option: "tenantId" }),
      );
    });

    test("that is a number is said not to be a string", () => {
      expect(() => parseTenantId(7)).toThrow("tenantId is missing or not a string.");
      expect(() => parseBaseUrl(new URL("https://a.example"))).toThrow("not a string");
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

    test.each(changesThePath)("never allows %j", (given) => {
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
