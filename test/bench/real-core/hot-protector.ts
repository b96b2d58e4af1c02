/**
 * One PodProtector that all reviews want, over a real API server: admissions per second while its history is settled as
 * an aggregator does it, what happens when nobody settles, and three replicas that compete for it.
 */
import { createProtectors, historyOf, type ProtectorObject, protectorPath, Settler } from "./core-cluster.ts";
import { cpuText, cpuTimes } from "../processes/cpu-shares.ts";
import { type RealCore, type WebhookProcess } from "./real-core.ts";
import { type Load, loadClosed, loadOpen } from "../reviews/review-load.ts";
import { reviewTexts } from "../reviews/review-text.ts";
import { latencyText, quantile, type Row } from "../row.ts";

type Say = (line: string) => void;

const inFlight = 64;
/** So that the bound of the history is not what is measured. */
const settleEveryMs = 300;
const warmUpMs = 3_000;
const runMs = 8_000;
/** Never the limit. */
const availablePods = 1_000_000;

/** Upstream's 264/s on two cores, ten times that is promised. */
const admissionsPerSecondGoal = 2_500;
const p50MsMax = 30;
const writesPerAdmissionMax = 0.03;
const conflictShareMax = 0.15;
const smallestShareMin = 0.2;

/** What one webhook did in a run. */
interface Share {
  readonly admitted: number;
  readonly latenciesMs: readonly number[];
  readonly refused: number;
  readonly written: number;
  readonly conflicts: number;
}

interface HotRun {
  readonly shares: readonly Share[];
  readonly elapsedMs: number;
  readonly settlerWrites: number;
  readonly settlerConflicts: number;
  readonly cpu: string;
}

/** A PodProtector of its own and a way to make reviews of its pods, each of another one. */
async function hotProtector(core: RealCore, name: string, say: Say): Promise<() => string> {
  await createProtectors(core.admin, [name], availablePods, say);
  const text = reviewTexts(name);
  let index = 0;
  return () => text(`${name}-${index++}`);
}

async function runSettled(
  core: RealCore,
  options: { readonly name: string; readonly webhooks: readonly WebhookProcess[]; readonly next: () => string },
): Promise<HotRun> {
  const { name, webhooks, next } = options;
  const load = (durationMs: number): Promise<Load[]> =>
    Promise.all(webhooks.map(({ pool }) => loadClosed(pool, { inFlight, durationMs, next })));
  const settler = new Settler(core.admin, name, settleEveryMs);
  settler.start();
  try {
    await load(warmUpMs);
    const writesBefore = await Promise.all(webhooks.map(writesOf));
    const settlerBefore = { writes: settler.writes, conflicts: settler.conflicts };
    const cpuBefore = cpuTimes(webhooks, core.controlPlane());
    const loads = await load(runMs);
    const cpuAfter = cpuTimes(webhooks, core.controlPlane());
    const writesAfter = await Promise.all(webhooks.map(writesOf));
    const elapsedMs = Math.max(...loads.map((one) => one.elapsedMs));
    return {
      shares: loads.map(({ answered }, index) => {
        const latenciesMs = answered.filter(({ isAllowed }) => isAllowed).map(({ latencyMs }) => latencyMs);
        const [before, after] = [writesBefore[index], writesAfter[index]];
        return {
          admitted: latenciesMs.length,
          latenciesMs,
          refused: answered.length - latenciesMs.length,
          written: (after?.written ?? 0) - (before?.written ?? 0),
          conflicts: (after?.conflicts ?? 0) - (before?.conflicts ?? 0),
        };
      }),
      elapsedMs,
      settlerWrites: settler.writes - settlerBefore.writes,
      settlerConflicts: settler.conflicts - settlerBefore.conflicts,
      cpu: cpuText(cpuBefore, cpuAfter, elapsedMs),
    };
  } finally {
    await settler.stop();
  }
}

async function writesOf(webhook: WebhookProcess): Promise<{ readonly written: number; readonly conflicts: number }> {
  const metrics = await webhook.metrics();
  const count = (result: string): number => metrics.value("webhook_status_write_total", { result }) ?? 0;
  return { written: count("written"), conflicts: count("conflict") };
}

function sum(shares: readonly Share[], of: (share: Share) => number): number {
  return shares.reduce((total, share) => total + of(share), 0);
}

function settlerText({ settlerWrites, settlerConflicts }: HotRun): string {
  return `the settler wrote ${settlerWrites} times, with ${settlerConflicts} conflicts of its own`;
}

/** One webhook, settled, over HTTPS and HTTP; then without settling. */
export async function measureHotProtector(core: RealCore, say: Say): Promise<Row[]> {
  const rows: Row[] = [];
  for (const scheme of ["HTTPS", "HTTP"] as const) {
    const name = `hot-${scheme.toLowerCase()}`;
    say(`one hot protector over ${scheme}, settled: ${(warmUpMs + runMs) / 1000} s`);
    const next = await hotProtector(core, name, say);
    const webhook = await core.startWebhook(name, { scheme, inFlight });
    try {
      rows.push(...settledRows(scheme, await runSettled(core, { name, webhooks: [webhook], next })));
      if (scheme === "HTTPS") rows.push(await measureFull(core, { name, webhook, next, say }));
    } finally {
      await webhook.stop();
    }
  }
  return rows;
}

function settledRows(scheme: string, run: HotRun): Row[] {
  const { shares, elapsedMs, settlerWrites } = run;
  const admitted = sum(shares, (share) => share.admitted);
  const perSecond = (admitted / elapsedMs) * 1000;
  const latenciesMs = shares.flatMap((share) => share.latenciesMs);
  const written = sum(shares, (share) => share.written);
  const conflicts = sum(shares, (share) => share.conflicts);
  const perAdmission = written / admitted;
  const what = `one hot protector over ${scheme}, settled every ${settleEveryMs} ms, ${inFlight} in flight`;
  const refused = sum(shares, (share) => share.refused);
  return [
    {
      what: `${what}: admissions`,
      figure: `${Math.round(perSecond)}/s, ${latencyText(latenciesMs)}`,
      comparedWith: `promised ${admissionsPerSecondGoal}/s`,
      ratio: perSecond / admissionsPerSecondGoal,
      goal: 1,
      besides: [run.cpu, ...(refused > 0 ? [`${refused} reviews were refused`] : [])],
    },
    {
      what: `${what}: p50`,
      figure: `${quantile(latenciesMs, 0.5).toFixed(1)} ms`,
      comparedWith: `at most ${p50MsMax} ms`,
      ratio: p50MsMax / quantile(latenciesMs, 0.5),
      goal: 1,
    },
    {
      what: `${what}: status writes per admission`,
      figure: `${perAdmission.toFixed(4)} (${Math.round((written / elapsedMs) * 1000)} writes/s)`,
      comparedWith: `at most ${writesPerAdmissionMax}`,
      ratio: writesPerAdmissionMax / perAdmission,
      goal: 1,
      besides: [
        `${conflicts} conflicts; a write of the settler causes at most one: ` +
          `${Math.max(0, conflicts - settlerWrites)} own ones for certain`,
        settlerText(run),
      ],
    },
  ];
}

const refusalsPerSecond = 500;
const refusalsMs = 4_000;
const refusalMsMax = 5;
/**
 * The bound of one cell's history (docs/accounting.md#packing): when it is not reached after so many reviews, something
 * is wrong.
 */
const fillLimit = 50_000;

/** Nobody settles: the history fills up to its bound; then each review is refused, soon and without a write. */
async function measureFull(
  core: RealCore,
  world: {
    readonly name: string;
    readonly webhook: WebhookProcess;
    readonly next: () => string;
    readonly say: Say;
  },
): Promise<Row> {
  const { name, webhook, next, say } = world;
  say("the same without settling");
  const { pool } = webhook;
  await new Settler(core.admin, name, 0).settle();
  const before = await writesOf(webhook);
  let admitted = 0;
  let sent = 0;
  for (let isFull = false; !isFull && sent < fillLimit;) {
    const { answered } = await loadClosed(pool, { inFlight, durationMs: 500, next });
    sent += answered.length;
    admitted += answered.filter(({ isAllowed }) => isAllowed).length;
    isFull = answered.some(({ isAllowed }) => !isAllowed);
  }
  const filled = await writesOf(webhook);
  const history = historyOf(await core.admin.get<ProtectorObject>(protectorPath(name)));
  const heapBefore = (await webhook.usage()).heapBytes;
  const { answered } = await loadOpen(pool, { perSecond: refusalsPerSecond, durationMs: refusalsMs, next });
  const heapAfter = (await webhook.usage()).heapBytes;
  const after = await writesOf(webhook);
  const historyAfter = historyOf(await core.admin.get<ProtectorObject>(protectorPath(name)));
  const refusals = answered.filter(({ refusal }) => refusal.includes("temporarily unable to admit pod deletion"));
  const others = answered.length - refusals.length;
  const latenciesMs = refusals.map(({ latencyMs }) => latencyMs);
  return {
    what: `the same when nobody settles: refusals after ${history.admissions} admissions, ${refusalsPerSecond}/s`,
    figure: `${latencyText(latenciesMs)}, ${others} answered otherwise`,
    comparedWith: `p50 at most ${refusalMsMax} ms`,
    ratio: refusalMsMax / quantile(latenciesMs, 0.5),
    goal: 1,
    besides: [
      `until then ${admitted} admissions, ${filled.conflicts - before.conflicts} conflicts; from then on ` +
        `${after.written - filled.written} writes`,
      `the history then ${history.admissions} admissions in ${history.buckets} buckets, afterwards ` +
        `${historyAfter.admissions} in ${historyAfter.buckets}`,
      `heap after a collection ${(heapBefore / 1e6).toFixed(1)} MB, after ${answered.length} refusals ` +
        `${(heapAfter / 1e6).toFixed(1)} MB`,
    ],
  };
}

/** Three webhooks on one PodProtector, each with its own callers. */
export async function measureReplicas(core: RealCore, say: Say): Promise<Row[]> {
  const replicas = 3;
  say(`${replicas} replicas on one hot protector: ${(warmUpMs + runMs) / 1000} s`);
  const name = "hot-replicas";
  const next = await hotProtector(core, name, say);
  const starts = Array.from({ length: replicas }, (_, index) =>
    core.startWebhook(`replica-${index}`, { scheme: "HTTPS", inFlight }),
  );
  const webhooks = await Promise.all(starts);
  try {
    const run = await runSettled(core, { name, webhooks, next });
    const { shares, elapsedMs } = run;
    const [admitted, written, conflicts] = [
      sum(shares, (share) => share.admitted),
      sum(shares, (share) => share.written),
      sum(shares, (share) => share.conflicts),
    ];
    const conflictShare = conflicts / (written + conflicts);
    const smallestShare = Math.min(...shares.map((share) => share.admitted)) / admitted;
    const load = `${inFlight} in flight each, settled every ${settleEveryMs} ms`;
    const what = `${replicas} replicas on one hot protector, ${load}`;
    return [
      {
        what: `${what}: conflicts`,
        figure: `${(100 * conflictShare).toFixed(1)} % of ${written + conflicts} writes`,
        comparedWith: `at most ${100 * conflictShareMax} %`,
        // A run without any conflict has no ratio.
        ratio: conflictShareMax / Math.max(conflictShare, 1 / (written + conflicts)),
        goal: 1,
        besides: [
          `${Math.round((admitted / elapsedMs) * 1000)} admissions/s, ` +
            `${latencyText(shares.flatMap((share) => share.latenciesMs))}, ` +
            `${(written / admitted).toFixed(4)} writes per admission`,
          settlerText(run),
          run.cpu,
        ],
      },
      {
        what: `${what}: share of the slowest replica`,
        figure: `${(100 * smallestShare).toFixed(0)} % of the admissions`,
        comparedWith: `at least ${100 * smallestShareMin} %`,
        ratio: smallestShare / smallestShareMin,
        goal: 1,
        besides: [`admissions of each: ${shares.map((share) => share.admitted).join(", ")}`],
      },
    ];
  } finally {
    await Promise.all(webhooks.map((webhook) => webhook.stop()));
  }
}
