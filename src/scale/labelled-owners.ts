/**
 * Whose pods a selector selects, by labels: the controllers of pods that are there, and workloads whose pod template
 * has such labels, whether their pods are there or not. So it is known where the core has no pods, and it stays known
 * while pods are being lost.
 */
import { type Labels } from "../api/pod.ts";
import { type CompiledSelector, createLabelSetIndex, createNamespacedIndex } from "../label-index/index.ts";
import { type KindMapping } from "./discovery.ts";
import { type ControllerRef, type OwnerObject } from "./owner-objects.ts";

/** What is kept of a pod. */
export interface OwnedPod {
  readonly namespace: string;
  readonly labels: Labels;
  readonly controller: ControllerRef | undefined;
}

/** What is read of a workload. */
export type LabelledWorkload = Pick<OwnerObject, "namespace" | "name" | "uid" | "podLabels">;
export interface GoneWorkload extends Pick<OwnerObject, "namespace" | "name" | "uid" | "isEnding"> {
  readonly isControlled: boolean;
}

export interface FoundOwners {
  /** By UID. */
  readonly controllers: ReadonlyMap<string, ControllerRef>;
  /** There are pods that nothing controls. */
  readonly hasBarePods: boolean;
}

/** Pods of one controller mostly share their labels, and are one entry. */
interface PodGroup {
  readonly controller: ControllerRef | undefined;
  pods: number;
}

interface Workload {
  readonly uid: string;
  readonly controller: ControllerRef;
}

/** More than one core has workloads, so that losing all of them forgets none; some hundred bytes each. */
const vanishedMaxDefault = 200_000;

export class LabelledOwners {
  readonly #index = createNamespacedIndex(createLabelSetIndex);
  /** By namespace, controller and labels. */
  readonly #groups = new Map<string, PodGroup>();
  /** By kind, namespace and name. */
  readonly #workloads = new Map<string, Workload>();
  /** Those of them that have vanished, the first one before the others, with their namespaces. */
  readonly #vanished = new Map<string, string>();
  readonly #vanishedMax: number;

  constructor(vanishedMax = vanishedMaxDefault) {
    this.#vanishedMax = vanishedMax;
  }

  /** True when it is the first one of its controller with these labels. */
  addPod(pod: OwnedPod): boolean {
    const id = groupID(pod);
    const group = this.#groups.get(id);
    if (group !== undefined) {
      group.pods += 1;
      return false;
    }
    this.#groups.set(id, { controller: pod.controller, pods: 1 });
    this.#index.track(pod.namespace, id, pod.labels);
    return true;
  }

  /** True when it was the last one. */
  removePod(pod: OwnedPod): boolean {
    const id = groupID(pod);
    const group = this.#groups.get(id);
    if (group === undefined) return false;
    group.pods -= 1;
    if (group.pods > 0) return false;
    this.#groups.delete(id);
    return this.#index.untrack(pod.namespace, id);
  }

  setWorkload({ resource, kind }: KindMapping, workload: LabelledWorkload): void {
    const { namespace, name, uid, podLabels } = workload;
    const id = workloadID(resource, namespace, name);
    if (podLabels === undefined) {
      this.#drop(id, namespace);
      return;
    }
    const apiVersion = resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
    this.#vanished.delete(id);
    this.#workloads.set(id, { uid, controller: { apiVersion, kind, name, uid } });
    this.#index.track(namespace, id, podLabels);
  }

  /**
   * The object is gone. One that was not deleted has vanished, and is found until one of its name is back: nobody knows
   * then how many pods there should be. Of those a limited number is remembered. With a controller it was that one's
   * business.
   */
  removeWorkload({ resource }: KindMapping, object: GoneWorkload): void {
    const id = workloadID(resource, object.namespace, object.name);
    if (this.#workloads.get(id)?.uid !== object.uid) return;
    if (object.isEnding || object.isControlled) return this.#drop(id, object.namespace);
    this.#vanished.set(id, object.namespace);
    const [oldest] = this.#vanished;
    if (this.#vanished.size > this.#vanishedMax && oldest !== undefined) this.#drop(...oldest);
  }

  find(namespace: string, selector: CompiledSelector): FoundOwners {
    const controllers = new Map<string, ControllerRef>();
    let hasBarePods = false;
    for (const id of this.#index.query(namespace, selector)) {
      const found = (this.#groups.get(id) ?? this.#workloads.get(id))?.controller;
      if (found === undefined) hasBarePods = true;
      else controllers.set(found.uid, found);
    }
    return { controllers, hasBarePods };
  }

  #drop(id: string, namespace: string): void {
    this.#vanished.delete(id);
    this.#workloads.delete(id);
    this.#index.untrack(namespace, id);
  }
}

function groupID({ namespace, labels, controller }: OwnedPod): string {
  const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(["pods", namespace, controller?.uid, sorted]);
}

function workloadID({ group, resource }: KindMapping["resource"], namespace: string, name: string): string {
  return JSON.stringify(["workload", group, resource, namespace, name]);
}
