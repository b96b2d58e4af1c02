/**
 * How many pods the workloads of the core want that a budget selects (docs/generator.md#poddisruptionbudgets). The
 * workloads are found by the pods that are there and by their pod templates (scale/labelled-owners.ts), and the sum of
 * their replicas is what scale/expected-replicas.ts says. Pods are never counted.
 */
import { type FieldWriter } from "../../api/field-writers.ts";
import { fieldsOf } from "../../api/json.ts";
import { objectKey } from "../../api/object-key.ts";
import { type Labels } from "../../api/pod.ts";
import { parseResourceVersion } from "../../api/resource-version.ts";
import { type FloorTarget, type LabelSelector } from "../../api/v1alpha1/pod-protector.ts";
import { type CustomSourceID, isCustomSourceID, type SourceID } from "../../config/generator-rules.ts";
import { type Informer, type InformerHandler, type Stored } from "../../kube/informer.ts";
import { asKubeError, type Resource } from "../../kube/kube-client.ts";
import { pods } from "../../kube/resources.ts";
import { compileSelector } from "../../label-index/index.ts";
import { type Discovery, type KindMapping } from "../../scale/discovery.ts";
import { expectedReplicas, type ExpectedReplicasOptions, type Member } from "../../scale/expected-replicas.ts";
import { LabelledOwners, type OwnedPod } from "../../scale/labelled-owners.ts";
import { controllerOf, type OwnerChange, type OwnerObject, OwnerObjects } from "../../scale/owner-objects.ts";
import { type ScaleTrouble } from "../../scale/read-scale.ts";
import { type ScaleMemory } from "../../scale/scale-memory.ts";
import { targetPods, type TargetPods, targetReplicas } from "../../scale/target-replicas.ts";
import { sourceKindOf } from "../../sources/index.ts";
import { type ScaledKind } from "../../sources/scaled-kind.ts";
import { type OwnerKind, type SourceRecord } from "../../sources/source.ts";
import { assert } from "../../util/assert.ts";
import { type Clock, sleep } from "../../util/clock.ts";
import { aborted, linkedAbort } from "../../util/linked-abort.ts";

/** Pods are waited for so long, as owners are. */
const listedWithinMs = 10_000;

/** What there is to say of "unmanaged". */
export const noMembers: ScaleTrouble = {
  kind: "lasting",
  problem: "wrong",
  text: "No workload of the core, and no pod with a controller, has labels that spec.selector matches",
};

export type ExpectedAnswer =
  | {
      readonly kind: "known";
      readonly replicas: number;
      readonly hasBarePods: boolean;
      /** Who wrote the replicas last. */
      readonly writer: FieldWriter | undefined;
      readonly members: readonly Member[];
      /** Why there may be more: what cannot be listed, or goes with its CRD; undefined = there are no more. */
      readonly lacking: ScaleTrouble | undefined;
    }
  /** Nothing that it selects has a controller. */
  | { readonly kind: "unmanaged" }
  | { readonly kind: "unknown"; readonly trouble: ScaleTrouble };

/** The answers of a namespace may have changed: of selectors that match one of these labels, or of all (undefined). */
export type OnExpectedChange = (namespace: string, labels: readonly Labels[] | undefined) => void;

export interface ExpectedPodsOptions {
  /** Whose pod templates are looked at. */
  readonly kinds: readonly KindMapping[];
  /** An informer in the namespace of the core, not running yet. */
  readonly create: <T extends Stored>(resource: Resource, decode: (raw: unknown) => T | undefined) => Informer<T>;
  readonly discovery: Discovery;
  readonly memory: ScaleMemory;
  /** Whether the API server no longer serves a kind, or its CRD is being deleted. Rejects with a KubeError. */
  readonly isLost: (kind: OwnerKind, signal: AbortSignal) => Promise<boolean>;
  readonly clock: Clock;
}

interface StoredPod extends OwnedPod, Stored {}

/** Who asks, and is told of what may have changed. */
export interface ExpectedHandler {
  readonly onChange: OnExpectedChange;
  /** All answers may have changed. */
  readonly onListed: () => void;
  /** Answers about workloads that are selected by their own labels may have changed. */
  readonly onRelabelled?: (namespace: string) => void;
}

interface Running {
  readonly objects: OwnerObjects;
  readonly signal: AbortSignal;
}

interface Listing {
  readonly pods: Informer<StoredPod>;
  /** The pods are listed, or were waited for in vain. */
  readonly met: Promise<void>;
  readonly ended: Promise<void>;
}

/** Kinds with a pod template: what Kubernetes has, and those of these that are built in. */
export function podOwnersOf(ids: readonly (SourceID | CustomSourceID)[]): readonly KindMapping[] {
  const named = ids.filter((id) => id === "rollouts.argoproj.io" || id.endsWith(".apps.kruise.io"));
  const all: readonly (SourceID | CustomSourceID)[] = [
    "deployments.apps",
    "statefulsets.apps",
    "replicasets.apps",
    "replicationcontrollers",
    ...named,
  ];
  return all.flatMap((id) => {
    if (isCustomSourceID(id)) return [];
    const { resource, kind } = sourceKindOf(id);
    return [{ resource, kind, isNamespaced: true, hasScale: true }];
  });
}

export class ExpectedPods {
  readonly #options: ExpectedPodsOptions;
  readonly #owners = new LabelledOwners();
  /** By group and resource. */
  readonly #kinds: ReadonlySet<string>;
  readonly #handlers: ExpectedHandler[] = [];
  #running: Running | undefined;
  #listing: Listing | undefined;
  #arePodsForbidden = false;

  constructor(options: ExpectedPodsOptions) {
    this.#options = options;
    this.#kinds = new Set(options.kinds.map(idOf));
  }

  /** For the feed of a custom kind, whose pods have the labels that its scale selects. */
  customHandler(kind: ScaledKind): InformerHandler<SourceRecord> {
    return {
      onEvent: (event) => {
        const { type, object } = event;
        if (type === "modified" && isSameScaled(object, event.previous)) return;
        const mapping = { resource: kind.resource, kind: kind.kind, isNamespaced: true, hasScale: true };
        if (type === "deleted") this.#owners.removeWorkload(mapping, { ...object, isEnding: object.isTerminating });
        else this.#owners.setWorkload(mapping, { ...object, podLabels: labelsOf(object.spec.selector) });
        this.#changed(object.namespace, undefined);
      },
    };
  }

  /** Only before `run`. */
  subscribe(handler: ExpectedHandler): void {
    this.#handlers.push(handler);
  }

  /** Answers until the signal aborts; never rejects. Pods and workloads are listed when they are first asked about. */
  async run(signal: AbortSignal): Promise<void> {
    const { create, clock } = this.#options;
    const objects = new OwnerObjects({
      create,
      clock,
      signal,
      onChange: (mapping, change) => this.#ownerChanged(mapping, change),
    });
    this.#running = { objects, signal };
    await aborted(signal);
    await this.#listing?.ended;
  }

  /** The replicas of workloads that are named. Rejects only when `signal` aborts. */
  async ofTargets(namespace: string, targets: readonly FloorTarget[], signal: AbortSignal): Promise<ExpectedAnswer> {
    const answer = await targetReplicas(namespace, targets, this.#asked(), signal);
    assert(answer.kind !== "unmanaged", "that is an answer about pods");
    if (answer.kind !== "known") return { kind: "unknown", trouble: answer };
    const lacking = await this.#lostOf(answer.ended, signal);
    return { ...answer, hasBarePods: false, lacking };
  }

  /** The replicas of one workload that is named, and its pods. Rejects only when `signal` aborts. */
  async ofTarget(
    namespace: string,
    target: FloorTarget & { readonly name: string },
    signal: AbortSignal,
  ): Promise<TargetPods> {
    const answer = await targetPods(namespace, target, this.#asked(), signal);
    const lost = answer.kind === "known" ? await this.#lostOf(answer.ended, signal) : undefined;
    return lost === undefined ? answer : { kind: "unknown", trouble: lost };
  }

  /** The first of these workloads that is gone although nobody has deleted it, as far as this process has seen. */
  async vanished(members: readonly Member[]): Promise<Member | undefined> {
    const { objects } = this.#asked();
    for (const member of members) {
      const { mapping, object } = member.owner;
      const answer = await objects.read(mapping, object.namespace, object.name);
      if (answer.kind === "missing" && objects.former(object.uid)?.isEnding !== true) return member;
    }
    return undefined;
  }

  /** Rejects only when `signal` aborts. */
  async of(namespace: string, selector: LabelSelector, signal: AbortSignal): Promise<ExpectedAnswer> {
    const asked = this.#asked();
    const lacking = await this.#lacking(asked.objects);
    const compiled = compileSelector(selector);
    if (!compiled.ok) return { kind: "unknown", trouble: wrong(`spec.selector: ${compiled.reason}`) };
    const { controllers, hasBarePods } = this.#owners.find(namespace, compiled.selector);
    const owned = [...controllers.values()].map((one) => ({ ownerReferences: [{ ...one, controller: true }] }));
    const answer = await expectedReplicas(namespace, owned, asked, signal);
    if (answer.kind === "known")
      return { ...answer, hasBarePods, lacking: lacking ?? (await this.#lostOf(answer.ended, signal)) };
    if (answer.kind !== "unmanaged") return { kind: "unknown", trouble: answer };
    return lacking === undefined ? { kind: "unmanaged" } : { kind: "unknown", trouble: lacking };
  }

  /**
   * A CRD that is deleted takes all its objects along, with a deletionTimestamp each, and nobody has asked for that:
   * the replicas of those that have gone so far are lacking.
   */
  async #lostOf(ended: readonly KindMapping[], signal: AbortSignal): Promise<ScaleTrouble | undefined> {
    const kinds = new Map(ended.map((mapping) => [idOf(mapping), mapping]));
    for (const { resource, kind } of kinds.values()) {
      const { group, version } = resource;
      // Only groups with a dot have CRDs.
      if (!group.includes(".")) continue;
      try {
        if (await this.#options.isLost({ apiVersion: `${group}/${version}`, kind }, signal))
          return wrong(`${kind}.${group}: its CustomResourceDefinition is being deleted, or is gone`);
      } catch (error) {
        if (signal.aborted) throw error;
        return { kind: "notNow", text: asKubeError(error).message };
      }
    }
    return undefined;
  }

  #asked(): ExpectedReplicasOptions {
    assert(this.#running !== undefined, "it runs before it is asked");
    const { discovery, memory } = this.#options;
    return { objects: this.#running.objects, discovery, memory };
  }

  /** Pods and workloads are listed from now on. */
  #listAll({ objects, signal }: Running): Listing {
    const { create, kinds } = this.#options;
    const informer = create(pods, readOwnedPod);
    const met = this.#whenMet(informer, signal);
    // Those that fail go on trying by themselves.
    for (const mapping of kinds) void objects.follow(mapping);
    return { pods: informer, met, ended: informer.run(signal) };
  }

  async #lacking(objects: OwnerObjects): Promise<ScaleTrouble | undefined> {
    assert(this.#running !== undefined, "it runs before it is asked");
    this.#listing ??= this.#listAll(this.#running);
    const { pods: informer, met } = this.#listing;
    await met;
    if (!informer.hasSynced()) {
      const text = informer.lastError() ?? "pods are not listed yet";
      return this.#arePodsForbidden ? forbidden(text) : { kind: "notNow", text };
    }
    const unlisted = await Promise.all(this.#options.kinds.map((mapping) => objects.follow(mapping)));
    const first = unlisted.find((one) => one !== undefined);
    if (first === undefined) return undefined;
    return first.isForbidden ? forbidden(first.text) : { kind: "notNow", text: first.text };
  }

  async #whenMet(informer: Informer<StoredPod>, signal: AbortSignal): Promise<void> {
    using waiting = linkedAbort(signal);
    const listed = new Promise<void>((resolve) => {
      informer.subscribe({
        onEvent: (event) => {
          if (event.type === "deleted") this.#podChanged(undefined, event.object);
          else this.#podChanged(event.object, event.type === "modified" ? event.previous : undefined);
        },
        onListed: () => {
          this.#arePodsForbidden = false;
          resolve();
          this.#allListed();
        },
        onForbidden: () => {
          this.#arePodsForbidden = true;
          resolve();
        },
      });
    });
    await Promise.race([listed, sleep(this.#options.clock, listedWithinMs, waiting.signal)]);
    waiting.abort();
  }

  #changed(namespace: string, labels: readonly Labels[] | undefined): void {
    for (const { onChange } of this.#handlers) onChange(namespace, labels);
  }

  #allListed(): void {
    for (const { onListed } of this.#handlers) onListed();
  }

  #podChanged(object: StoredPod | undefined, previous: StoredPod | undefined): void {
    // In this order a group that goes on does not look like a new one.
    const isNew = object !== undefined && this.#owners.addPod(object);
    const wasLast = previous !== undefined && this.#owners.removePod(previous);
    const changed = [isNew ? object : undefined, wasLast ? previous : undefined].filter((one) => one !== undefined);
    const { namespace } = changed[0] ?? {};
    if (namespace === undefined) return;
    this.#changed(
      namespace,
      changed.map(({ labels }) => labels),
    );
  }

  #ownerChanged(mapping: KindMapping, change: OwnerChange | undefined): void {
    if (change === undefined) return this.#allListed();
    const { object, previous } = change;
    const isFollowed = this.#kinds.has(idOf(mapping));
    if (isFollowed && object !== undefined) this.#owners.setWorkload(mapping, object);
    else if (isFollowed && previous !== undefined)
      this.#owners.removeWorkload(mapping, { ...previous, isControlled: previous.controller !== undefined });
    if (object !== undefined && previous !== undefined && isSame(object, previous)) {
      if (JSON.stringify(object.labels) === JSON.stringify(previous.labels)) return;
      for (const { onRelabelled } of this.#handlers) onRelabelled?.(object.namespace);
      return;
    }
    const either = object ?? previous;
    if (either === undefined) return;
    const labels = [object?.podLabels, previous?.podLabels].filter((one) => one !== undefined);
    // The pods of others are only known by themselves.
    this.#changed(either.namespace, isFollowed && labels.length > 0 ? labels : undefined);
  }
}

/** Whether nothing of it has changed that an answer depends on. */
function isSame(a: OwnerObject, b: OwnerObject): boolean {
  const isSpecSame = a.fingerprint.generation === b.fingerprint.generation;
  return isSpecSame && a.isEnding === b.isEnding && a.controller?.uid === b.controller?.uid;
}

/** As `isSame`, of custom resources. Their operators write the status all the time. */
function isSameScaled(a: SourceRecord, b: SourceRecord): boolean {
  const isSpecSame = a.spec.replicas === b.spec.replicas && a.spec.selector === b.spec.selector;
  return isSpecSame && a.uid === b.uid && a.isTerminating === b.isTerminating;
}

/** What the pods have that a selector asks for by single values. */
function labelsOf({ matchLabels = {}, matchExpressions = [] }: LabelSelector): Labels {
  const single = matchExpressions.flatMap(({ key, operator, values: [value, ...others] = [] }) =>
    operator === "In" && value !== undefined && others.length === 0 ? [[key, value] as const] : [],
  );
  return { ...Object.fromEntries(single), ...matchLabels };
}

function readOwnedPod(raw: unknown): StoredPod | undefined {
  const metadata = fieldsOf(fieldsOf(raw)["metadata"]);
  const { namespace, name, uid, resourceVersion, labels, ownerReferences } = metadata;
  const version = typeof resourceVersion === "string" ? parseResourceVersion(resourceVersion) : undefined;
  if (typeof namespace !== "string" || typeof name !== "string" || typeof uid !== "string" || version === undefined)
    return undefined;
  const texts = Object.entries(fieldsOf(labels)).filter((one): one is [string, string] => typeof one[1] === "string");
  return {
    key: objectKey(namespace, name),
    uid,
    resourceVersion: version,
    namespace,
    labels: Object.fromEntries(texts),
    controller: controllerOf(ownerReferences),
  };
}

function idOf({ resource }: KindMapping): string {
  return `${resource.resource}.${resource.group}`;
}

function wrong(text: string): ScaleTrouble {
  return { kind: "lasting", problem: "wrong", text };
}

function forbidden(text: string): ScaleTrouble {
  return { kind: "lasting", problem: "forbidden", text };
}
