/**
 * Custom resources that are known by their subresource scale alone, as `databases.example.com`
 * (docs/generator.md#custom-resources). What discovery says of the kind is filled in when its resource is served.
 * Whatever is wrong with a scale, the last floor holds: the one that this process knows, else that of the PodProtector.
 */
import { type PodProtectorSpec } from "../api/v1alpha1/pod-protector.ts";
import { type CustomSourceID, partsOfSourceID } from "../config/generator-rules.ts";
import { KubeError, type Resource } from "../kube/kube-client.ts";
import { type Fingerprint, fingerprintOf, type ScaleMemory } from "../scale/scale-memory.ts";
import { type KindMapping } from "../scale/discovery.ts";
import { type Scale, type ScaleTrouble, readScaleSelector } from "../scale/read-scale.ts";
import { assert } from "../util/assert.ts";
import { defaultShare, floorFrom } from "./floor.ts";
import { overridden } from "./overrides.ts";
import { readSourceHead } from "./read-source.ts";
import { type SourceHead, type SourceKind, type SourceRecord, type SourceRef, type SourceSpec } from "./source.ts";

/** What a PodProtector says of its source. */
export type HeldFloor = Pick<PodProtectorSpec, "minAvailable" | "minReadySeconds" | "selector">;

export interface ScaledKindOptions {
  readonly memory: ScaleMemory;
  /** Of the PodProtector that is in force for the source. */
  readonly heldFloorOf: (source: SourceRef) => HeldFloor | undefined;
}

/** `spec` undefined: nothing is known of the object, and nothing is in force for it. */
export interface FoundSpec {
  readonly spec: SourceSpec | undefined;
  /** Why the spec is not what the scale says now; undefined = it is. */
  readonly trouble: ScaleTrouble | undefined;
  /** Its scale is gone, or that of another one: so is the object, which is read before. */
  readonly isGone?: true;
}

/** Of one object, without its overrides. `scale` undefined: the PodProtector is all that is known. */
interface Known {
  readonly scale: Scale | undefined;
  readonly spec: SourceSpec;
}

/** Of the names of all their PodProtectors. Those of built-in kinds have no dot before their dash. */
export const scaledPrefix = "scale.";

const noSpec: SourceSpec = {
  replicas: 0,
  minReadySeconds: 0,
  selector: {},
  floorBy: () => ({ minAvailable: 0, replicas: 0, kind: "drainable" }),
};

export class ScaledKind implements SourceKind {
  readonly id: CustomSourceID;
  readonly prefix: string;
  readonly strategyField = undefined;
  readonly floorFields = "the replicas of its scale";
  readonly lentBy = `the share of ${defaultShare} of every custom resource`;
  /** Who names a kind wants it protected, whatever controls it. */
  readonly isOnlyProtectedAlone = false;
  readonly hasAnyOwner = true;
  readonly #options: ScaledKindOptions;
  #mapping: KindMapping | undefined;
  /** By the UID of the object. */
  readonly #last = new Map<string, Known>();

  constructor(id: CustomSourceID, options: ScaledKindOptions) {
    this.id = id;
    this.prefix = `${scaledPrefix}${id}-`;
    this.#options = options;
  }

  /** Without a version until the resource is served; nothing is read or written before. */
  get resource(): Resource {
    const { plural, group } = partsOfSourceID(this.id);
    return this.#mapping?.resource ?? { group, version: "", resource: plural };
  }

  get apiVersion(): string {
    return `${this.resource.group}/${this.resource.version}`;
  }

  get kind(): string {
    return this.#mapping?.kind ?? this.id;
  }

  /** The resource is served, in that version. */
  discovered(mapping: KindMapping): void {
    this.#mapping = mapping;
  }

  readSpec(): SourceSpec | undefined {
    return undefined;
  }

  async readLive(raw: unknown, signal: AbortSignal): Promise<SourceRecord | undefined> {
    const head = readSourceHead(this, raw);
    if (head === undefined) return undefined;
    const { spec, trouble, isGone = false } = await this.specOf(head, fingerprintOf(raw), signal);
    if (spec !== undefined) return { ...head, spec };
    // It is let go whatever its scale is: nobody could delete it else.
    if (head.isTerminating) return { ...head, spec: noSpec };
    const text = `the scale of ${head.kind.kind} ${head.key} cannot be read: ${trouble?.text ?? "it is missing"}`;
    // Somebody was faster, which is no failure: what is there now is read next time.
    throw new KubeError(isGone ? "conflict" : errorKindOf(trouble), text);
  }

  /** What the object wants by its scale, or the last that is known of it. Rejects only when `signal` aborts. */
  async specOf(head: SourceHead, fingerprint: Fingerprint, signal: AbortSignal): Promise<FoundSpec> {
    const { memory } = this.#options;
    assert(this.#mapping !== undefined, "objects are read only when their resource is served");
    const { namespace, name, uid } = head;
    const answer = await memory.read({ mapping: this.#mapping, namespace, name, uid }, fingerprint, signal);
    const last = this.#last.get(uid);
    if (answer.kind === "scale") {
      if (last?.scale === answer.scale) return { spec: withOverrides(head, last), trouble: undefined };
      const selector = readScaleSelector(answer.scale.selector);
      if (selector.ok) {
        const known = { scale: answer.scale, spec: specFrom(answer.scale, selector.selector) };
        this.#last.set(uid, known);
        return { spec: withOverrides(head, known), trouble: undefined };
      }
      return this.#held(head, { kind: "lasting", problem: "wrong", text: `scale.status.selector: ${selector.reason}` });
    }
    if (answer.kind !== "missing") return this.#held(head, answer);
    const text = "the object is gone, or another one has its name";
    return { ...this.#held(head, { kind: "notNow", text }), isGone: true };
  }

  /** The object is gone. */
  forget(uid: string): void {
    this.#last.delete(uid);
    this.#options.memory.forget(uid);
  }

  #held(head: SourceHead, trouble: ScaleTrouble): FoundSpec {
    const last = this.#last.get(head.uid);
    if (last !== undefined) return { spec: withOverrides(head, last), trouble };
    const held = this.#options.heldFloorOf(head);
    if (held === undefined) return { spec: undefined, trouble };
    const { minAvailable, minReadySeconds, selector } = held;
    const floor = { minAvailable, replicas: minAvailable, kind: "drainable" } as const;
    const spec = { replicas: minAvailable, minReadySeconds, selector, floorBy: () => floor };
    const known = { scale: undefined, spec };
    this.#last.set(head.uid, known);
    return { spec: withOverrides(head, known), trouble };
  }
}

/** An override of the floor is a share of replicas: where nobody knows these, the floor that is in force stays. */
function withOverrides({ overrides }: SourceHead, { scale, spec }: Known): SourceSpec {
  return overridden(spec, scale === undefined ? { ...overrides, floor: undefined } : overrides);
}

function specFrom({ replicas }: Scale, selector: SourceSpec["selector"]): SourceSpec {
  const facts = { replicas, maxUnavailable: defaultShare, takenByUpdate: 0 };
  return { replicas, minReadySeconds: 0, selector, floorBy: (rule) => floorFrom(facts, rule) };
}

function errorKindOf(trouble: ScaleTrouble | undefined): "forbidden" | "invalid" | "serverError" {
  if (trouble?.kind !== "lasting") return "serverError";
  return trouble.problem === "forbidden" ? "forbidden" : "invalid";
}
