// Which answers can have a body.

/** RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5. */
const WITHOUT_CONTENT = [204, 205, 304];

export function canHaveContent(status: number): boolean {
  return !WITHOUT_CONTENT.includes(status);
}

/** The status for the same answer with a body. */
export function statusWithContent(status: number): number {
  return canHaveContent(status) ? status : 200;
}
