// Compares a survey with the loop that one writes by hand: detectVariant, connect and a call, some
// customers at a time.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { exportPKCS8, generateKeyPair } from "jose";
import pLimit from "p-limit";
import type { MachineCredential } from "../../../src/index.js";
import { type Cost, costOf, inWords, medianCost, type Row, sample, shuffled } from "../measure.js";

/** Customers of each side in a sample, half of each variant. */
const CUSTOMERS = 200;
const CONCURRENCY = 16;

interface Customer {
  readonly baseUrl: string;
  readonly tenantId: string;
  readonly aClientId?: string;
  readonly aPrivateKeyFile?: string;
  readonly bClientId?: string;
  readonly bClientSecretFile?: string;
}

const refused = (error: string, error_description?: string) =>
  Response.json({ error, error_description }, { status: 400 });

/**
 * Answers as deployments of each variant do, told apart by their host. Bodies are read as fetch
 * would read them.
 */
async function answer(url: string, init?: { readonly body?: unknown }): Promise<Response> {
  const body = String(init?.body ?? "");
  const isOfA = url.startsWith("https://a");
  if (url.endsWith("/devices")) return Response.json([{ id: "one" }]);
  const isKnown = isOfA
    ? url.endsWith("/external-plugin/oauth/token")
    : url.endsWith("/v1/auth/token");
  if (!isKnown) return Response.json({ message: "not found" }, { status: 404 });
  if (/client_assertion=|"client_secret"/.test(body))
    return Response.json({ access_token: "token", token_type: "Bearer", expires_in: 3600 });
  return isOfA
    ? refused("unsupported_grant_type", "The token request was rejected")
    : refused("unsupported_grant_type");
}

type Side = (customers: readonly Customer[]) => Promise<number>;

async function sidesOf({ main, folder }: { readonly main: string; readonly folder: string }) {
  const client = (await import(main)) as typeof import("../../../src/index.js");
  const entry = join(folder, "dist/src/survey/index.js");
  const { survey } = (await import(entry)) as typeof import("../../../src/survey/index.js");
  const { connect, detectVariant, serviceAccount, servicePlugin } = client;
  const ours: Side = async (customers) => {
    let working = 0;
    for await (const { works } of survey(customers, { fetch: answer, concurrency: CONCURRENCY }))
      if (works) working++;
    return working;
  };
  const byHand: Side = async (customers) => {
    const limit = pLimit(CONCURRENCY);
    // The customers share a key, which is imported once.
    const known = new Map<string, MachineCredential>();
    const one = async (customer: Customer) => {
      const {
        baseUrl,
        tenantId,
        aClientId,
        aPrivateKeyFile,
        bClientId = "",
        bClientSecretFile = "",
      } = customer;
      const signal = AbortSignal.timeout(120_000); // the most time for one customer, as in a survey
      const { served } = await detectVariant({ baseUrl, tenantId, fetch: answer, signal });
      const variant = served.A === "yes" ? "A" : "B";
      const secret = await readFile(aPrivateKeyFile ?? bClientSecretFile, "utf8");
      const name = JSON.stringify([aClientId, bClientId, secret]);
      const credential =
        known.get(name) ??
        (aClientId === undefined
          ? serviceAccount({ clientId: bClientId, clientSecret: secret })
          : servicePlugin({ clientId: aClientId, privateKey: secret }));
      known.set(name, credential);
      const credentials = [credential];
      const service = await connect({
        baseUrl,
        tenantId,
        variant,
        credentials,
        fetch: answer,
        signal,
      });
      return (await service.call("listDevices", { signal })).ok;
    };
    const results = await Promise.all(
      customers.map((customer) => limit(() => one(customer).catch(() => false))),
    );
    return results.filter((works) => works).length;
  };
  return { ours, byHand };
}

/**
 * The ratio is that of processor time, for the reason that `first-tokens` gives: signatures keep
 * every core busy.
 */
export const surveyRate: Row = {
  name: "survey-rate",
  title:
    "a survey of customers of both variants, who share a key, against detectVariant, " +
    `connect and a call with p-limit, ${CONCURRENCY} at a time`,
  unit: "times",
  aim: 1,
  seconds: 10,
  async measure(build, limit) {
    const folder = mkdtempSync(join(build.folder, "survey-"));
    const [aPrivateKeyFile, bClientSecretFile] = [join(folder, "key.pem"), join(folder, "secret")];
    const { privateKey } = await generateKeyPair("RS256", { extractable: true });
    writeFileSync(aPrivateKeyFile, await exportPKCS8(privateKey));
    writeFileSync(bClientSecretFile, "secret");
    const customers = Array.from({ length: CUSTOMERS }, (_, index): Customer => {
      const tenantId = `t${index}`;
      return index % 2 === 0
        ? { baseUrl: `https://a${index}.example`, tenantId, aClientId: "bench", aPrivateKeyFile }
        : { baseUrl: `https://b${index}.example`, tenantId, bClientId: "bench", bClientSecretFile };
    });
    const sides = await sidesOf(build);
    const costs = { ours: [] as Cost[], byHand: [] as Cost[] };
    const round = async (): Promise<number> => {
      for (const name of shuffled(["ours", "byHand"] as const)) {
        let working = 0;
        const { cpuMs, wallMs } = await costOf(async () => {
          working = await sides[name](customers);
        });
        if (working !== CUSTOMERS)
          throw new Error(`${name} found ${working} of ${CUSTOMERS} working`);
        costs[name].push({ cpuMs: cpuMs / CUSTOMERS, wallMs: wallMs / CUSTOMERS });
      }
      return (costs.ours.at(-1)?.cpuMs ?? Number.NaN) / (costs.byHand.at(-1)?.cpuMs ?? Number.NaN);
    };
    try {
      for (let warmUp = 0; warmUp < 3; warmUp++) await round();
      for (const side of Object.values(costs)) side.length = 0;
      const interval = await sample(round, limit);
      const [ours, byHand] = [medianCost(costs.ours), medianCost(costs.byHand)];
      return { ...interval, ours: inWords(ours), theirs: inWords(byHand) };
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};
