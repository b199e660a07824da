// Parameters on the wire: every form of OpenAPI 3.1.1, and what is rejected before anything is
// sent.
import fc from "fast-check";
import { parseTemplate } from "url-template";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { scriptedFetch } from "../support/fetch.js";
import { type RecordedRequest, recordingServer } from "../support/recording-server.js";
import { rejectionOf } from "../support/wait.js";
import { ownCall } from "./own-table.js";

type Place = "path" | "query" | "header" | "cookie";
const baseUrl = "https://service.example/prefix";

const isWellFormed = (text: string) => !/\p{Surrogate}/u.test(text);

/**
 * A parameter named `color`. In a path it follows a letter, so that the label of nothing is not a
 * dot segment.
 */
const row = (place: Place, form: object = {}) => ({
  path: place === "path" ? "/v1/x{color}" : "/v1/own",
  parameters: [{ in: place, name: "color", ...form }],
});
const paramsOf = (place: Place, color: unknown) => ({ params: { [place]: { color } } });

/** Calls in process, and returns the requests. */
function inProcess(rows: Record<string, object>) {
  const fetch = scriptedFetch(() => Response.json({}));
  return { call: ownCall(rows, baseUrl, { fetch }), sent: fetch.calls };
}

describe("the style examples of OpenAPI 3.1.1", () => {
  const values = {
    empty: "",
    string: "blue",
    array: ["blue", "black", "brown"],
    object: { R: 100, G: 200, B: 150 },
  };
  const na = "n/a";
  /**
   * The table in the section Parameter Object: place, style, explode, and what is sent for each
   * value. What is n/a there is rejected, and so is an empty segment, which leads to another route.
   * A deepObject is defined exploded only, so `explode: false`, its default, means nothing.
   */
  const rows = `
    path matrix false ;color ;color=blue ;color=blue,black,brown ;color=R,100,G,200,B,150
    path matrix true ;color ;color=blue ;color=blue;color=black;color=brown ;R=100;G=200;B=150
    path label false . .blue .blue,black,brown .R,100,G,200,B,150
    path label true . .blue .blue.black.brown .R=100.G=200.B=150
    path simple false n/a blue blue,black,brown R,100,G,200,B,150
    path simple true n/a blue blue,black,brown R=100,G=200,B=150
    header simple false (empty) blue blue,black,brown R,100,G,200,B,150
    header simple true (empty) blue blue,black,brown R=100,G=200,B=150
    query form false color= color=blue color=blue,black,brown color=R,100,G,200,B,150
    query form true color= color=blue color=blue&color=black&color=brown R=100&G=200&B=150
    cookie form false color= color=blue color=blue,black,brown color=R,100,G,200,B,150
    cookie form true color= color=blue color=blue&color=black&color=brown R=100&G=200&B=150
    query spaceDelimited false n/a n/a color=blue%20black%20brown color=R%20100%20G%20200%20B%20150
    query spaceDelimited true n/a n/a n/a n/a
    query pipeDelimited false n/a n/a color=blue%7Cblack%7Cbrown color=R%7C100%7CG%7C200%7CB%7C150
    query pipeDelimited true n/a n/a n/a n/a
    query deepObject true n/a n/a n/a color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150`;
  const cellsOf = (line: string) =>
    line.split(" ").map((cell) => (cell === "(empty)" ? "" : cell)) as [Place, ...string[]];
  const wireOf: Readonly<Record<Place, (request: RecordedRequest) => string | undefined>> = {
    path: ({ path }) => path.slice("/v1/x".length),
    query: ({ path }) => path.slice("/v1/own?".length),
    header: ({ headers }) => headers.color,
    cookie: ({ headers }) => headers.cookie,
  };

  test.each(rows.trim().split(/\n +/))("goes over the wire as the table says: %s", async (line) => {
    const [place, style, explode, ...expected] = cellsOf(line);
    const server = await recordingServer(() => ({ status: 200, body: "{}" }));
    const call = ownCall({ own: row(place, { style, explode: explode === "true" }) }, server.url);
    for (const [index, [kind, value]] of Object.entries(values).entries()) {
      server.requests.length = 0;
      const sending = call("own", paramsOf(place, value));
      if (expected[index] === na) {
        expect(await rejectionOf(sending), kind).toMatchObject({ option: `params.${place}.color` });
        expect(server.requests).toEqual([]);
      } else {
        expect(await sending).toMatchObject({ ok: true });
        expect(server.requests.map(wireOf[place]), kind).toEqual([expected[index]]);
      }
    }
  });

  test("the default of each place is that of the specification when the table does not name a form", async () => {
    const { call, sent } = inProcess({ own: { path: "/v1/{color}" } });
    const places = ["path", "query", "header", "cookie"];
    for (const color of [values.array, values.object])
      await call("own", {
        params: Object.fromEntries(places.map((place) => [place, { color }])),
      });
    const [array, object] = ["blue,black,brown", "R,100,G,200,B,150"];
    const pairs = "color=blue&color=black&color=brown";
    expect(
      sent.map(({ url, headers }) => [url, headers.get("color"), headers.get("cookie")]),
    ).toEqual([
      [`${baseUrl}/v1/${array}?${pairs}`, array, pairs],
      [`${baseUrl}/v1/${object}?R=100&G=200&B=150`, object, "R=100&G=200&B=150"],
    ]);
  });

  test("a deepObject whose explode the document leaves out is exploded", async () => {
    const { call, sent } = inProcess({ own: row("query", { style: "deepObject" }) });
    await call("own", paramsOf("query", values.object));
    expect(sent[0]?.url).toBe(
      `${baseUrl}/v1/own?color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150`,
    );
  });
});

describe("url-template", () => {
  const unusual = fc.string({ unit: "binary", minLength: 1, maxLength: 8 }).filter(isWellFormed);
  const scalar = fc.oneof(unusual, fc.integer(), fc.boolean());
  const members = fc.dictionary(unusual, scalar, { minKeys: 1, maxKeys: 3, noNullPrototype: true });
  const value = fc.oneof(scalar, fc.array(scalar, { minLength: 1, maxLength: 3 }), members);

  test.each([
    { place: "path", style: "simple", operator: "" },
    { place: "path", style: "label", operator: "." },
    { place: "path", style: "matrix", operator: ";" },
    { place: "query", style: "form", operator: "?" },
  ] as const)(
    "writes $place $style as this package does, whatever the value",
    async ({ place, style, operator }) => {
      const property = async (color: unknown, explode: boolean) => {
        const { call, sent } = inProcess({ own: row(place, { style, explode }) });
        await call("own", paramsOf(place, color)).catch((error: { readonly code: string }) => {
          // The guard against segments that proxies fold is stricter than the template.
          expect(error.code).toBe("path_parameter_invalid");
        });
        const expected = parseTemplate(`{${operator}color${explode ? "*" : ""}}`).expand({
          color,
        } as never);
        for (const { url } of sent)
          expect(url).toBe(`${baseUrl}${place === "path" ? "/v1/x" : "/v1/own"}${expected}`);
      };
      await fc.assert(fc.asyncProperty(value, fc.boolean(), property), { numRuns: 60 });
    },
  );
});

describe("the lazy part", () => {
  const text = fc.string({ unit: "binary", maxLength: 6 }).filter(isWellFormed);
  const scalar = fc.oneof(text, fc.double(), fc.boolean(), fc.bigInt(), fc.constant(null));
  const value = fc.oneof(scalar, fc.array(scalar, { maxLength: 3 }), fc.constant(undefined));
  const init = fc.record({
    path: fc.dictionary(fc.constantFrom("one", "two"), value, { noNullPrototype: true }),
    query: fc.dictionary(text, value, { maxKeys: 3, noNullPrototype: true }),
    body: fc.oneof(
      fc.json().map((one) => JSON.parse(one) as unknown),
      fc.constant(undefined),
      fc.dictionary(text, value),
    ),
  });

  test.each([undefined, "application/json"])(
    "writes and rejects what most calls send as the first part does, for a body of %s",
    async (contentType) => {
      const row = { method: "POST", path: "/v1/{one}/x{two}", ...(contentType && { contentType }) };
      const property = async ({ body, ...params }: { body: unknown; path: object }) => {
        const [usual, any] = await Promise.all(
          // No cookie is a cookie parameter too, and those are for the lazy part.
          [{}, { cookie: {} }].map(async (more) => {
            const { call, sent } = inProcess({ own: row });
            const error = await call("own", { params: { ...params, ...more }, body }).then(
              () => {},
              String,
            );
            return {
              error,
              sent: sent.map(({ url, headers, body }) => ({ url, body, headers: [...headers] })),
            };
          }),
        );
        expect(usual).toEqual(any);
      };
      await fc.assert(fc.asyncProperty(init, property), { numRuns: 100 });
    },
  );
});

describe("names and values", () => {
  const query = (values: object, parameters?: object[]) => {
    const { call, sent } = inProcess({ own: { parameters } });
    return call("own", { params: { query: values } }).then(
      () => sent[0]?.url.match(/\?(.*)/s)?.[1],
    );
  };

  test("a query that a server decodes has the names and values that were passed", async () => {
    const text = fc.string({ unit: "binary", minLength: 1 }).filter(isWellFormed);
    const property = async (name: string, value: string) => {
      const decoded = [...new URLSearchParams(await query({ [name]: value }))];
      expect(decoded).toEqual([[name, value]]);
    };
    await fc.assert(fc.asyncProperty(text, text, property), { numRuns: 60 });
  });

  test.each<[name: string, value: unknown, sent: string | undefined]>([
    ["a bigint", 2n ** 64n, "q=18446744073709551616"],
    ["a boolean", false, "q=false"],
    ["a date, as in JSON", new Date(0), "q=1970-01-01T00%3A00%3A00.000Z"],
    ["a list of dates", [new Date(0)], "q=1970-01-01T00%3A00%3A00.000Z"],
    ["undefined", undefined, undefined],
    ["null", null, undefined],
    ["an empty list", [], undefined],
    ["an empty object", {}, undefined],
    ["a list with undefined and null", ["a", undefined, null, "b"], "q=a&q=b"],
    ["a list with an empty text", ["", "b"], "q=&q=b"],
    ["an object with undefined and null", { a: undefined, b: null, c: 0 }, "c=0"],
    ["the characters that encodeURIComponent leaves", "!'()*", "q=%21%27%28%29%2A"],
  ])("%s in a query is sent as in the table", async (_name, value, sent) => {
    expect(await query({ q: value })).toBe(sent);
  });

  test("parameters are joined, and one that has no value leaves nothing behind", async () => {
    expect(await query({ a: 1, b: undefined, c: [], d: "" })).toBe("a=1&d=");
    expect(await query({ "a[b]": 1, ä: 2, $top: 3 })).toBe("a%5Bb%5D=1&%C3%A4=2&%24top=3");
  });

  test("allowReserved has no effect in a path, where a slash would add a segment", async () => {
    const { call, sent } = inProcess({ own: row("path", { allowReserved: true }) });
    await call("own", paramsOf("path", "a/b?c"));
    expect(sent[0]?.url).toBe(`${baseUrl}/v1/xa%2Fb%3Fc`);
  });

  test("allowReserved keeps reserved characters and percent-encoded triples, but nothing that ends a value", async () => {
    const reserved = [{ in: "query", name: "q", allowReserved: true }];
    const value = ":/?@!$'()*,; [a] 50% %2F %zz #&=+";
    const expected = "q=:/?@!$'()*,;%20%5Ba%5D%2050%25%20%2F%20%25zz%20%23%26%3D%2B";
    expect(await query({ q: value }, reserved)).toBe(expected);
    // The example of appendix C, with the delimiters that it asks to encode.
    const formulas = { a: "x+y", b: "x/y", c: "x^y" };
    const exploded = [{ in: "query", name: "formulas", allowReserved: true }];
    expect(await query({ formulas }, exploded)).toBe("a=x%2By&b=x/y&c=x%5Ey");
  });

  test("a parameter with content is JSON or text, percent-encoded in a URL", async () => {
    const json = { name: "filter", content: "application/json" };
    const parameters = [
      ...["path", "query", "header", "cookie"].map((place) => ({ in: place, ...json })),
      { in: "query", name: "text", content: "text/plain" },
      { in: "cookie", name: "plain", content: "text/plain" },
    ];
    const { call, sent } = inProcess({ own: { path: "/v1/{filter}", parameters } });
    const filter = { a: ["ä"] };
    const query = { filter: [], text: "a b" };
    const cookie = { filter, plain: "a=b%20" };
    await call("own", { params: { path: { filter }, query, header: { filter }, cookie } });
    const [request] = sent;
    expect(request?.url).toBe(
      `${baseUrl}/v1/%7B%22a%22%3A%5B%22%C3%A4%22%5D%7D?filter=%5B%5D&text=a%20b`,
    );
    expect(request?.headers.get("filter")).toBe('{"a":["\\u00e4"]}');
    expect(request?.headers.get("cookie")).toBe(
      "filter=%7B%22a%22%3A%5B%22%C3%A4%22%5D%7D; plain=a=b%20",
    );
  });

  test("a header parameter is found whatever its case, and its value is not encoded", async () => {
    const parameters = [{ in: "header", name: "X-Color", explode: true }];
    const { call, sent } = inProcess({ own: { parameters } });
    const header = { "x-color": { "a b": 1, c: "d/e" }, "x-other": ["1", 2] };
    await call("own", { params: { header } });
    expect(sent[0]?.headers.get("x-color")).toBe("a b=1,c=d/e");
    expect(sent[0]?.headers.get("x-other")).toBe("1,2");
  });

  test("cookies follow those of the header cookie, and each is encoded", async () => {
    const { call, sent } = inProcess({ own: {} });
    const cookie = { "a.b": "x; y=1", c: ["1", "2"], none: undefined };
    await call("own", { params: { cookie }, headers: { Cookie: "own=1" } });
    await call("own", { params: { cookie: {} } });
    expect(sent.map(({ headers }) => headers.get("cookie"))).toEqual([
      "own=1; a.b=x%3B%20y%3D1; c=1&c=2",
      null,
    ]);
  });
});

test.each([
  { path: "/v1/own?view={view}&x=1", sent: "/v1/own?view=a%26b&x=1&q=c" },
  { path: "/v1/own/{view}#Action=List", sent: "/v1/own/a%26b?q=c" },
  { path: "/v1/own?x=1#y", sent: "/v1/own?x=1&q=c" },
])("a path $path with a query or a fragment is sent as $sent", async ({ path, sent }) => {
  const server = await recordingServer(() => ({ status: 200, body: "{}" }));
  const call = ownCall({ own: { path } }, server.url);
  const view = path.includes("{view}") ? { path: { view: "a&b" } } : {};
  await call("own", { params: { ...view, query: { q: "c" } } });
  await call("own", { params: view });
  expect(server.requests.map((request) => request.path)).toEqual([
    sent,
    sent.replace(/[&?]q=c/, ""),
  ]);
});

describe("nothing is sent for", () => {
  const nested = { a: { b: 1 } };
  const deep = { style: "deepObject" };
  const text = { content: "text/plain" };
  const noText = {
    place: "query",
    says: "params.query.color holds NaN, Infinity or an inv",
  } as const;
  const noUrl = { place: "query", says: "params.query.color holds half a surrogate pair" } as const;
  const tooDeep = (style: string, remedy = " Pass querySerializer to write it.") => ({
    says: `must hold text and numbers only: the style ${style} nests no lists or objects.${remedy}`,
  });
  const inCookie = { place: "cookie", form: text, option: "params.cookie" } as const;
  const delimited = { place: "query", says: "delimiter" } as const;
  const json = { content: "application/json" };
  interface Refused {
    readonly name: string;
    readonly place: Place;
    readonly value: unknown;
    readonly form?: object;
    readonly option?: string;
    readonly says?: string;
  }
  test.each<Refused>([
    {
      place: "query",
      ...tooDeep("deepObject"),
      name: "an object in an object",
      value: nested,
      form: deep,
    },
    { place: "query", ...tooDeep("form"), name: "a list in a list", value: [["a"]] },
    { ...noUrl, name: "half a surrogate pair", value: "\ud800" },
    { ...noUrl, name: "half a surrogate pair in a name", value: { "\ud800": 1 } },
    { ...noText, name: "NaN", value: Number.NaN },
    { ...noText, name: "an invalid date in a list", value: [new Date(Number.NaN)] },
    { place: "query", ...tooDeep("form"), name: "a function", value: () => "x" },
    { place: "query", name: "a Map", value: new Map([["a", 1]]), says: "how form writes such" },
    { place: "query", name: "bytes", value: new Uint8Array(2), says: "how form writes such" },
    { ...tooDeep("simple", ""), place: "header", name: "nested objects", value: nested },
    { ...tooDeep("form", ""), place: "cookie", name: "nested objects", value: nested },
    { place: "cookie", name: "half a surrogate pair", value: "\ud800", says: "half a surrogate" },
    { ...inCookie, name: "a semicolon in text/plain", value: "a; b=c" },
    { ...inCookie, name: "a line break in text/plain", value: "a\r\nb: c" },
    { ...inCookie, name: "a character beyond Latin-1 in text/plain", value: "€" },
    { place: "header", name: "a line break", value: "a\r\nb: c", option: "headers" },
    { place: "header", name: "a comma in a list", value: ["a,b"], says: "delimiter" },
    { ...delimited, name: "a space in a value", value: ["a b"], form: { style: "spaceDelimited" } },
    {
      ...delimited,
      name: "a pipe in a name",
      value: { "a|b": 1 },
      form: { style: "pipeDelimited" },
    },
    { ...delimited, name: "a bracket in a name", value: { "a]": 1 }, form: deep },
    { place: "query", name: "a list", value: [1], form: deep, says: "not define how deepObject" },
    { place: "query", name: "an object for text", value: {}, form: text, says: "text/plain" },
    {
      place: "query",
      name: "what is not JSON",
      value: { a: 1n },
      form: json,
      says: "must be JSON",
    },
  ])("$name in a $place", async ({ place, form, value, option, says = "" }) => {
    const { call, sent } = inProcess({ own: row(place, form) });
    expect(await rejectionOf(call("own", paramsOf(place, value)))).toMatchObject({
      code: "option_invalid",
      option: option ?? `params.${place}.color`,
      message: expect.stringContaining(says),
    });
    expect(sent).toEqual([]);
  });

  const missing = "path_parameter_missing";
  test.each<{ name: string; value: unknown; form?: object; code?: string }>([
    { name: "dots under a label", value: "", form: { style: "label" } },
    { name: "a dot under a label", value: ".", form: { style: "label" } },
    { name: "an empty label, exploded", value: ["", ""], form: { style: "label", explode: true } },
    { name: "dots in a list", value: [".."], form: { explode: true } },
    { name: "dots in a matrix that a slash follows", value: "/../x", form: { style: "matrix" } },
    { name: "dots in text/plain", value: "a/../b", form: text },
    { name: "dots with reserved characters", value: "..", form: { allowReserved: true } },
    { name: "nothing in a matrix", value: [], form: { style: "matrix" }, code: missing },
    { name: "nothing under a label", value: null, form: { style: "label" }, code: missing },
    { name: "an empty text", value: "", code: missing },
    { name: "nested lists", value: [[1]], form: { style: "matrix" } },
  ])("$name in a path", async ({ form, value, code = "path_parameter_invalid" }) => {
    const { call, sent } = inProcess({ own: { ...row("path", form), path: "/v1/{color}" } });
    const error = await rejectionOf(call("own", paramsOf("path", value)));
    expect(error).toMatchObject({ name: "ConfigurationError", code, option: "params.path.color" });
    expect(sent).toEqual([]);
  });

  test.each([
    { query: new URLSearchParams({ a: "b" }) },
    { query: null },
    { cookie: new Map([["a", "b"]]) },
  ])("a place that is not an object of values: %o", async (params) => {
    const { call, sent } = inProcess({ own: {} });
    const refused = { code: "option_invalid", option: `params.${Object.keys(params)[0]}` };
    expect(await rejectionOf(call("own", { params }))).toMatchObject(refused);
    expect(sent).toEqual([]);
  });

  test("a path that would continue the host name", async () => {
    const { call, sent } = inProcess({ own: { path: "@evil.example/x" } });
    expect(await rejectionOf(call("own"))).toMatchObject({ code: "option_invalid" });
    expect(sent).toEqual([]);
  });

  test.each(["query", "header", "cookie"] as const)(
    "a required parameter of the %s that is missing",
    async (place) => {
      const parameters = [{ in: place, name: "X-One", required: true }];
      const { call, sent } = inProcess({ own: { parameters } });
      const option = `params.${place}.X-One`;
      const message = `${option} is missing, but own requires it.`;
      const values = [undefined, null, [], [null], { a: undefined }];
      for (const params of [{}, ...values.map((none) => ({ [place]: { "X-One": none } }))]) {
        const error = await rejectionOf(call("own", { params }));
        expect(error).toMatchObject({ code: "option_invalid", option, message });
      }
      expect(sent).toEqual([]);
      for (const value of ["", 0, false, new Date(0)])
        await call("own", { params: { [place]: { "X-One": value } } });
      expect(sent).toHaveLength(4);
    },
  );

  test("a required header or cookie is not missing when `headers` have it", async () => {
    const parameters = [
      { in: "header", name: "X-One", required: true },
      { in: "cookie", name: "sid", required: true },
    ];
    const { call, sent } = inProcess({ own: { parameters } });
    await call("own", { headers: { "x-one": "1", cookie: "a=b; sid=2" } });
    expect(sent).toHaveLength(1);
    const error = await rejectionOf(call("own", { headers: { "x-one": "1", cookie: "asid=2" } }));
    expect(error).toMatchObject({ option: "params.cookie.sid" });
  });

  test("a cookie where the runtime forbids the header, as browsers do", async () => {
    const { call, sent } = inProcess({ own: row("cookie") });
    class BrowserRequest extends Request {
      override readonly headers = new Headers();
    }
    vi.stubGlobal("Request", BrowserRequest);
    onTestFinished(() => void vi.unstubAllGlobals());
    const error = await rejectionOf(call("own", paramsOf("cookie", "blue")));
    const message = expect.stringContaining("cannot be sent from a browser");
    expect(error).toMatchObject({ code: "option_invalid", option: "params.cookie", message });
    expect(sent).toEqual([]);
  });
});

describe("querySerializer", () => {
  const own = {
    own: { parameters: [{ in: "query", name: "a", required: true, style: "pipeDelimited" }] },
  };

  test("as a function writes the whole query, with or without a question mark", async () => {
    const { call, sent } = inProcess(own);
    const query = { a: { b: { c: 1 } } };
    for (const prefix of ["", "?"]) {
      const querySerializer = (all: unknown) => `${prefix}all=${JSON.stringify(all)}`;
      await call("own", { params: { query }, querySerializer });
    }
    const written = 'all={"a":{"b":{"c":1}}}';
    expect(sent.map(({ url }) => url.split("?")[1])).toEqual([written, written]);
  });

  test.each([7, null, () => 7, () => "a=b#c", () => "a=\ud800", { allowReserved: true }])(
    "that is %s is rejected",
    async (querySerializer) => {
      const { call, sent } = inProcess(own);
      const error = await rejectionOf(
        call("own", { params: { query: { a: "1#2" } }, querySerializer }),
      );
      expect(error).toMatchObject({ code: "option_invalid", option: "querySerializer" });
      expect(sent).toEqual([]);
    },
  );

  test.each([
    { name: "half a surrogate pair", query: { a: "\ud800" } },
    { name: "a list in a list", query: { a: [[1]] } },
  ])("as options rejects $name", async ({ query }) => {
    const { call, sent } = inProcess(own);
    const init = { params: { query }, querySerializer: { allowReserved: false } };
    const error = await rejectionOf(call("own", init));
    expect(error).toMatchObject({ code: "option_invalid", option: "params.query" });
    expect(sent).toEqual([]);
  });
});
