/** The formats and patterns of JSON Schema that are checked, each in linear time. */

/** RFC 3339, full-date. */
function isDate(text: string): boolean {
  const [, year, month, day] = (/^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? []).map(Number);
  if (year === undefined || month === undefined || day === undefined) return false;
  // The last day of a month is day 0 of the next one. The years below 100 would be read as 19xx.
  const days = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
  return month >= 1 && month <= 12 && day >= 1 && day <= days;
}

const DATE_TIME =
  /^(\d{4}-\d\d-\d\d)[Tt\s](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)$/;

/** RFC 3339, date-time, with a leap second at the end of a day in UTC. */
function isDateTime(text: string): boolean {
  const found = DATE_TIME.exec(text);
  if (found === null || !isDate(found[1] ?? "")) return false;
  const [hour = 0, minute = 0, second = 0, offsetHour = 0, offsetMinute = 0] = [2, 3, 4, 6, 7].map(
    (index) => Number(found[index] ?? 0),
  );
  if (hour > 23 || minute > 59 || offsetHour > 23 || offsetMinute > 59) return false;
  const offset = (offsetHour * 60 + offsetMinute) * (found[5] === "-" ? -1 : 1);
  const minuteOfDay = (hour * 60 + minute - offset + 2880) % 1440;
  return second < 60 || (second === 60 && minuteOfDay === 1439);
}

function isIpv6(text: string): boolean {
  // Runtimes parse IPv6 addresses in URLs (WHATWG URL, section 3.5).
  return /^[0-9A-Fa-f:.]+$/.test(text) && text.includes(":") && URL.canParse(`http://[${text}]`);
}

const matches = (pattern: RegExp) => (text: string) => pattern.test(text);

/** Every other format is an annotation, as in JSON Schema itself. */
export const FORMATS: ReadonlyMap<unknown, (text: string) => boolean> = new Map([
  ["date", isDate],
  ["date-time", isDateTime],
  ["ipv4", matches(/^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/)],
  ["ipv6", isIpv6],
  ["email", isEmail],
  ["uuid", matches(/^(?:urn:uuid:)?[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$/)],
  ["uri", isUri],
]);

function isEmail(text: string): boolean {
  const [local = "", host = "", ...more] = text.split("@");
  const labels = host.split(".");
  const isLabel = (label: string) => /^[A-Za-z0-9-]{1,63}$/.test(label) && !/^-|-$/.test(label);
  return (
    /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+$/.test(local) &&
    more.length === 0 &&
    labels.length > 1 &&
    labels.every(isLabel)
  );
}

/** RFC 3986, section 3: scheme, authority, path, query and fragment, each by its own characters. */
const URI = /^[A-Za-z][A-Za-z0-9+.-]*:(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s;
const AUTHORITY =
  /^(?:(?:[\w.~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*@)?(?:\[[0-9A-Fa-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::\d*)?$/;
const PATH = /^(?:[\w.~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*$/;
const QUERY = /^(?:[\w.~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*$/;

function isUri(text: string): boolean {
  const [whole, authority = "", path = "", query = "", fragment = ""] = URI.exec(text) ?? [];
  if (whole === undefined) return false;
  return AUTHORITY.test(authority) && PATH.test(path) && QUERY.test(query) && QUERY.test(fragment);
}

/**
 * The regular expression of a pattern, or undefined if it is not one of ECMAScript. JSON Schema has
 * Unicode patterns, but many documents escape characters that need no escape, which only a pattern
 * without the flag `u` may do.
 */
export function patternOf(pattern: string): RegExp | undefined {
  // Each escape, and each character beyond the basic plane.
  const parts = pattern.match(/\\(?:[pPu]\{|.)|[\u{10000}-\u{10FFFF}]/gsu) ?? [];
  // These mean something else without the flag, and the escapes of other languages mere letters.
  const isSameWithoutUnicode = parts.every((part) =>
    /^\\(?:[bBcdDfnrsStvwWxu]|\W|\d|_)$/.test(part),
  );
  for (const flags of isSameWithoutUnicode ? ["u", ""] : ["u"]) {
    try {
      return new RegExp(pattern, flags);
    } catch {
      // Without the flag it may be legal.
    }
  }
  return undefined;
}
