/** What scenarios measure: expect WHAT [OF] VALUE [within TIME]. */
import { bucketKind } from "../../../../src/accounting/history/bucket.ts";
import { digestOfUID } from "../../../../src/accounting/history/uid-digest.ts";
import { cellLeaseAnnotations, cellLeaseName } from "../../../../src/api/cell-lease.ts";
import { decodeGeneratorState } from "../../../../src/kube/generator-state.ts";
import { builtInResources } from "../../../double/index.ts";
import { type AccountingChecker } from "../../checkers/accounting/accounting.ts";
import { stateOf } from "../../clusters/latches.ts";
import { Arguments } from "./arguments.ts";
import { type Counted, type Run, type Stage } from "./stage.ts";
import { floorOf, floorsOfWorkloads, heldFor, told } from "./workloads.ts";

type Measure = (stage: Stage, args: Arguments) => number | string;

function web({ checker }: Stage): AccountingChecker {
  if (checker === undefined) throw new Error("there is no PodProtector web");
  return checker;
}

function bucketOf(stage: Stage, args: Arguments): string {
  const { cell, name, pods } = stage.podOf(args);
  const uid = pods.find(name)?.metadata.uid ?? "";
  const status = web(stage).object?.status?.cells.find(({ cellID }) => cellID === cell);
  for (const bucket of status?.admissionHistory?.buckets ?? []) {
    const kind = bucketKind(bucket);
    if (kind.kind === "packed" && kind.digests.has(digestOfUID(uid))) return "packed";
    if (kind.kind !== "single" || kind.podUID !== uid) continue;
    return kind.version === undefined ? "versionless" : kind.isEvicted ? "evicted" : "versioned";
  }
  return "none";
}

const counter =
  (name: Counted): Measure =>
  ({ counters }) =>
    counters.get(name) ?? 0;

const measures: Readonly<Record<string, Measure>> = {
  /** Pods that are really available. */
  left: (stage) => web(stage).trueAvailable(),
  /** Pods that really serve, and are the workload's own: of no Job, DaemonSet or Node. */
  own: (stage) => web(stage).standing.trueOwn(),
  /** Pods that the status says are available. */
  available: (stage) => web(stage).object?.status?.summary.aggregatedAvailableReplicas ?? "none",
  /** By how much the newest admission is ahead of the counts, in milliseconds. */
  latency: (stage) => web(stage).object?.status?.summary.maxLatencyMillis ?? 0,
  /** Cells in the status. */
  cells: (stage) => web(stage).object?.status?.cells.length ?? 0,
  /** Whether the PodProtector is there. */
  exists: ({ checker }) => (checker?.object === undefined ? "no" : "yes"),
  /** Entries in the list of releases. */
  listed: ({ core }) => {
    const state = stateOf(core.server.engine);
    return state === undefined ? 0 : decodeGeneratorState(state).releases.length;
  },
  /** What the PodProtector asks for. */
  floor: (stage) => web(stage).object?.spec.minAvailable ?? "none",
  /** Whether a cell has a Lease. */
  lease: ({ core }, args) => {
    const names = core.server.engine.list(builtInResources.leases).items.map(({ metadata }) => metadata.name);
    return names.includes(cellLeaseName(args.word("the cell"))) ? "yes" : "no";
  },
  /** Workloads with a floor above 0. */
  floors: floorsOfWorkloads,
  /** What must stay by a PodProtector. */
  floorof: (stage, args) => floorOf(stage, args.word("the PodProtector")),
  /** Changes that generators say they hold for a cause. */
  held: (stage, args) => heldFor(stage, args.word("the cause")),
  /** Events of a reason in the core. */
  told: (stage, args) => told(stage, args.word("the reason")),
  /** Whether the counts of the first cell come from a recount. */
  recounted: (stage) => (web(stage).object?.status?.cells[0]?.aggregation?.recountedAt === undefined ? "no" : "yes"),
  /** Weight of the unsettled admissions. */
  buckets: (stage) => web(stage).weight(),
  /** What holds the admission of a pod: versioned, evicted (at a version), versionless, packed, none. */
  bucket: bucketOf,
  /** Whether a process says that it is ready. */
  ready: (stage, args) => (stage.process(args.word("the process")).isReady() ? "yes" : "no"),
  /** What the last probe of an aggregator found. */
  gate: (stage, args) => {
    const gauges = stage.process(args.word("the process")).gauges();
    const found = [...gauges].find(([name, value]) => name.startsWith("aggregator_gate ") && value === 1);
    return found?.[0].split(" ").at(-1) ?? "none";
  },
  /** The gate as the Lease of a cell names it. */
  named: ({ core }, args) => {
    const { items } = core.server.engine.list(builtInResources.leases);
    const lease = items.find(({ metadata }) => metadata.name === cellLeaseName(args.word("the cell")));
    return lease?.metadata.annotations?.[cellLeaseAnnotations.gate] ?? "none";
  },
  /** Whether a condition of the PodProtector holds. */
  condition: (stage, args) => {
    const type = args.word("the type");
    return web(stage).object?.status?.conditions?.find((one) => one.type === type)?.status ?? "none";
  },
  fences: counter("fences"),
  barriers: counter("barriers"),
  writes: counter("writes"),
};

function holds(value: number | string, wanted: string): boolean {
  const limit = /^([<>])=(\d+)$/.exec(wanted);
  if (limit === null) return String(value) === wanted;
  return limit[1] === "<" ? Number(value) <= Number(limit[2]) : Number(value) >= Number(limit[2]);
}

/** These take a word more. */
const ofSomething: ReadonlySet<string> = new Set([
  "bucket",
  "ready",
  "gate",
  "named",
  "condition",
  "held",
  "told",
  "lease",
  "floorof",
]);
/** A watch that does not lag delivers within a few milliseconds. */
const deliveryMs = 50;

/** Followed by what is measured of. */
export const expect: Run = async (stage, args) => {
  const what = args.word("what is expected");
  const measure = measures[what];
  if (measure === undefined) throw args.error(`nobody measures ${what}`);
  const within = args.flag("within");
  const subject = ofSomething.has(what) ? [args.word("of what")] : [];
  const now = (): number | string => measure(stage, new Arguments("", subject));
  const wanted = args.word("the value");
  const { kernel } = stage.world;
  if (within) await kernel.run(kernel.nowMs + args.duration(args.word("the time")), () => holds(now(), wanted));
  const value = now();
  if (!holds(value, wanted)) throw args.error(`${[what, ...subject].join(" ")} is ${value}, not ${wanted}`);
  // What the core has just committed reaches the webhooks before the next command.
  if (within) await stage.advance(deliveryMs);
};
