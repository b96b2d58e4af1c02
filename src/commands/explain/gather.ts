/** Gathers what `explain` shows: PodProtectors, their promises and refusals, and the verdicts on a pod. */
import { namespacesNotGuarded } from "../../api/cell-lease.ts";
import { objectKey } from "../../api/object-key.ts";
import { sourceLabels } from "../../api/v1alpha1/names.ts";
import { type OpenClusters } from "../clusters/open.ts";
import { type CommandContext } from "../command.ts";
import { type FleetCells, gateFaultOf } from "../fleet/cells.ts";
import { type CoreLook } from "../fleet/look.ts";
import { type OpenPromise, openPromises } from "../fleet/protectors.ts";
import { forcedOf, type Refusals, refusalsOf } from "../fleet/refusals.ts";
import { type Standing } from "../fleet/standing.ts";
import { type AskedPod, type Judged, judged, relationOf, typicalPod } from "./judged.ts";
import { clientOf, type PromisedPod, promisedPods } from "./pod.ts";
import { type Target } from "./target.ts";

/** One PodProtector, with all that is to be said about it. */
export interface Explained {
  readonly core: string;
  readonly standing: Standing;
  readonly cells: FleetCells | undefined;
  /** The oldest first. */
  readonly promises: readonly OpenPromise[];
  /** Of those, by UID or digest, pods that are still there; undefined where they cannot be read. */
  readonly pods: ReadonlyMap<string, PromisedPod> | undefined;
  /** Undefined = none is known. */
  readonly refusals: Refusals | undefined;
  /** The same of deletions that were forced. */
  readonly forced: Refusals | undefined;
  /** Of the asked pod; undefined where none is asked about. */
  readonly answers:
    | { readonly relation: "protected" | "counted"; readonly deletion: Judged; readonly eviction: Judged }
    | undefined;
  /** Of a typical pod in each of its cells, where no pod is asked about. */
  readonly inCells: readonly { readonly cellID: string; readonly deletion: Judged }[];
}

/** Invalid PodProtectors of the namespace, which may be about the pod. */
export interface Unusable {
  readonly core: string;
  readonly name: string;
  readonly reason: string;
}

export interface Explanation {
  /** Of the cell of the asked pod, by each core that knows of one. */
  readonly gateFaults: readonly string[];
  readonly explained: readonly Explained[];
  readonly unusable: readonly Unusable[];
}

export async function gather(
  target: Target,
  asked: AskedPod | undefined,
  looks: readonly CoreLook[],
  clusters: OpenClusters,
  { clock, signal }: Pick<CommandContext, "clock" | "signal">,
): Promise<Explanation> {
  const explained: Explained[] = [];
  for (const look of looks) {
    const refusals = refusalsOf(look.events ?? []);
    const forced = forcedOf(look.events ?? []);
    for (const standing of look.protectors?.standings ?? []) {
      if (!isAbout(target, asked, standing)) continue;
      const { namespace, name, protector, view } = standing;
      const promises = openPromises(protector.status?.cells ?? [], clock.epochMicros());
      const cells = [...new Set(promises.map(({ cellID }) => cellID))];
      const found = await Promise.all(
        cells.map((cellID) => promisedPods(namespace, promises, clientOf(cellID, clusters), signal)),
      );
      const relation = asked === undefined ? "none" : relationOf(view, asked.pod);
      const key = objectKey(namespace, name);
      const id = `${look.core}/${namespace}/${name}`;
      const context = { cells: look.cells, clock };
      const answer = (operation: "delete" | "evict"): Judged => judged(id, view, asked as AskedPod, operation, context);
      const inCells = standing.figures.cells.flatMap(({ cellID }) => {
        const pod = target.kind === "pod" ? undefined : typicalPod(view, cellID);
        return pod === undefined ? [] : [{ cellID, deletion: judged(id, view, pod, "delete", context) }];
      });
      explained.push({
        core: look.core,
        standing,
        cells: look.cells,
        promises,
        pods: joined(found),
        refusals: refusals.get(key),
        forced: forced.get(key),
        inCells,
        answers: relation === "none" ? undefined : { relation, deletion: answer("delete"), eviction: answer("evict") },
      });
    }
  }
  const unusable = looks.flatMap(({ core, protectors }) =>
    (protectors?.unusable ?? []).map(({ name, reason }) => ({ core, name, reason })),
  );
  return { explained, unusable, gateFaults: gateFaultsOf(asked, looks) };
}

function gateFaultsOf(asked: AskedPod | undefined, looks: readonly CoreLook[]): readonly string[] {
  if (asked === undefined) return [];
  const leases = looks.flatMap(({ cells }) => cells?.cells.get(asked.cellID)?.lease ?? []);
  const concerned = leases.filter(({ gate }) => namespacesNotGuarded(gate)?.includes(asked.pod.namespace) !== false);
  return [...new Set(concerned.flatMap((lease) => gateFaultOf(lease)?.remark ?? []))];
}

function isAbout(target: Target, asked: AskedPod | undefined, { protector, name, view }: Standing): boolean {
  switch (target.kind) {
    case "pod":
      return asked !== undefined && relationOf(view, asked.pod) !== "none";
    case "protector":
      return name === target.name;
    case "workload": {
      const { labels = {}, ownerReferences = [] } = protector.metadata;
      if (labels[sourceLabels.kind] !== target.sourceKind) return false;
      // The label may hold a shortened name.
      const isOwned = ownerReferences.some(
        ({ kind, name: owner }) => kind === target.sourceKind && owner === target.name,
      );
      return isOwned || labels[sourceLabels.name] === target.name;
    }
  }
}

function joined(
  found: readonly (ReadonlyMap<string, PromisedPod> | undefined)[],
): ReadonlyMap<string, PromisedPod> | undefined {
  const known = found.filter((one) => one !== undefined);
  return known.length === 0 ? undefined : new Map(known.flatMap((one) => [...one]));
}
