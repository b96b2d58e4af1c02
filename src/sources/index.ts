/**
 * The workloads and budgets that PodProtectors are generated for, one file for each kind (docs/generator.md#sources).
 * - source.ts: what a kind, and an object of it, tell. read-source.ts: reading what all kinds share.
 * - floor.ts: the arithmetic of floors that kinds share. budget.ts: that of budgets.
 * - overrides.ts: annotations that override what is derived.
 */
import { type SourceID } from "../config/generator-rules.ts";
import { advancedStatefulSets } from "./advanced-stateful-set.ts";
import { cloneSets } from "./clone-set.ts";
import { deployments } from "./deployment.ts";
import { type BudgetKind } from "./budgets/budget.ts";
import { podDisruptionBudgets } from "./budgets/pod-disruption-budget.ts";
import { podUnavailableBudgets } from "./budgets/pod-unavailable-budget.ts";
import { replicaSets } from "./replica-set.ts";
import { replicationControllers } from "./replication-controller.ts";
import { rollouts } from "./rollout.ts";
import { type SourceKind } from "./source.ts";
import { statefulSets } from "./stateful-set.ts";

/** All kinds that are built in, by what --generator-sources calls them. */
const kinds: Readonly<Record<SourceID, SourceKind>> = {
  "deployments.apps": deployments,
  "statefulsets.apps": statefulSets,
  "replicasets.apps": replicaSets,
  replicationcontrollers: replicationControllers,
  "clonesets.apps.kruise.io": cloneSets,
  "statefulsets.apps.kruise.io": advancedStatefulSets,
  "rollouts.argoproj.io": rollouts,
  "poddisruptionbudgets.policy": podDisruptionBudgets,
  "podunavailablebudgets.policy.kruise.io": podUnavailableBudgets,
};

/** All kinds that are built in. */
export const sourceKinds: readonly SourceKind[] = Object.values(kinds);

export function sourceKindOf(id: SourceID): SourceKind {
  return kinds[id];
}

/** The kinds of budgets, which are about the pods of workloads. */
export const budgetKinds: readonly BudgetKind[] = [podDisruptionBudgets, podUnavailableBudgets];
