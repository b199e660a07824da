// Rows of the table of negative requests, and more requests of pages, each with one request
// mutated.
import fc from "fast-check";
import { EmulatorError } from "../../../src/emulator/index.js";
import { FlowEnded, pluginKey } from "../deployment.js";
import type { FormBrowser } from "../form-browser.js";
import { atConsent, atLogin, signedIn, submitted } from "../negative/pages.js";
import type { Request as Play } from "../negative/row.js";
import { topics } from "../negative/table.js";
import { PASSWORDS, World } from "../negative/world.js";
import { flawIn } from "./answers.js";
import { type Mutation, mutate, mutation } from "./mutations.js";

interface Flow {
  readonly name: string;
  readonly request: Play;
}

const reload = (browser: FormBrowser, path: string) =>
  browser.request(`${path}?request=${browser.hidden().request}`);
const more: Readonly<Record<string, Play>> = {
  "the login page again": async (world) => reload(await atLogin(world), "/v1/auth/login"),
  "the consent page again": async (world) => reload(await atConsent(world), "/v1/auth/consent"),
  "the host application": (world) => world.send("/host/acme"),
  "a sign-out": async (world) => (await submitted(await signedIn(world), {})).response,
};
const pages: readonly Flow[] = Object.entries(more).map(([name, request]) => ({ name, request }));
const groups: readonly (readonly Flow[])[] = [...topics.map(({ rows }) => rows), pages];

export interface Seen {
  requests: number;
  readonly operations: Set<string>;
  readonly rules: Set<string>;
}

/** Sends at least this many requests. A failure prints its seed and the shrunk mutations. */
export async function fuzz(requests: number): Promise<Seen> {
  const seen: Seen = { requests: 0, operations: new Set(), rules: new Set() };
  const flow = fc.oneof(...groups.map((flows) => fc.constantFrom(...flows)));
  const index = fc.constantFrom(0, 0, 0, 1, 2, 3);
  const mutations = fc.array(mutation, { minLength: 1, maxLength: 4 });
  // The same requests in every run, unless FUZZ_SEED names the seed that a failure printed.
  let seed = Number(process.env.FUZZ_SEED ?? 20_260_101);
  for (; seen.requests < requests; seed += 1) {
    const world = new World();
    const property = fc.asyncProperty(flow, index, mutations, (...step) =>
      run(world, ...step, seen),
    );
    await fc.assert(property, { seed, numRuns: 100 });
  }
  return seen;
}

/** Plays a flow with its request number `index` mutated. */
async function run(
  world: World,
  flow: Flow,
  index: number,
  mutations: readonly Mutation[],
  seen: Seen,
): Promise<void> {
  world.reset();
  const { d = "" } = pluginKey.privateKey.export({ format: "jwk" });
  const secrets = new Set([...Object.values(PASSWORDS), d]);
  let flaw: unknown;
  let sent = 0;
  // Requests wait for each other, so that the newest entry of the journal belongs to the last
  // request.
  let last: Promise<unknown> = Promise.resolve();
  world.transport = (path, init) => {
    const one = sent++ === index ? mutations : [];
    const answer = last.then(() => send(world, path, init, one, secrets, seen));
    last = answer.catch((error: unknown) => {
      flaw ??= error;
    });
    return answer;
  };
  // A flow ends early where something is refused, and in any way after its mutated request.
  await flow.request(world).catch((error: unknown) => {
    if (!(error instanceof FlowEnded || error instanceof EmulatorError || sent > index))
      throw error;
  });
  await last;
  if (flaw !== undefined) throw flaw;
  const { customerLog, journal } = world.emulator;
  const records = JSON.stringify([customerLog.entries(), journal.entries()]);
  for (const secret of secrets)
    if (records.includes(secret)) throw new Error(`the records contain ${secret}`);
}

async function send(
  { emulator }: World,
  path: string,
  init: RequestInit,
  mutations: readonly Mutation[],
  secrets: Set<string>,
  seen: Seen,
): Promise<Response> {
  const { request, secrets: sent } = await mutate(emulator.publicUrl, path, init, mutations);
  for (const secret of sent) secrets.add(secret);
  const { method, url } = request;
  const response = await emulator.fetch(request);
  const { status, headers } = response;
  const text = await response.text();
  seen.requests += 1;
  const isAdmin = new URL(url).pathname.startsWith("/_emulator");
  const entry = isAdmin ? undefined : emulator.journal.last();
  const what = `${method} ${url}: ${status} ${JSON.stringify([...headers])} ${text}`;
  if (!isAdmin && (entry?.method !== method || entry.status !== status))
    throw new Error(`the journal says ${JSON.stringify(entry)} of ${what}`);
  if (entry?.operation !== undefined) seen.operations.add(entry.operation);
  if (entry?.rule !== undefined) seen.rules.add(entry.rule);
  const flaw = flawIn({ status, headers, text }, method, entry);
  if (flaw !== undefined) throw new Error(`${flaw} in ${what}`);
  for (const secret of sent)
    if ((text + JSON.stringify([...headers])).includes(secret))
      throw new Error(`the secret ${secret} in ${what}`);
  return new Response(status === 204 || status === 304 || text === "" ? null : text, {
    status,
    headers,
  });
}
