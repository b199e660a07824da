// Whether a value that somebody hands over in-process can be written as JSON.
import { z } from "zod";

export function isJson(value: unknown): boolean {
  try {
    // First what would never end: an object that contains itself.
    JSON.stringify(value);
  } catch {
    return false;
  }
  return z.json().safeParse(value).success;
}
