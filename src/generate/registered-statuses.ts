/** Every status code of the IANA HTTP Status Code Registry (100 to 511), the unused 306 and 418 included. */
export const REGISTERED_STATUSES: readonly number[] = [
  ...range(100, 104),
  ...range(200, 208),
  226,
  ...range(300, 308),
  ...range(400, 418),
  ...range(421, 426),
  428,
  429,
  431,
  451,
  ...range(500, 508),
  510,
  511,
];

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
