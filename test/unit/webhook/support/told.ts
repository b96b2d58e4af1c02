/**
 * Tests as tables: what becomes of each case is compared whole with a text file, which is edited by hand. Of reviews
 * that is each answer, the requests to the cores, the records in the PodProtectors, and the metrics of reviews.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { FakeCore } from "./fake-core.ts";
import { cell, type Json, protector } from "./objects.ts";
import { FakeWorker } from "./worker.ts";
import { type Answer, createReplica, type ReplicaOptions } from "./replica.ts";

/** 80 must stay, and all 80 are there: nothing may go. */
export const atFloor = (): Json => protector({ cells: [cell("c1", 80)] });
/** 80 must stay, 100 are there. */
export const roomy = (): Json => protector({ cells: [cell("c1", 100)] });

/** So many are not told one by one. */
const manyRequests = 10;

type World = ReturnType<typeof worldOf>;

/** A review that is sent, or what happens between reviews; answers that it returns are told, too. */
export type Step = Json | Happening;
export type Happening = (world: World) => unknown;

export interface Told {
  /** The objects of the core, or of several by their names. */
  readonly of: readonly Json[] | Readonly<Record<string, readonly Json[]>>;
  readonly with?: ReplicaOptions;
  /** One after the other. */
  readonly do: readonly Step[];
}

/** Makes one test of each case, by its name. The section of that name in the file has what is expected. */
export function tellsAll(file: URL, cases: Readonly<Record<string, Told | readonly Told[]>>): void {
  const texts = Object.entries(cases).map(([name, told]) => {
    const all = async () => {
      const parts = [];
      for (const one of [told].flat()) parts.push(await tell(one));
      return parts.join("\n\n");
    };
    return [name, all] as const;
  });
  comparesAll(file, Object.fromEntries(texts));
}

/** The same for any texts. */
export function comparesAll(file: URL, cases: Readonly<Record<string, () => string | Promise<string>>>): void {
  const sections = new Map(
    readFileSync(file, "utf8")
      .split(/^## /m)
      .slice(1)
      .map((section) => [section.slice(0, section.indexOf("\n")), section.slice(section.indexOf("\n") + 1).trim()]),
  );
  for (const [name, textOf] of Object.entries(cases)) {
    test(name, async () => {
      const text = await textOf();
      assert.equal(text, sections.get(name));
    });
  }
  test(`${file.pathname.slice(file.pathname.lastIndexOf("/") + 1)} has no other cases`, () => {
    assert.deepEqual([...sections.keys()], Object.keys(cases));
  });
}

export function worldOf({ of, with: options }: Told) {
  const clock = createVirtualClock();
  const named = Object.entries((Array.isArray(of) ? { core: of } : of) as Record<string, readonly Json[]>);
  const cores = Object.fromEntries(named.map(([name]) => [name, new FakeCore(clock)]));
  for (const [name, objects] of named) for (const object of objects) cores[name]!.put(object);
  return { clock, cores, core: Object.values(cores)[0]!, replica: createReplica(clock, cores, options) };
}

async function tell(told: Told): Promise<string> {
  const world = worldOf(told);
  const { cores, replica } = world;
  const lines: string[] = [];
  for (const step of told.do) {
    const answers: unknown = await (typeof step === "function" ? step(world) : replica.review(step));
    for (const answer of [answers].flat()) if (isAnswer(answer)) lines.push(...answerLines(answer));
  }
  for (const [name, core] of Object.entries(cores)) lines.push(...coreLines(name, core));
  const { workers } = told.with ?? {};
  if (workers?.kind === "single" && workers.client instanceof FakeWorker)
    lines.push(`the pod was read ${timesOf(workers.client.requests.length)}`);
  replica.metrics.scrape();
  const counts = Array.from(replica.metrics.values, ([text, values]) => `${text} ${values.length}`);
  lines.push(
    ...counts.filter((text) => /^webhook_(request|record_failure|http_error|would_refuse_total)\{/.test(text)),
  );
  return lines.join("\n");
}

function isAnswer(answer: unknown): answer is Answer {
  return typeof answer === "object" && answer !== null && "http" in answer;
}

function answerLines({ http, allowed, code, message, body, audit, warnings, elapsedMs }: Answer): string[] {
  const { status } = (body["response"] ?? {}) as { status?: { reason: string; details?: { causes: Json[] } } };
  const audits = Object.entries(audit).map(([key, value]) => `${key}=${value}`);
  const how = http === 200 ? `refused, ${code} ${status?.reason}` : `HTTP ${http}`;
  return [
    `${allowed ? "allowed" : `${how}: ${message}`}${elapsedMs > 100 ? `, after ${Math.round(elapsedMs)} ms` : ""}`,
    ...(status?.details?.causes ?? []).map(
      ({ reason, field, message: cause }) => `  cause: ${String(reason)} of ${String(field)}: ${String(cause)}`,
    ),
    ...(audits.length > 0 ? [`  audit: ${audits.join("; ")}`] : []),
    ...warnings.map((warning) => `  warning: ${warning}`),
  ];
}

function coreLines(name: string, core: FakeCore): string[] {
  const requests = core.requests.map(({ method, path }) => `${method} ${path.split("/").slice(5).join("/")}`);
  const asked = requests.length < manyRequests ? requests : countsOf(requests);
  const records = core.keys.flatMap((key) => {
    const { cells } = core.object(key)["status"] as { cells: { cellID: string; admissionHistory?: Json }[] };
    return cells.flatMap(({ cellID, admissionHistory = {} }) =>
      ((admissionHistory["buckets"] ?? []) as Record<string, string>[]).map(
        ({ podUID, podResourceVersion: version }) =>
          `${key} ${cellID}: ${podUID}${version === undefined ? "" : `@${version}`}`,
      ),
    );
  });
  return [
    ...(asked.length > 0 ? [`${name} was asked ${asked.join(", ")}`] : []),
    ...records.map((record) => `${name} has ${record}`),
  ];
}

/** In no order: how often a review tries in vain until its deadline is a matter of chance. */
function countsOf(requests: readonly string[]): readonly string[] {
  const counts = Map.groupBy(requests, (request) => request);
  return Array.from(counts, ([request, { length }]) => (length === 1 ? request : `${request} ${timesOf(length)}`));
}

function timesOf(count: number): string {
  return count === 1 ? "once" : count < manyRequests ? `${count} times` : "many times";
}
