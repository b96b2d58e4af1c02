/**
 * PodDisruptionBudgets as an eviction meets them, after the webhooks (Kubernetes' pkg/registry/core/pod/storage/
 * eviction.go). Deletions do not meet them.
 */
import { asObject, fieldsOf } from "../../api/json.ts";
import { type LabelSelector } from "../../api/v1alpha1/pod-protector.ts";
import { type CompiledSelector, compileSelector, matches } from "../../label-index/index.ts";
import { type SimulatedPod } from "./simulated-pods.ts";

export interface Budget {
  readonly namespace: string;
  readonly name: string;
  readonly selector: CompiledSelector;
  /** spec.unhealthyPodEvictionPolicy is AlwaysAllow. */
  readonly sparesUnready: boolean;
  /** The status is that of the present spec. */
  readonly isObserved: boolean;
  readonly allowed: number;
  /** Healthy pods, those that were evicted a moment ago included. */
  readonly healthy: number;
  readonly desired: number;
  readonly expected: number;
}

export interface BudgetRefusal {
  /**
   * several: the API server does not evict a pod with more than one. unobserved: the disruption controller has not
   * looked at the present spec. none-allowed: no disruption is allowed.
   */
  readonly kind: "several" | "unobserved" | "none-allowed";
  readonly budgets: readonly [Budget, ...Budget[]];
}

/** Undefined for a budget that selects nothing, and for what is none. Never throws. */
export function readBudget(raw: unknown): Budget | undefined {
  const { metadata, spec, status } = fieldsOf(raw);
  const { namespace, name, generation } = fieldsOf(metadata);
  const { selector, unhealthyPodEvictionPolicy } = fieldsOf(spec);
  const { observedGeneration, disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods, disruptedPods } =
    fieldsOf(status);
  if (typeof namespace !== "string" || typeof name !== "string" || asObject(selector) === undefined) return undefined;
  const compiled = compileSelector(selector as LabelSelector);
  if (!compiled.ok) return undefined;
  return {
    namespace,
    name,
    selector: compiled.selector,
    sparesUnready: unhealthyPodEvictionPolicy === "AlwaysAllow",
    isObserved: numberOf(observedGeneration) >= numberOf(generation),
    allowed: numberOf(disruptionsAllowed),
    healthy: numberOf(currentHealthy) + Object.keys(fieldsOf(disruptedPods)).length,
    desired: numberOf(desiredHealthy),
    expected: numberOf(expectedPods),
  };
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

/** The budgets of a simulation, with what evictions have taken from them. */
export class Budgets {
  #budgets: readonly Budget[];

  constructor(budgets: readonly Budget[]) {
    this.#budgets = budgets;
  }

  /** Takes the eviction of the pod from its budget; else says why it may not go. */
  take(pod: SimulatedPod): BudgetRefusal | undefined {
    const { record, isPending } = pod;
    if (record.isTerminating || record.isTerminal || isPending) return undefined;
    const [budget, ...others] = this.#budgets.filter((one) => isOf(one, pod));
    if (budget === undefined) return undefined;
    if (others.length > 0) return { kind: "several", budgets: [budget, ...others] };
    const { sparesUnready, healthy, desired, allowed, isObserved } = budget;
    if (!record.isReady && (sparesUnready || (desired > 0 && healthy >= desired))) return undefined;
    if (!isObserved) return { kind: "unobserved", budgets: [budget] };
    if (allowed <= 0) return { kind: "none-allowed", budgets: [budget] };
    this.#change(budget, { ...budget, allowed: allowed - 1 });
    return undefined;
  }

  /** The disruption controller has looked at all, and pods that have gone are replaced where they have controllers. */
  replaced(gone: readonly SimulatedPod[]): void {
    this.#budgets = this.#budgets.map((budget) => {
      const ofIt = gone.filter((pod) => isOf(budget, pod) && !pod.record.isTerminating && !pod.record.isTerminal);
      const change = ofIt.reduce((sum, { record, controllerKind }) => {
        return sum + (controllerKind === undefined ? 0 : 1) - (record.isReady ? 1 : 0);
      }, 0);
      const healthy = budget.healthy + change;
      return { ...budget, healthy, isObserved: true, allowed: Math.max(0, healthy - budget.desired) };
    });
  }

  #change(before: Budget, after: Budget): void {
    this.#budgets = this.#budgets.map((one) => (one === before ? after : one));
  }
}

function isOf({ namespace, selector }: Budget, { record }: SimulatedPod): boolean {
  return namespace === record.namespace && matches(selector, record.labels);
}
