/**
 * The owners of pods, and the owners of these, from local copies: one informer for each kind that is met. So an owner
 * costs no request of its own however many pods it has, and what has not changed costs none at all. By the fingerprint
 * of the object scale-memory.ts knows whether its scale has to be read.
 */
import { asList, fieldsOf } from "../api/json.ts";
import { objectKey } from "../api/object-key.ts";
import { parseResourceVersion } from "../api/resource-version.ts";
import { type Informer, type Stored } from "../kube/informer.ts";
import { type Resource } from "../kube/kube-client.ts";
import { type Clock, sleep } from "../util/clock.ts";
import { linkedAbort } from "../util/linked-abort.ts";
import { type Fingerprint, fingerprintOf } from "./fingerprint.ts";
import { type KindMapping } from "./kind-mapping.ts";

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
  readonly controller: ControllerRef | undefined;
  readonly fingerprint: Fingerprint;
  /** spec.replicas, whatever that means for its kind. */
  readonly replicas: number | undefined;
}

export type OwnerAnswer =
  | { readonly kind: "present"; readonly object: OwnerObject }
  | { readonly kind: "missing" }
  /** Its kind cannot be listed, now or for long. */
  | { readonly kind: "unlisted"; readonly isForbidden: boolean; readonly text: string };

/** References name what they like. Fleets have some twenty kinds that own pods; each is a watch, and memory. */
const kindsMax = 100;
/** A kind that is met for the first time is waited for so long. */
const listedWithinMs = 10_000;

interface Watched {
  readonly informer: Informer<OwnerObject>;
  readonly listed: Promise<void>;
  isForbidden: boolean;
}

export interface OwnerObjectsOptions {
  /** Not running yet. */
  readonly create: (resource: Resource, decode: (raw: unknown) => OwnerObject | undefined) => Informer<OwnerObject>;
  readonly clock: Clock;
  /** Ends all watches. */
  readonly signal: AbortSignal;
}

export class OwnerObjects {
  readonly #options: OwnerObjectsOptions;
  readonly #watched = new Map<string, Watched>();

  constructor(options: OwnerObjectsOptions) {
    this.#options = options;
  }

  async read(mapping: KindMapping, namespace: string, name: string): Promise<OwnerAnswer> {
    const { group, version, resource } = mapping.resource;
    const id = `${group}/${version}/${resource}`;
    const watched = this.#watched.get(id) ?? this.#watch(id, mapping.resource);
    if (watched === undefined)
      return { kind: "unlisted", isForbidden: false, text: `pods have owners of more than ${kindsMax} kinds` };
    if (!watched.informer.hasSynced()) await this.#wait(watched);
    if (watched.informer.hasSynced()) {
      const object = watched.informer.get(objectKey(mapping.isNamespaced ? namespace : "", name));
      return object === undefined ? { kind: "missing" } : { kind: "present", object };
    }
    const text = watched.informer.lastError() ?? `${id} is not listed yet`;
    return { kind: "unlisted", isForbidden: watched.isForbidden, text };
  }

  #watch(id: string, resource: Resource): Watched | undefined {
    if (this.#watched.size >= kindsMax) return undefined;
    const informer = this.#options.create(resource, readOwner);
    let onListed = (): void => {};
    const listed = new Promise<void>((resolve) => (onListed = resolve));
    const watched = { informer, listed, isForbidden: false };
    informer.subscribe({
      onEvent() {},
      onListed: () => {
        watched.isForbidden = false;
        onListed();
      },
      onForbidden: () => {
        watched.isForbidden = true;
        onListed();
      },
      onNotServed: () => onListed(),
    });
    this.#watched.set(id, watched);
    // It never rejects, and ends with the signal.
    void informer.run(this.#options.signal);
    return watched;
  }

  async #wait({ listed }: Watched): Promise<void> {
    const { clock, signal } = this.#options;
    using waiting = linkedAbort(signal);
    await Promise.race([listed, sleep(clock, listedWithinMs, waiting.signal)]);
    waiting.abort();
  }
}

/** The controller among owner references. */
export function controllerOf(ownerReferences: unknown): ControllerRef | undefined {
  const found = asList(ownerReferences)
    .map(fieldsOf)
    .find(({ controller }) => controller === true);
  const { apiVersion, kind, name, uid } = found ?? {};
  const isWhole = [apiVersion, kind, name, uid].every((text) => typeof text === "string" && text !== "");
  return isWhole ? ({ apiVersion, kind, name, uid } as ControllerRef) : undefined;
}

function readOwner(raw: unknown): OwnerObject | undefined {
  const { metadata, spec } = fieldsOf(raw);
  const { namespace = "", name, uid, resourceVersion, ownerReferences } = fieldsOf(metadata);
  const version = typeof resourceVersion === "string" ? parseResourceVersion(resourceVersion) : undefined;
  if (typeof namespace !== "string" || typeof name !== "string" || typeof uid !== "string" || version === undefined)
    return undefined;
  const { replicas } = fieldsOf(spec);
  return {
    key: objectKey(namespace, name),
    uid,
    resourceVersion: version,
    namespace,
    name,
    controller: controllerOf(ownerReferences),
    fingerprint: fingerprintOf(raw),
    replicas: typeof replicas === "number" ? replicas : undefined,
  };
}
