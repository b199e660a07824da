// How a received value stands in the customer's log.
import { expect, test } from "vitest";
import { shown, shownClientId, shownKeyId, shownUri } from "../../src/emulator/shown.js";

const rows: { name: string; value: unknown; text: string }[] = [
  { name: "nothing reads absent", value: undefined, text: "absent" },
  { name: "a short string is quoted", value: 'a "b"', text: '"a \\"b\\""' },
  { name: "a token URL is quoted", value: "http://h.example/x", text: '"http://h.example/x"' },
  {
    name: "a JWT is described, however short",
    value: "eyJhbGciOiJub25lIn0.e30.",
    text: "a string of length 24",
  },
  {
    name: "a JWT inside other text is described",
    value: "Bearer eyJh.e30.c2ln",
    text: "a string of length 20",
  },
  { name: "a string of 201 characters is described", value: "x".repeat(201), text: "a string of length 201" },
  {
    name: "what may be a code or a token is described",
    value: "OhWV1FoODWwUYFsdAyZcJ3LQSwbN18X6Nz9IdyrEm30",
    text: "a string of length 43",
  },
  {
    name: "a verifier with dots and tildes is described",
    value: "Oh.V1FoODWw~YFsdAyZcJ3L.SwbN18X6Nz9.dyrEm30",
    text: "a string of length 43",
  },
  {
    name: "a verifier in the path of a URL is described",
    value: "http://h.example/Oh.V1FoODWw~YFsdAyZcJ3L.SwbN18X6Nz9.dyrEm30",
    text: "a string of length 60",
  },
  {
    name: "a verifier before the host of a URL is described",
    value: "http://Oh.V1FoODWw~YFsdAyZcJ3L.SwbN18X6Nz9.dyrEm30@h.example/",
    text: "a string of length 61",
  },
  {
    name: "a token URL of a host with a long name is quoted",
    value: "https://staging-7.emulator.internal.services.customer.example:8443/x",
    text: '"https://staging-7.emulator.internal.services.customer.example:8443/x"',
  },
  {
    name: "a UUID is quoted",
    value: "0b8a5b1e-9d0c-4d5b-8d8e-3f6a2c1b7e90",
    text: '"0b8a5b1e-9d0c-4d5b-8d8e-3f6a2c1b7e90"',
  },
  { name: "control characters are described", value: "a\nb", text: "a string of length 3" },
  { name: "a number is itself", value: 1.5, text: "1.5" },
  { name: "null is itself", value: null, text: "null" },
  { name: "an array is counted", value: ["secret"], text: "an array of 1" },
  { name: "an object is named", value: { secret: 1 }, text: "an object" },
];

test.each(rows)("$name", ({ value, text }) => {
  expect(shown(value)).toBe(text);
});

test("a kid is quoted even if it is a thumbprint", () => {
  const thumbprint = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs";
  expect(shownKeyId(thumbprint)).toBe(`"${thumbprint}"`);
});

test.each(["reporter", "plugin-2", "Acme.reports_eu-1", "com.example.device-list"])(
  "the client_id %j is quoted though nobody registered it",
  (value) => {
    expect(shownClientId(value)).toBe(`"${value}"`);
  },
);

test.each(["open sesame", "s3cr3t", "gT7qLw92", "AKIAIOSFODNN", "0b8a5b1e-9d0c-4d5b-8d8e-3f6a2c1b7e90"])(
  "the client_id %j is described: it may be a secret",
  (value) => {
    expect(shownClientId(value)).toBe(`a string of length ${value.length}`);
  },
);

test("of URIs only what is one is quoted", () => {
  const values = ["https://a.example/x", "urn:a:b", "open sesame", "", undefined];
  expect(values.map(shownUri)).toEqual(['"https://a.example/x"', '"urn:a:b"', "no URI", "absent", "absent"]);
});
