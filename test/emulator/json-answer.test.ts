// The answers whose text is at hand are Responses in every respect, read or not.
import { expect, test } from "vitest";
import { JsonAnswer, jsonAnswer, wholeOf } from "../../src/emulator/http/json-answer.js";
import { createEmulator } from "../../src/emulator/index.js";

const VALUE = { error: "invalid_grant" };
const TEXT = JSON.stringify(VALUE);
const answer = (): Response => jsonAnswer(VALUE, { status: 400, headers: { pragma: "no-cache" } });

const readings: { name: string; read: (response: Response) => Promise<string> }[] = [
  { name: "text", read: (response) => response.text() },
  { name: "json", read: async (response) => JSON.stringify(await response.json()) },
  { name: "arrayBuffer", read: async (response) => Buffer.from(await response.arrayBuffer()).toString() },
  { name: "blob", read: async (response) => (await response.blob()).text() },
  { name: "body", read: (response) => new Response(response.body).text() },
  { name: "clone", read: (response) => response.clone().text() },
  { name: "a Response made of it", read: (response) => new Response(response.body, response).text() },
];

test.each(readings)("it is read by $name, and has status and headers", async ({ read }) => {
  const response = answer();
  expect(response).toBeInstanceOf(Response);
  expect(await read(response)).toBe(TEXT);
  expect([response.status, response.headers.get("pragma"), response.headers.get("content-type")]).toEqual([
    400,
    "no-cache",
    "application/json",
  ]);
});

test("its body is read once, and a clone's besides", async () => {
  const response = answer();
  const clone = response.clone();
  expect(response.bodyUsed).toBe(false);
  await response.text();
  expect(response.bodyUsed).toBe(true);
  await expect(response.text()).rejects.toThrow(TypeError);
  expect(await clone.text()).toBe(TEXT);
});

test("a header that is set after it was read is set all the same", async () => {
  const response = answer();
  await response.text();
  response.headers.set("date", "today");
  expect([response.headers.get("date"), wholeOf(response).headers.get("date")]).toEqual(["today", "today"]);
});

test("its text is at hand until somebody reads it", async () => {
  const response = answer() as JsonAnswer;
  expect(response.unread).toBe(TEXT);
  await response.clone().text();
  expect(response.unread).toBe(TEXT);
  await response.text();
  expect(response.unread).toBeUndefined();
});

test("what leaves the emulator in-process is a Response of the platform's own class", async () => {
  const response = await createEmulator().fetch("/v1/auth/token", { method: "POST" });
  expect(response).not.toBeInstanceOf(JsonAnswer);
  expect(Object.getPrototypeOf(response)).toBe(Response.prototype);
});
