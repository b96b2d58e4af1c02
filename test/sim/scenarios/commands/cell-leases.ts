/** What a person does to the Lease of a cell, or another cluster. */
import { cellLeaseAnnotations, cellLeaseLabels, cellLeaseName } from "../../../../src/api/cell-lease.ts";
import { formatMicroTime } from "../../../../src/api/micro-time.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { builtInResources, type JsonObject } from "../../../double/index.ts";
import { type Arguments } from "./arguments.ts";
import { type Run, type Stage } from "./stage.ts";

/** The default of --cell-lease-namespace. */
const leaseNamespace = "default";

/** How often a clone's aggregator beats. */
const cloneBeatMs = 5_000;

/**
 * lease CELL delete | keep=2h | forget [now] | mark: as silent | seize | cloned [for=5m] | ask: a person makes one
 * without a holder, to retire the cell | of-core
 */
export const changeLease: Run = async (stage, args) => {
  const { core } = stage;
  const { engine } = core.server;
  const cell = args.word("the cell");
  const name = cellLeaseName(cell);
  if (args.flag("delete")) {
    await stage.during(engine.delete(builtInResources.leases, leaseNamespace, name));
    return;
  }
  if (args.flag("cloned")) {
    const untilMs = stage.world.kernel.nowMs + args.duration(args.setting("for") ?? "");
    beatAsClone(stage, name, untilMs);
    return;
  }
  if (args.flag("ask")) {
    const labels = { [cellLeaseLabels.heartbeat]: "cell", [cellLeaseLabels.cell]: cell };
    const metadata = { name, labels, annotations: { [cellLeaseAnnotations.forget]: "true" } };
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata };
    await stage.during(engine.create(builtInResources.leases, leaseNamespace, lease));
    return;
  }
  if (args.flag("of-core")) {
    // The core runs pods too, and is a cell.
    const clusterUID = engine.get(builtInResources.namespaces, undefined, "kube-system").metadata.uid;
    const beat = { holderIdentity: "aggregator", renewTime: formatMicroTime(engine.clock.epochMicros()) };
    const labels = { [cellLeaseLabels.heartbeat]: "cell", [cellLeaseLabels.cell]: cell };
    const metadata = { name, labels, annotations: { [cellLeaseAnnotations.clusterUID]: clusterUID } };
    await stage.during(engine.create(builtInResources.leases, leaseNamespace, { metadata, spec: beat }));
    return;
  }
  const annotations = args.flag("seize") ? undefined : annotationOf(args, engine.clock.epochMicros());
  if (annotations?.[cellLeaseAnnotations.forget] === "now")
    for (const { leaving } of stage.world.checkers.values()) leaving.hurried(cell);
  const body =
    annotations === undefined
      ? {
          metadata: { annotations: { [cellLeaseAnnotations.clusterUID]: "another-cluster" } },
          spec: { holderIdentity: "another-aggregator", renewTime: formatMicroTime(engine.clock.epochMicros()) },
        }
      : { metadata: { annotations } };
  const patch = { contentType: "application/merge-patch+json", body };
  await stage.during(engine.patch(builtInResources.leases, leaseNamespace, name, patch));
};

/** Of a cluster with the same UID; its aggregator finds nothing wrong with the Lease either. */
function beatAsClone(stage: Stage, name: string, untilMs: number): void {
  const { core } = stage;
  const { kernel } = stage.world;
  const { engine } = core.server;
  if (kernel.nowMs >= untilMs) return;
  const spec = { holderIdentity: "aggregator-of-a-clone", renewTime: formatMicroTime(engine.clock.epochMicros()) };
  const patch = { contentType: "application/merge-patch+json", body: { spec } };
  if (engine.find(builtInResources.leases, leaseNamespace, name) !== undefined)
    void engine.patch(builtInResources.leases, leaseNamespace, name, patch);
  kernel.schedule(cloneBeatMs, () => beatAsClone(stage, name, untilMs));
}

function annotationOf(args: Arguments, now: EpochMicros): JsonObject {
  if (args.flag("forget")) return { [cellLeaseAnnotations.forget]: args.flag("now") ? "now" : "true" };
  if (args.flag("mark")) return { [cellLeaseAnnotations.silentSince]: formatMicroTime(now) };
  const keptMs = args.duration(args.setting("keep") ?? "");
  return { [cellLeaseAnnotations.keepUntil]: formatMicroTime((now + keptMs * 1000) as EpochMicros) };
}
