/**
 * 10,000 pods of 500 custom owners, and the budgets that select them: how many scales are read, and what else is asked
 * of the API server. Counts are the same on every machine, and the run fails where they are above what is promised.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type JsonObject } from "../../double/index.ts";
import { databaseBody } from "../../double/scaled-crd.ts";
import { waitFor } from "../../e2e/clusters/wait.ts";
import { type Counts, CountedCore, requestsBetween, requestsText, sumOf } from "../processes/counted-core.ts";
import { defaultRate, GeneratorRun, PlainRun } from "./generator-run.ts";
import { type Row } from "../row.ts";

type Say = (line: string) => void;

const namespace = "default";
const owners = 500;
const podsOfEach = 20;
/** More than there are pods: a floor that follows these has not been counted from pods. */
const membersOfEach = 24;
/** At the default of a quarter that may go. */
const floorOfEach = 18;
/** A budget for each owner, and one that selects all. */
const budgets = owners + 1;
const changedOwners = 50;
/** Apart enough to be handled one by one, as those of operators are. */
const betweenBeatsMs = 10;
/** Measured 40 s on a busy machine. */
const limitMs = 600_000;

const nameOf = (index: number): string => `db-${index}`;
const all = Array.from({ length: owners }, (_, index) => nameOf(index));

export async function measureBudgetSources(say: Say): Promise<Row[]> {
  const core = await CountedCore.start();
  try {
    say(`${owners * podsOfEach} pods of ${owners} owners are created`);
    await createFleet(core);
    const sources = ["--generator-sources=poddisruptionbudgets.policy,databases.example.com"];
    const before = await core.counts();
    const startMs = performance.now();
    const run = await GeneratorRun.start(core, "generator-budgets", sources, defaultRate);
    try {
      await protectedWith(core, new Map());
      const tookMs = performance.now() - startMs;
      await run.quiet();
      const first = requestsBetween(before, await core.counts());
      const { heapBytes, peakBytes, cpuMicros } = await run.process.usage();
      const unchanged = await requestsOfUnchanged(core, run, say);
      const changed = await requestsOfChanged(core, run, say);
      await run.stop();
      say("the same by a plain client");
      await core.wipe("podprotectors");
      const resources = ["policy/v1/poddisruptionbudgets", "example.com/v1/databases"];
      const plain = await PlainRun.start(core, resources, defaultRate);
      const { heapBytes: plainHeap } = await plain.usage();
      plain.stop();
      const ownTime = { tookMs, cpuMs: cpuMicros / 1000 };
      const plainTime = { tookMs: plain.made.madeMs, cpuMs: plain.made.cpuMs };
      return [
        firstRow(first),
        unchangedRow(unchanged),
        changedRow(changed),
        {
          what: `${budgets} budgets and ${owners} custom resources: from start to all floors correct`,
          figure: `${timeText(ownTime)}, heap ${megabytes(heapBytes)}, peak ${megabytes(peakBytes)}`,
          comparedWith:
            `one POST for each by a plain client without pods and scales: ${timeText(plainTime)}, ` +
            `heap ${megabytes(plainHeap)}`,
          ratio: plainTime.tookMs / tookMs,
          besides: [
            `at --core-kube-qps=${defaultRate.qps}, ${sumOf(first)} requests need ` +
              `${((sumOf(first) - defaultRate.burst) / defaultRate.qps).toFixed(0)} s`,
          ],
        },
      ];
    } finally {
      await run.stop();
    }
  } finally {
    core.stop();
  }
}

async function createFleet(core: CountedCore): Promise<void> {
  const uids = await core.create(
    "databases",
    all.map((name) => databaseBody(name, { members: membersOfEach }, { labels: { app: name } })),
  );
  const statuses = all.map((name) => ({
    namespace,
    name,
    subresource: "status" as const,
    body: { status: { members: podsOfEach, selector: `app=${name},fleet=one`, phase: "Running" } },
  }));
  await core.change("databases", statuses);
  await core.create(
    "pods",
    all.flatMap((name, index) =>
      Array.from({ length: podsOfEach }, (_, number) => podBody(name, number, uids[index] ?? "")),
    ),
  );
  await core.create("poddisruptionbudgets", [
    ...all.map((name) => budgetBody(name, { app: name })),
    budgetBody("all", { fleet: "one" }),
  ]);
}

function podBody(owner: string, number: number, uid: string): JsonObject {
  const reference = { apiVersion: "example.com/v1", kind: "Database", name: owner, uid, controller: true };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `${owner}-${number}`,
      namespace,
      labels: { app: owner, fleet: "one" },
      ownerReferences: [reference],
    },
    spec: { containers: [{ name: "main", image: "example.com/database:1" }] },
  };
}

function budgetBody(name: string, labels: JsonObject): JsonObject {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name, namespace },
    spec: { maxUnavailable: "25%", selector: { matchLabels: labels } },
  };
}

/** Resolves when each PodProtector is there with its floor. `members`: of owners that have others than at first. */
async function protectedWith(core: CountedCore, members: ReadonlyMap<string, number>): Promise<void> {
  const floors = new Map<string, number>();
  for (const name of all) {
    const own = members.has(name) ? Math.ceil((members.get(name) ?? 0) * 0.75) : floorOfEach;
    floors.set(`poddisruptionbudget-${name}`, own);
    floors.set(`scale.databases.example.com-${name}`, own);
  }
  const sum = all.reduce((pods, name) => pods + (members.get(name) ?? membersOfEach), 0);
  floors.set("poddisruptionbudget-all", Math.ceil(sum * 0.75));
  await waitFor("all PodProtectors have their floors", limitMs, async () => {
    if ((await core.size("podprotectors")) !== floors.size) return false;
    const found = await core.protectors();
    return found.every(({ name, spec }) => floors.get(name) === spec.minAvailable);
  });
}

/** Everything is touched, and nothing that a floor depends on; then everything is listed again. */
async function requestsOfUnchanged(core: CountedCore, run: GeneratorRun, say: Say): Promise<Unchanged> {
  say("heartbeats of everything, then a list of everything");
  const before = await core.counts();
  const used = await run.process.usage();
  const pods = all.flatMap((name) => Array.from({ length: podsOfEach }, (_, number) => `${name}-${number}`));
  const status = "status" as const;
  const at = { namespace, subresource: status };
  const beat = { status: { conditions: [{ type: "Ready", status: "True", lastProbeTime: "2026-01-01T00:00:00Z" }] } };
  await core.change(
    "pods",
    pods.map((name) => ({ ...at, name, body: beat })),
  );
  const named = [...all, "all"];
  await core.change(
    "poddisruptionbudgets",
    named.map((name) => ({ ...at, name, body: { status: { currentHealthy: podsOfEach, disruptionsAllowed: 5 } } })),
  );
  await core.change(
    "poddisruptionbudgets",
    named.map((name) => ({ namespace, name, body: { metadata: { labels: { touched: "true" } } } })),
  );
  await run.quiet();
  const usedByThese = await run.process.usage();
  for (const name of all) {
    await core.change("databases", [{ ...at, name, body: { status: { phase: "Beating" } } }]);
    await delay(betweenBeatsMs);
  }
  await run.quiet();
  const usedByOwners = await run.process.usage();
  await core.relist();
  await run.quiet();
  const { cpuMicros } = await run.process.usage();
  return {
    before,
    after: await core.counts(),
    cpuMs: (cpuMicros - used.cpuMicros) / 1000,
    ofOwnersMs: (usedByOwners.cpuMicros - usedByThese.cpuMicros) / 1000,
    ofOthersMs: (usedByThese.cpuMicros - used.cpuMicros) / 1000,
  };
}

interface Measured {
  readonly before: Counts;
  readonly after: Counts;
  readonly cpuMs: number;
}

interface Unchanged extends Measured {
  /** Of `cpuMs`, for the heartbeats of the owners, which come one by one. */
  readonly ofOwnersMs: number;
  /** For those of the pods and the budgets. */
  readonly ofOthersMs: number;
}

/** Owners are scaled one after the other, so that no request serves two of them. */
async function requestsOfChanged(core: CountedCore, run: GeneratorRun, say: Say): Promise<Measured> {
  say(`${changedOwners} owners are scaled, one after the other`);
  const before = await core.counts();
  const used = await run.process.usage();
  const members = new Map<string, number>();
  for (const name of all.slice(0, changedOwners)) {
    members.set(name, membersOfEach + 4);
    await core.change("databases", [{ namespace, name, body: { spec: { members: membersOfEach + 4 } } }]);
    await protectedWith(core, members);
  }
  await run.quiet();
  const { cpuMicros } = await run.process.usage();
  return { before, after: await core.counts(), cpuMs: (cpuMicros - used.cpuMicros) / 1000 };
}

const scaleReads = "GET databases/scale";

function firstRow(requests: ReadonlyMap<string, number>): Row {
  const reads = requests.get(scaleReads) ?? 0;
  return {
    what: `${owners * podsOfEach} pods of ${owners} custom owners, ${budgets} budgets: first reconciliation`,
    figure: `${reads} scales read`,
    comparedWith: `one for each owner: ${owners}; one for each pod: ${owners * podsOfEach}`,
    ratio: owners / reads,
    besides: [`all requests: ${requestsText(requests)}`],
    ...(reads > owners && { exceeded: `${reads} scales were read, ${owners} are promised at most` }),
  };
}

function unchangedRow({ before, after, cpuMs, ofOwnersMs, ofOthersMs }: Unchanged): Row {
  const requests = requestsBetween(before, after);
  const reads = requests.get(scaleReads) ?? 0;
  const events = owners * podsOfEach + owners + 2 * budgets;
  return {
    what: `the same unchanged: ${events} heartbeats and labels, and everything listed again`,
    figure: `${reads} scales read, ${sumOf(requests)} requests about objects, CPU ${(cpuMs / 1000).toFixed(1)} s`,
    comparedWith: `one scale for each heartbeat of an owner: ${owners}`,
    ratio: owners / Math.max(1, reads),
    besides: [
      `CPU for a heartbeat of an owner: ${(ofOwnersMs / owners).toFixed(2)} ms, of a pod or budget: ` +
        `${(ofOthersMs / (events - owners)).toFixed(2)} ms`,
      `all requests: ${requestsText(requests)}`,
    ],
    ...(reads > 0 && { exceeded: `${reads} scales were read, though nothing had changed` }),
  };
}

function changedRow({ before, after, cpuMs }: Measured): Row {
  const requests = requestsBetween(before, after);
  const reads = (requests.get(scaleReads) ?? 0) / changedOwners;
  // Its own PodProtector, that of its budget, and that of the budget that selects all.
  const least = 3;
  const ofEach = sumOf(requests) / changedOwners;
  return {
    what: `one owner is scaled, which ${least} PodProtectors follow (mean of ${changedOwners})`,
    figure:
      `${reads.toFixed(2)} scales read, ${ofEach.toFixed(1)} requests, ` +
      `CPU ${(cpuMs / changedOwners).toFixed(0)} ms`,
    comparedWith: `1 read and ${least} writes at least`,
    ratio: (least + 1) / ofEach,
    besides: [`all requests: ${requestsText(requests)}`],
    ...(reads > 1 && { exceeded: `${reads.toFixed(2)} scales were read for each changed owner, 1 is needed` }),
  };
}

function timeText({ tookMs, cpuMs }: { readonly tookMs: number; readonly cpuMs: number }): string {
  return `${(tookMs / 1000).toFixed(1)} s (CPU ${(cpuMs / 1000).toFixed(1)} s)`;
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}
