// The compose file without containers: it parses, its parts refer to each other, and it sets what
// replica.ts reads.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";

interface Service {
  readonly image: string;
  readonly command: readonly string[];
  readonly depends_on?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}
const read = (name: string) => readFileSync(new URL(name, import.meta.url), "utf8");
const compose: { readonly services: Readonly<Record<string, Service>> } = parse(
  read("compose.yaml"),
);
const names = Object.keys(compose.services);
const known =
  "image command stdin_open working_dir volumes environment depends_on ports restart".split(" ");

test.each(Object.entries(compose.services))(
  "the service %s has an exact image and knows its neighbours",
  (_, service) => {
    expect(Object.keys(service).filter((key) => !known.includes(key))).toEqual([]);
    expect(service.image).toMatch(/^[a-z]+:\d+\.\d+-[a-z-]+$/);
    expect(names).toEqual(expect.arrayContaining([...(service.depends_on ?? [])]));
    const replica = service.command.indexOf("--replicaof");
    if (replica >= 0) expect(names).toContain(service.command[replica + 1]);
  },
);

test("the app gets what replica.ts reads, and three sentinels", () => {
  const { environment = {} } = compose.services.app ?? {};
  const sentinels = environment.SENTINELS?.split(",").map((node) => node.split(":")[0]);
  expect(sentinels).toEqual(names.filter((name) => name.startsWith("sentinel-")));
  const lists = [...read("replica.ts").matchAll(/^const \{([^}]*)\} = process\.env;$/gm)];
  const wanted = lists.flatMap(([, list = ""]) =>
    [...list.matchAll(/(?:^|,)\s*(\w+)/g)].map(([, name = ""]) => name),
  );
  expect(wanted.length).toBeGreaterThan(6);
  expect(Object.keys(environment)).toEqual(
    expect.arrayContaining(wanted.filter((name) => name !== "REDIS_URL")),
  );
});
