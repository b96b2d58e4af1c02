/**
 * A fleet of 10,000 PodProtectors over a real API server: memory, the latency of deletions spread over all of them, and
 * a calm PodProtector beside a hot one.
 */
import { createProtectors, Settler } from "./core-cluster.ts";
import { cpuText, cpuTimes } from "../processes/cpu-shares.ts";
import { type RealCore, type WebhookProcess } from "./real-core.ts";
import { loadOpen } from "../reviews/review-load.ts";
import { reviewTexts } from "../reviews/review-text.ts";
import { latencyText, quantile, type Row } from "../row.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";

type Say = (line: string) => void;

const protectorsCount = 10_000;
const podsPerProtector = 10;
const deletionsPerSecond = 200;
const runMs = 10_000;
const warmUpMs = 4_000;
const p99MsMax = 25;
const bytesPerProtectorMax = 8_000;
/** Until the watch has brought the last of the PodProtectors. */
const settledWithinMs = 2_000;

export async function measureManyProtectors(core: RealCore, say: Say): Promise<Row[]> {
  const webhook = await core.startWebhook("many-protectors", { scheme: "HTTPS", inFlight: 64 });
  try {
    const names = Array.from({ length: protectorsCount }, (_, index) => `app-${index}`);
    const heapBefore = (await webhook.usage()).heapBytes;
    say(`${protectorsCount} PodProtectors are created`);
    await createProtectors(core.admin, names, podsPerProtector, say);
    await new Promise((resolve) => setTimeout(resolve, settledWithinMs));
    const bytes = ((await webhook.usage()).heapBytes - heapBefore) / protectorsCount;
    return [
      {
        what: `memory of a webhook for each of ${protectorsCount} protectors`,
        figure: `${(bytes / 1000).toFixed(1)} kB of heap`,
        comparedWith: `at most ${bytesPerProtectorMax / 1000} kB`,
        ratio: bytesPerProtectorMax / bytes,
        goal: 1,
      },
      await measureUniform(core, webhook, say),
    ];
  } finally {
    await webhook.stop();
  }
}

/**
 * Deletions of pods that are drawn from all pods of all PodProtectors: each is a write of its own, so the API server is
 * what they wait for.
 */
async function measureUniform(core: RealCore, webhook: WebhookProcess, say: Say): Promise<Row> {
  say(`${deletionsPerSecond} deletions/s over all of them: ${(warmUpMs + runMs) / 1000} s`);
  const rng = createSeededRng(1);
  const next = (): string => {
    const pod = Math.floor(rng.next() * protectorsCount * podsPerProtector);
    const app = `app-${Math.floor(pod / podsPerProtector)}`;
    return reviewTexts(app)(`${app}-${pod}`);
  };
  const load = (durationMs: number) => loadOpen(webhook.pool, { perSecond: deletionsPerSecond, durationMs, next });
  await load(warmUpMs);
  const before = cpuTimes([webhook], core.controlPlane());
  const { answered, elapsedMs } = await load(runMs);
  const after = cpuTimes([webhook], core.controlPlane());
  const latenciesMs = answered.map(({ latencyMs }) => latencyMs);
  const admitted = answered.filter(({ isAllowed }) => isAllowed).length;
  return {
    what:
      `${deletionsPerSecond} deletions/s of ${(protectorsCount * podsPerProtector) / 1000}k pods of ` +
      `${protectorsCount / 1000}k protectors over HTTPS: p99`,
    figure: `${latencyText(latenciesMs)}, ${admitted} of ${answered.length} admitted`,
    comparedWith: `at most ${p99MsMax} ms`,
    ratio: p99MsMax / quantile(latenciesMs, 0.99),
    goal: 1,
    besides: [cpuText(before, after, elapsedMs)],
  };
}

const calmPerSecond = 50;
/**
 * Twice what upstream can admit of one PodProtector, and far less than fills two cores: what is measured is not the
 * lack of CPU.
 */
const hotPerSecond = 500;
const rounds = 4;
const roundMs = 2_000;
const settleEveryMs = 300;

/** Reviews of a calm PodProtector, with and without a hot one beside it, in turns. */
export async function measureFairness(core: RealCore, say: Say): Promise<Row[]> {
  await createProtectors(core.admin, ["calm", "neighbour"], 1_000_000, say);
  const webhook = await core.startWebhook("fairness", { scheme: "HTTPS", inFlight: 64 });
  const nextOf = (app: string): (() => string) => {
    const text = reviewTexts(app);
    let index = 0;
    return () => text(`${app}-${index++}`);
  };
  const [calm, hot] = [nextOf("calm"), nextOf("neighbour")];
  const { pool } = webhook;
  const calmPool = webhook.openPool(16);
  const settlers = ["calm", "neighbour"].map((name) => new Settler(core.admin, name, settleEveryMs));
  for (const settler of settlers) settler.start();
  const loadCalm = async (): Promise<readonly number[]> => {
    const load = await loadOpen(calmPool, { perSecond: calmPerSecond, durationMs: roundMs, next: calm });
    return load.answered.map(({ latencyMs }) => latencyMs);
  };
  try {
    await Promise.all([loadCalm(), loadOpen(pool, { perSecond: hotPerSecond, durationMs: roundMs, next: hot })]);
    const [alone, beside]: [number[], number[]] = [[], []];
    for (let round = 1; round <= rounds; round += 1) {
      say(`a calm protector without and with a hot one: round ${round} of ${rounds}`);
      alone.push(...(await loadCalm()));
      const [latencies] = await Promise.all([
        loadCalm(),
        loadOpen(pool, { perSecond: hotPerSecond, durationMs: roundMs, next: hot }),
      ]);
      beside.push(...latencies);
    }
    return [
      {
        what: `${calmPerSecond} deletions/s of a calm protector beside a hot one with ${hotPerSecond} reviews/s: p99`,
        figure: latencyText(beside),
        comparedWith: `without it ${latencyText(alone)}`,
        ratio: quantile(alone, 0.99) / quantile(beside, 0.99),
      },
    ];
  } finally {
    await Promise.all(settlers.map((settler) => settler.stop()));
    await webhook.stop();
  }
}
