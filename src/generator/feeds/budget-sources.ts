/**
 * Budgets as sources (docs/generator.md#poddisruptionbudgets): each is told of when it is known how many pods it is
 * about. While that is not known, the last count holds, else the floor that is in force.
 *
 * A budget is never written, so no finalizer of ours keeps it until its PodProtector is released. What its watch shows
 * as deleted stays here as a terminating object, until that is done. What is absent after a list has vanished.
 */
import { isDeepStrictEqual } from "node:util";
import { type FieldWriter } from "../../api/field-writers.ts";
import { type ObjectKey, objectKey } from "../../api/object-key.ts";
import { type LabelSelector } from "../../api/v1alpha1/pod-protector.ts";
import { type Informer, type InformerEvent, type InformerHandler, type Stored } from "../../kube/informer.ts";
import { KubeError, type Resource } from "../../kube/kube-client.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { createNamespacedIndex, createSelectorIndex } from "../../label-index/index.ts";
import { type ScaleTrouble } from "../../scale/read-scale.ts";
import { overridden } from "../../sources/overrides.ts";
import {
  type Budget,
  type BudgetHead,
  type BudgetKind,
  budgetSpec,
  type Expected,
  isByNumber,
  type NamedTarget,
  readBudgetHead,
} from "../../sources/budgets/budget.ts";
import { type HeldFloor } from "../../sources/scaled-kind.ts";
import { type SourceHead, type SourceRecord, type SourceRef, type Workloads } from "../../sources/source.ts";
import { type Clock, type MonotonicMs, sleep } from "../../util/clock.ts";
import { KeysByNamespace } from "../../util/keys-by-namespace.ts";
import { type Rng } from "../../util/rng.ts";
import { type ExpectedPods, noMembers, type OnExpectedChange } from "./expected-pods.ts";
import { isSameShares } from "../mass-changes/fallen-workloads.ts";
import { type Resolved, ResolvedSources, type TroubledSource, type TroubleEvent } from "./resolved-sources.ts";
import { type SourceFeed } from "../sources/source-caches.ts";
import { protectorKeyOf } from "../sources/source-plan.ts";

/** A namespace that is deleted has some hundred. What is more than that is taken for vanished. */
const departedMax = 10_000;
/** So long a deleted budget without a PodProtector is kept: one that was just being made for it is seen by then. */
const keptMs = 60_000;

/** As the disruption controller calls it. */
const event: TroubleEvent = {
  reason: "CalculateExpectedPodCountFailed",
  advice: "it is not known how many pods the workloads want that it selects",
};

export interface BudgetSourcesOptions {
  readonly kind: BudgetKind;
  readonly expected: ExpectedPods;
  readonly protectors: Pick<Informer<StoredProtector>, "get">;
  /** Of the PodProtector that is in force for the source. */
  readonly heldFloorOf: (source: SourceRef) => HeldFloor | undefined;
  readonly create: <T extends Stored>(resource: Resource, decode: (raw: unknown) => T | undefined) => Informer<T>;
  readonly clock: Clock;
  readonly rng: Rng;
}

/** What was told of a budget last. */
interface Known {
  readonly expected: Expected;
  readonly selector: LabelSelector | undefined;
  readonly source: SourceRecord;
}

/** What is known of the pods of a budget now. */
interface Found extends Expected {
  readonly workloads?: Workloads | undefined;
  /** Who wrote the replicas last. */
  readonly writer?: FieldWriter | undefined;
}

export class BudgetSources implements SourceFeed {
  readonly kind: BudgetKind;
  readonly #options: BudgetSourcesOptions;
  readonly #informer: Informer<BudgetHead>;
  readonly #resolved: ResolvedSources<BudgetHead>;
  /** Of those that are there. */
  readonly #selectors = createNamespacedIndex(createSelectorIndex);
  readonly #inNamespace = new KeysByNamespace<ObjectKey>();
  /** By UID. */
  readonly #known = new Map<string, Known>();
  /** Those that were seen deleted, the first before the others. */
  readonly #departed = new Map<ObjectKey, { readonly object: BudgetHead; readonly atMs: MonotonicMs }>();

  constructor(options: BudgetSourcesOptions) {
    this.#options = options;
    const { kind, create, clock, rng } = options;
    this.kind = {
      ...kind,
      readLive: (raw, signal) => this.#readLive(raw, signal),
      departed: ({ namespace, name }) => {
        const departed = this.#departed.get(objectKey(namespace, name));
        return departed && this.#terminating(departed.object);
      },
    };
    this.#informer = create(this.kind.resource, (raw) => readBudgetHead(this.kind, raw));
    this.#resolved = new ResolvedSources({
      resolve: (head, signal) => this.#resolve(head, signal),
      forget: (uid) => this.#known.delete(uid),
      clock,
      rng,
    });
    this.#watchExpected();
    this.#informer.subscribe({
      onEvent: (change) => this.#event(change),
      onListed: () =>
        this.#resolved.listed(
          ({ key, uid }) => (this.#informer.get(key) ?? this.#departed.get(key)?.object)?.uid === uid,
        ),
      onNotServed: () => this.#resolved.notServed(),
      onForbidden: () => this.#resolved.forbidden(),
    });
  }

  hasSynced(): boolean {
    return this.#resolved.hasSynced();
  }

  lastError(): string | undefined {
    return this.#informer.lastError();
  }

  subscribe(handler: InformerHandler<SourceRecord>): void {
    this.#resolved.subscribe(handler);
  }

  /** Budgets of which it is not known how many pods they are about. */
  *troubled(): IterableIterator<TroubledSource> {
    for (const troubled of this.#resolved.troubled()) yield { ...troubled, event };
  }

  /** Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#informer.run(signal), this.#resolved.run(signal), this.#forgetDeparted(signal)]);
  }

  #watchExpected(): void {
    const onChange: OnExpectedChange = (namespace, labels) => {
      const all = this.#inNamespace.of(namespace);
      const found = labels?.flatMap((one) => this.#selectors.query(namespace, one) as ObjectKey[]);
      // The selector of a workload that is named is not known here.
      const naming = [...all].filter((key) => this.#informer.get(key)?.budget?.target !== undefined);
      for (const key of found === undefined ? all : [...found, ...naming]) this.#resolved.again(key);
    };
    const onListed = (): void => {
      for (const key of this.#inNamespace.all()) this.#resolved.again(key);
    };
    this.#options.expected.subscribe({ onChange, onListed });
  }

  #event(change: InformerEvent<BudgetHead>): void {
    const { object } = change;
    const { key, namespace } = object;
    if (change.type !== "deleted") {
      this.#departed.delete(key);
      this.#inNamespace.add(namespace, key);
      const selector = object.budget?.selector;
      if (selector === undefined || !this.#selectors.track(namespace, key, selector).ok)
        this.#selectors.untrack(namespace, key);
      this.#resolved.changed(object);
      return;
    }
    this.#inNamespace.delete(namespace, key);
    this.#selectors.untrack(namespace, key);
    if (change.isAbsent === true) this.#resolved.gone(object);
    else this.#depart(object);
  }

  #depart(last: BudgetHead): void {
    const { clock } = this.#options;
    const object = { ...last, isTerminating: true, deletedAt: last.deletedAt ?? clock.epochMicros() };
    this.#departed.set(last.key, { object, atMs: clock.monotonicMs() });
    this.#resolved.changed(object);
    const [oldest] = this.#departed.values();
    if (this.#departed.size > departedMax && oldest !== undefined) this.#forget(oldest.object);
  }

  async #forgetDeparted(signal: AbortSignal): Promise<void> {
    const { clock, protectors } = this.#options;
    while (!signal.aborted) {
      await sleep(clock, keptMs, signal);
      if (signal.aborted) return;
      for (const { object, atMs } of this.#departed.values()) {
        const isLate = clock.monotonicMs() - atMs >= keptMs;
        if (isLate && protectors.get(protectorKeyOf(object)) === undefined) this.#forget(object);
      }
    }
  }

  #forget(object: BudgetHead): void {
    this.#departed.delete(object.key);
    this.#resolved.gone(object);
  }

  async #readLive(raw: unknown, signal: AbortSignal): Promise<SourceRecord | undefined> {
    const head = readBudgetHead(this.kind, raw);
    if (head === undefined || head.budget === undefined) return undefined;
    const { source, trouble } = await this.#resolve(head, signal);
    if (source !== undefined) return source;
    const text = `${head.kind.kind} ${head.key} is not protected yet: ${trouble?.text ?? ""}`;
    throw new KubeError(trouble?.kind === "lasting" ? "invalid" : "serverError", text);
  }

  async #resolve(head: BudgetHead, signal: AbortSignal): Promise<Resolved> {
    const { budget } = head;
    if (head.isTerminating) return { source: this.#terminating(head), trouble: undefined };
    if (budget === undefined)
      return this.#held(head, { kind: "lasting", problem: "wrong", text: "its spec is not valid" });
    if (budget.target !== undefined) return await this.#resolveNamed(head, budget, budget.target, signal);
    const { selector, statedReplicas } = budget;
    if (selector === undefined) return this.#found(head, budget, noPods);
    if (statedReplicas !== undefined) return this.#found(head, budget, stated(statedReplicas));
    const answer = await this.#options.expected.of(head.namespace, selector, signal);
    if (answer.kind === "unknown") return this.#unknown(head, budget, answer.trouble);
    if (answer.kind === "unmanaged") return this.#unmanaged(head, budget);
    const { lacking, members, writer } = answer;
    if (lacking !== undefined && this.#wouldFall(head, budget, answer)) return this.#held(head, lacking);
    const workloads = { asked: JSON.stringify(selector), members };
    return this.#found(head, budget, { ...answer, workloads, writer });
  }

  /** Its pods are those of one workload, and what selects them is known by that alone. */
  async #resolveNamed(head: BudgetHead, budget: Budget, target: NamedTarget, signal: AbortSignal): Promise<Resolved> {
    const answer = await this.#options.expected.ofTarget(head.namespace, target, signal);
    if (answer.kind === "unknown")
      return this.#held(head, { ...answer.trouble, text: `spec.targetRef: ${answer.trouble.text}` });
    const { replicas, selector, writer } = answer;
    const meant = { ...budget, selector };
    const { statedReplicas } = budget;
    if (statedReplicas !== undefined) return this.#found(head, meant, stated(statedReplicas));
    return this.#found(head, meant, { ...stated(replicas), writer });
  }

  /** As a number, minAvailable needs no scale: it may cover what has none, such as a DaemonSet. */
  #unknown(head: BudgetHead, budget: Budget, trouble: ScaleTrouble): Resolved {
    const hasNoScale = trouble.kind === "lasting" && trouble.problem === "notScalable";
    return hasNoScale && isByNumber(budget) ? this.#found(head, budget, onlyBarePods) : this.#held(head, trouble);
  }

  /** The number of its minAvailable is all that it needs. A workload that was deleted leaves the last count. */
  #unmanaged(head: BudgetHead, budget: Budget): Resolved {
    const last = this.#known.get(head.uid)?.expected;
    if (last?.replicas === 0 && !last.hasBarePods) return this.#found(head, budget, last);
    if (isByNumber(budget)) return this.#found(head, budget, onlyBarePods);
    return this.#held(head, noMembers);
  }

  /** Whether the floor would be lower than it is by what is known in part. */
  #wouldFall(head: BudgetHead, budget: Budget, expected: Expected): boolean {
    const last = this.#known.get(head.uid)?.expected;
    if (last !== undefined) return expected.replicas < last.replicas;
    const held = this.#options.heldFloorOf(head)?.minAvailable ?? 0;
    return floorOf(budget, expected) < held;
  }

  #found(head: BudgetHead, budget: Budget, { replicas, hasBarePods, workloads, writer }: Found): Resolved {
    const last = this.#known.get(head.uid);
    const { selector } = budget;
    const isSame = last?.expected.replicas === replicas && last.expected.hasBarePods === hasBarePods;
    const hasSamePods = budget.target === undefined || isDeepStrictEqual(last?.selector, selector);
    const isSameRecord = isSame && hasSamePods && last.source.resourceVersion === head.resourceVersion;
    if (isSameRecord && isSameShares(last.source.workloads, workloads))
      return { source: last.source, trouble: undefined };
    const writers = { ...head.writers, replicas: writer };
    const spec = overridden(budgetSpec(budget, { replicas, hasBarePods }), head.overrides);
    const source = { ...headOf(head), writers, spec, ...(workloads && { workloads }) };
    this.#known.set(head.uid, { expected: { replicas, hasBarePods }, selector, source });
    return { source, trouble: undefined };
  }

  #held(head: BudgetHead, trouble: ScaleTrouble): Resolved {
    const { budget } = head;
    const last = this.#known.get(head.uid);
    if (last !== undefined) {
      if (budget === undefined) return { source: last.source, trouble };
      const meant = budget.target === undefined ? budget : { ...budget, selector: last.selector };
      const { workloads, writers } = last.source;
      return { ...this.#found(head, meant, { ...last.expected, workloads, writer: writers.replicas }), trouble };
    }
    const held = this.#options.heldFloorOf(head);
    if (budget?.selector !== undefined && isByNumber(budget) && held === undefined)
      return { source: recordOf(head, budgetSpec(budget, onlyBarePods)), trouble };
    if (held === undefined) return { source: undefined, trouble };
    const { minReadySeconds } = held;
    const minAvailable = Math.min(held.minAvailable, mostBy(head));
    const floor = { minAvailable, replicas: minAvailable, kind: "drainable" } as const;
    const selector = budget?.selector ?? held.selector;
    return {
      source: recordOf(head, { replicas: minAvailable, minReadySeconds, selector, floorBy: () => floor }),
      trouble,
    };
  }

  /** It is let go whatever it is about. */
  #terminating(head: BudgetHead): SourceRecord {
    const known = this.#known.get(head.uid)?.source.spec;
    const spec = known ?? budgetSpec({ limit: undefined, selector: undefined }, noPods);
    return { ...headOf(head), spec };
  }
}

const noPods: Expected = { replicas: 0, hasBarePods: false };
const stated = (replicas: number): Expected => ({ replicas, hasBarePods: false });
const onlyBarePods: Expected = { replicas: 0, hasBarePods: true };

/** An override of the floor is a share of replicas, which nobody knows. */
function recordOf(head: BudgetHead, spec: SourceRecord["spec"]): SourceRecord {
  return { ...headOf(head), spec: overridden(spec, { ...head.overrides, floor: undefined }) };
}

function headOf(watched: BudgetHead): SourceHead {
  const { budget: _, ...head } = watched;
  return head;
}

/** The floor is never above it, however many pods there should be. */
function mostBy({ budget, overrides }: BudgetHead): number {
  if (budget === undefined || !isByNumber(budget) || overrides.floor !== undefined) return Infinity;
  return floorOf(budget, onlyBarePods);
}

/** A budget's floor depends on no setting of the generator. */
function floorOf(budget: Budget, expected: Expected): number {
  return budgetSpec(budget, expected).floorBy({ percentRounding: "up", singleReplica: "drainable" }).minAvailable;
}
