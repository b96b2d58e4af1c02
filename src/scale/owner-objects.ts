/**
 * The owners of pods, and the owners of these, from local copies: one informer for each kind that is met. So an owner
 * costs no request of its own however many pods it has, and what has not changed costs none at all. By the fingerprint
 * of the object scale-memory.ts knows whether its scale has to be read.
 */
import { type FieldWriter, readFieldWriters } from "../api/field-writers.ts";
import { asList, asObject, fieldsOf, type Json } from "../api/json.ts";
import { type V1ObjectMeta, type V1OwnerReference, type V1PodTemplateSpec } from "../api/models.ts";
import { type ObjectKey, objectKey } from "../api/object-key.ts";
import { type Labels } from "../api/pod.ts";
import { parseResourceVersion } from "../api/resource-version.ts";
import { type Informer, type Stored } from "../kube/informer.ts";
import { type Resource } from "../kube/kube-client.ts";
import { type CompiledSelector, matches } from "../label-index/index.ts";
import { type Clock, longAgo, sleep } from "../util/clock.ts";
import { KeysByNamespace } from "../util/keys-by-namespace.ts";
import { linkedAbort } from "../util/linked-abort.ts";
import { type Fingerprint, fingerprintOf } from "./scale-memory.ts";
import { type KindMapping } from "./discovery.ts";

/** Of an owner reference with `controller: true`. */
export interface ControllerRef {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/** What is kept of an object. */
export interface OwnerObject extends Stored {
  readonly namespace: string;
  readonly name: string;
  /** Its own. */
  readonly labels: Labels;
  readonly controller: ControllerRef | undefined;
  readonly fingerprint: Fingerprint;
  /** spec.replicas, whatever that means for its kind. */
  readonly replicas: number | undefined;
  /** Who wrote spec.replicas last; undefined = nobody knows. */
  readonly replicasWriter: FieldWriter | undefined;
  /** spec.selector as it is, whatever that means for its kind. */
  readonly selector: unknown;
  /** Of its pod template; undefined = it has none at the usual place. */
  readonly podLabels: Labels | undefined;
  /** It has been deleted, and its pods are to go with it. */
  readonly isEnding: boolean;
}

export type OwnerAnswer =
  | { readonly kind: "present"; readonly object: OwnerObject }
  | { readonly kind: "missing" }
  | UnlistedKind;

/** A kind that cannot be listed, now or for long. */
export interface UnlistedKind {
  readonly kind: "unlisted";
  readonly isForbidden: boolean;
  readonly text: string;
}

/** References name what they like. Fleets have some twenty kinds that own pods; each is a watch, and memory. */
const kindsMax = 100;
/** A kind that is met for the first time is waited for so long. */
const listedWithinMs = 10_000;
/** Objects that are gone: a fleet that deletes ten workloads a second has pods of the last hours of them at most. */
const formerMax = 50_000;

interface Watched {
  readonly informer: Informer<OwnerObject>;
  /** The objects of a large core are some ten thousand, and a namespace has few of them. */
  readonly inNamespace: KeysByNamespace<ObjectKey>;
  /** It was listed, or waited for in vain. */
  readonly met: Promise<void>;
  isForbidden: boolean;
  /** Forbidden, or not served. */
  isUseless: boolean;
  readonly stop: () => void;
}

export interface OwnerObjectsOptions {
  /** Not running yet. */
  readonly create: (resource: Resource, decode: (raw: unknown) => OwnerObject | undefined) => Informer<OwnerObject>;
  readonly clock: Clock;
  /** Ends all watches. */
  readonly signal: AbortSignal;
  /** Is told of each object that comes, changes or goes (`object` undefined), and that a kind was listed (no key). */
  readonly onChange?: (mapping: KindMapping, change: OwnerChange | undefined) => void;
}

/** At least one of them is there. */
export interface OwnerChange {
  readonly object: OwnerObject | undefined;
  readonly previous: OwnerObject | undefined;
}

export class OwnerObjects {
  readonly #options: OwnerObjectsOptions;
  readonly #watched = new Map<string, Watched>();
  /** The last states of objects that are gone, by UID, the one that went first before the others. */
  readonly #former = new Map<string, OwnerObject>();
  #madeRoomAtMs = longAgo;

  constructor(options: OwnerObjectsOptions) {
    this.#options = options;
  }

  async read(mapping: KindMapping, namespace: string, name: string): Promise<OwnerAnswer> {
    const watched = await this.#listed(mapping);
    if ("kind" in watched) return watched;
    const object = watched.informer.get(objectKey(mapping.isNamespaced ? namespace : "", name));
    return object === undefined ? { kind: "missing" } : { kind: "present", object };
  }

  /** The objects of a kind in a namespace that are selected. Some thousand are looked through in a millisecond. */
  async select(
    mapping: KindMapping,
    namespace: string,
    selector: CompiledSelector,
  ): Promise<readonly OwnerObject[] | UnlistedKind> {
    const watched = await this.#listed(mapping);
    if ("kind" in watched) return watched;
    const { informer, inNamespace } = watched;
    const objects = [...inNamespace.of(namespace)].flatMap((key) => informer.get(key) ?? []);
    return objects.filter(({ labels }) => matches(selector, labels));
  }

  /** Has all objects of a kind followed; undefined when they are listed. */
  async follow(mapping: KindMapping): Promise<UnlistedKind | undefined> {
    const watched = await this.#listed(mapping);
    return "kind" in watched ? watched : undefined;
  }

  /** The last state of an object that is gone, as far as this process has seen it go. */
  former(uid: string): OwnerObject | undefined {
    return this.#former.get(uid);
  }

  async #listed(mapping: KindMapping): Promise<Watched | UnlistedKind> {
    const { group, version, resource } = mapping.resource;
    const id = `${group}/${version}/${resource}`;
    const watched = this.#watched.get(id) ?? this.#watch(id, mapping);
    if (watched === undefined)
      return { kind: "unlisted", isForbidden: false, text: `pods have owners of more than ${kindsMax} kinds` };
    await watched.met;
    if (watched.informer.hasSynced()) return watched;
    const text = watched.informer.lastError() ?? `${id} is not listed yet`;
    return { kind: "unlisted", isForbidden: watched.isForbidden, text };
  }

  #watch(id: string, mapping: KindMapping): Watched | undefined {
    if (this.#watched.size >= kindsMax && !this.#makeRoom()) return undefined;
    const informer = this.#options.create(mapping.resource, readOwner);
    let onListed = (): void => {};
    const listed = new Promise<void>((resolve) => (onListed = resolve));
    const inNamespace = new KeysByNamespace<ObjectKey>();
    const watching = linkedAbort(this.#options.signal);
    const watched = {
      informer,
      inNamespace,
      met: this.#wait(listed),
      isForbidden: false,
      isUseless: false,
      stop: () => watching.abort(),
    };
    const { onChange = () => {} } = this.#options;
    informer.subscribe({
      onEvent: (event) => {
        const isGone = event.type === "deleted";
        const { namespace, key } = event.object;
        // One that was replaced under its name is still in the store.
        if (informer.get(key) === undefined) inNamespace.delete(namespace, key);
        else inNamespace.add(namespace, key);
        if (isGone) this.#keepFormer(event.object);
        const previous = isGone ? event.object : event.type === "modified" ? event.previous : undefined;
        onChange(mapping, { object: isGone ? undefined : event.object, previous });
      },
      onListed: () => {
        watched.isForbidden = false;
        watched.isUseless = false;
        onListed();
        onChange(mapping, undefined);
      },
      onForbidden: () => {
        watched.isForbidden = true;
        watched.isUseless = true;
        onListed();
      },
      onNotServed: () => {
        watched.isUseless = true;
        onListed();
      },
    });
    this.#watched.set(id, watched);
    // It never rejects, and ends with the signal.
    void informer.run(watching.signal).finally(() => watching[Symbol.dispose]());
    return watched;
  }

  /**
   * A kind that cannot be listed gives its place to another one: whoever makes objects in a namespace names such kinds
   * at no cost. One in ten seconds, so that names of very many kinds do not become as many requests.
   */
  #makeRoom(): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#madeRoomAtMs < listedWithinMs) return false;
    const useless = this.#watched.entries().find(([, { informer, isUseless }]) => isUseless && !informer.hasSynced());
    if (useless === undefined) return false;
    this.#madeRoomAtMs = nowMs;
    const [id, { stop }] = useless;
    this.#watched.delete(id);
    stop();
    return true;
  }

  #keepFormer(object: OwnerObject): void {
    this.#former.set(object.uid, object);
    const oldest = this.#former.keys().next();
    if (this.#former.size > formerMax && oldest.done !== true) this.#former.delete(oldest.value);
  }

  async #wait(listed: Promise<void>): Promise<void> {
    const { clock, signal } = this.#options;
    using waiting = linkedAbort(signal);
    await Promise.race([listed, sleep(clock, listedWithinMs, waiting.signal)]);
    waiting.abort();
  }
}

/** The controller among owner references. */
export function controllerOf(ownerReferences: unknown): ControllerRef | undefined {
  const found = asList(ownerReferences)
    .map((owner) => fieldsOf<V1OwnerReference>(owner))
    .find(({ controller }) => controller === true);
  const { apiVersion, kind, name, uid } = found ?? {};
  const isWhole = [apiVersion, kind, name, uid].every((text) => typeof text === "string" && text !== "");
  return isWhole ? ({ apiVersion, kind, name, uid } as ControllerRef) : undefined;
}

function readOwner(raw: unknown): OwnerObject | undefined {
  const { metadata, spec } = fieldsOf(raw);
  const all = fieldsOf<V1ObjectMeta>(metadata);
  const { namespace = "", name, uid, resourceVersion, ownerReferences, deletionTimestamp } = all;
  const version = typeof resourceVersion === "string" ? parseResourceVersion(resourceVersion) : undefined;
  if (typeof namespace !== "string" || typeof name !== "string" || typeof uid !== "string" || version === undefined)
    return undefined;
  const { replicas, selector, template } = fieldsOf(spec);
  const labels = asObject(fieldsOf<V1ObjectMeta>(fieldsOf<V1PodTemplateSpec>(template).metadata).labels);
  // Whoever orphans the pods wants them to stay.
  const isOrphaning = asList(all.finalizers).includes("orphan");
  return {
    key: objectKey(namespace, name),
    uid,
    resourceVersion: version,
    namespace,
    name,
    labels: textsOf(fieldsOf(all.labels)),
    controller: controllerOf(ownerReferences),
    fingerprint: fingerprintOf(raw),
    replicas: typeof replicas === "number" ? replicas : undefined,
    replicasWriter: readFieldWriters(all.managedFields, undefined).replicas,
    selector,
    podLabels: labels && textsOf(labels),
    isEnding: typeof deletionTimestamp === "string" && !isOrphaning,
  };
}

function textsOf(labels: Json): Labels {
  const texts = Object.entries(labels).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return Object.fromEntries(texts);
}
