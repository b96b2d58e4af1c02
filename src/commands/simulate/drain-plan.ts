/**
 * What kubectl drain would come to: which pods go at once, which have to wait for others, and which never go. Pure.
 *
 * kubectl cordons all nodes and drains one after the other. It asks for the eviction of all pods of a node, in the
 * order of their names, and asks again every 5 s for those that were refused. So a plan has rounds. In the first one,
 * each pod is judged by what is free now. Before the next one all that was promised has settled, and a replacement is
 * available for each pod that has gone, if the pod has a controller. Nothing else changes: a pod elsewhere that is not
 * available stays so. When nothing goes in a round, nothing more will.
 */
import { type ProtectorID } from "../../api/object-key.ts";
import { type Budget, type BudgetRefusal, Budgets } from "./budgets.ts";
import { type Answer, Guard, type GuardOptions, type Refusal } from "./guard.ts";
import { deletionOf, type SimulatedPod, skippedByDrain } from "./simulated-pods.ts";

export interface DrainInput extends GuardOptions {
  readonly cellID: string;
  /** In the order in which they are drained, with all their pods. */
  readonly nodes: readonly { readonly name: string; readonly pods: readonly SimulatedPod[] }[];
  /** Of the namespaces of the pods. */
  readonly budgets: readonly Budget[];
}

/** Who says no to an eviction: the webhook, or after it the API server for a PodDisruptionBudget. */
export type Obstruction =
  | { readonly by: "podprotectors"; readonly refusals: readonly [Refusal, ...Refusal[]] }
  | { readonly by: "budget"; readonly refusal: BudgetRefusal };

export type Fate =
  /** kubectl drain leaves it where it is. */
  | { readonly kind: "skipped"; readonly why: "daemon-set" | "mirror" }
  /** With the first evictions of the first node. */
  | { readonly kind: "at-once"; readonly why: Why; readonly shadowed: readonly Refusal[] }
  /** In a later round, counted over all nodes: the second one at the earliest. */
  | { readonly kind: "later"; readonly round: number }
  /** Not even when the others have gone and are replaced. */
  | { readonly kind: "never"; readonly obstruction: Obstruction };

type Why = Extract<Answer, { readonly kind: "admitted" }>["why"];

export interface PlannedPod {
  readonly pod: SimulatedPod;
  readonly protectors: readonly ProtectorID[];
  readonly fate: Fate;
}

export interface DrainPlan {
  /** In the order in which evictions are asked for. */
  readonly pods: readonly PlannedPod[];
  /** Of each PodProtector that counts a pod of the nodes: what may go before anything has. */
  readonly freeNow: ReadonlyMap<ProtectorID, number | undefined>;
  /** The first node that is never empty; kubectl does not begin the ones after it. Undefined = the drain ends. */
  readonly stuckAt: string | undefined;
}

export function planDrain(input: DrainInput): DrainPlan {
  const { nodes, cellID } = input;
  const guard = new Guard(input);
  const stage: Stage = { guard, budgets: new Budgets(input.budgets), cellID };
  const idsOf = ({ record }: SimulatedPod): readonly ProtectorID[] => guard.protectorsOf(record).map(({ id }) => id);
  const all = nodes.flatMap(({ pods }) => pods.flatMap(idsOf));
  const freeNow = new Map([...new Set(all)].map((id) => [id, freeOf(guard, id)]));
  const pods: PlannedPod[] = [];
  let stuckAt: string | undefined;
  let rounds = 0;
  for (const node of nodes) {
    const inOrder = node.pods.toSorted(({ record: a }, { record: b }) => (a.key < b.key ? -1 : 1));
    const evicted = inOrder.filter((pod) => skippedByDrain(pod) === undefined);
    const { fates, round } = drainNode(evicted, rounds, stage);
    rounds = round;
    for (const pod of inOrder) {
      const why = skippedByDrain(pod);
      const fate = why === undefined ? fates.get(pod) : ({ kind: "skipped", why } as const);
      if (fate !== undefined) pods.push({ pod, protectors: idsOf(pod), fate });
    }
    if (fates.values().some(({ kind }) => kind === "never")) stuckAt ??= node.name;
  }
  return { pods, freeNow, stuckAt };
}

/** How many pods of a PodProtector may go, as messages have it. Undefined = it is unusable. */
export function freeOf(guard: Guard, id: ProtectorID): number | undefined {
  const figures = guard.figuresOf(id);
  return figures && Math.max(0, figures.aggregated - figures.unconfirmed - figures.required);
}

interface Stage {
  readonly guard: Guard;
  readonly budgets: Budgets;
  readonly cellID: string;
}

interface DrainedNode {
  readonly fates: Map<SimulatedPod, Fate>;
  /** The last one. */
  readonly round: number;
}

/**
 * `rounds`: of the nodes before. Each round but the first and the last lets one pod go at least, so there are at most
 * two more rounds than pods.
 */
function drainNode(pods: readonly SimulatedPod[], rounds: number, stage: Stage): DrainedNode {
  const fates = new Map<SimulatedPod, Fate>();
  let left = pods;
  let round = rounds;
  while (left.length > 0) {
    round += 1;
    const gone: SimulatedPod[] = [];
    const stay: SimulatedPod[] = [];
    for (const pod of left) {
      const fate = evict(pod, round, stage);
      fates.set(pod, fate);
      (fate.kind === "never" ? stay : gone).push(pod);
    }
    replace(gone, stage);
    // Before the second round, what was promised to others settles.
    if (gone.length === 0 && round > 1) break;
    left = stay;
  }
  return { fates, round };
}

/** "never" until a later round says otherwise. */
function evict(pod: SimulatedPod, round: number, { guard, budgets, cellID }: Stage): Fate {
  const answer = guard.ask(deletionOf(pod, "evict", cellID));
  if (answer.kind === "refused")
    return { kind: "never", obstruction: { by: "podprotectors", refusals: answer.refusals } };
  // The webhook has promised it by then, and goes on as long as kubectl asks again.
  const refusal = budgets.take(pod);
  if (refusal !== undefined) return { kind: "never", obstruction: { by: "budget", refusal } };
  return round === 1 ? { kind: "at-once", why: answer.why, shadowed: answer.shadowed } : { kind: "later", round };
}

function replace(gone: readonly SimulatedPod[], { guard, budgets, cellID }: Stage): void {
  guard.replaced(gone.map((pod) => ({ cellID, pod: pod.record, isReplaced: pod.controllerKind !== undefined })));
  budgets.replaced(gone);
}
