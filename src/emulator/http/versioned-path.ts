// Finds the path that a request means which leaves the version out of it (description, section 9).

/** A path under the public URL that is served, and the tenant it names. */
export interface VersionedPath {
  readonly path: string;
  readonly tenantId: string | undefined;
}

/** Both variants' paths with the segment v1 in its place. */
const VERSIONED = /^\/(api\/)?v1\//;

export class VersionedPaths {
  readonly #served: RegExp[] = [];
  readonly #servedWithout: RegExp[] = [];

  /** A path that is served, with `{parameters}`. */
  add(path: string): void {
    const literal = path.replace(/[.*+?^$()|[\]\\]/g, "\\$&");
    const pattern = literal.replace("{tenantId}", "(?<tenantId>[^/]+)").replace(/\{[^}]+\}/g, "[^/]+");
    const served = VERSIONED.test(path) ? this.#served : this.#servedWithout;
    served.push(new RegExp(`^${pattern}$`));
  }

  /** Undefined: the path has its version, or is served with none either. */
  find(path: string): VersionedPath | undefined {
    if (VERSIONED.test(path) || this.#servedWithout.some((served) => served.test(path))) return undefined;
    for (const candidate of [path.replace(/^\/api\//, "/api/v1/"), `/v1${path}`]) {
      const match = this.#served.map((served) => served.exec(candidate)).find((found) => found !== null);
      if (match) return { path: candidate, tenantId: match.groups?.tenantId };
    }
    return undefined;
  }
}
