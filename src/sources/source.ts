/**
 * What the generator knows of a workload, whatever its kind. A kind is one file of this folder, with the fields that it
 * reads and the arithmetic of its floor; index.ts lists them (docs/generator.md#sources).
 */
import { type ObjectKey } from "../api/object-key.ts";
import { type LabelSelector } from "../api/v1alpha1/pod-protector.ts";
import { type CustomSourceID, type SourceID } from "../config/generator-rules.ts";
import { type Stored } from "../kube/informer.ts";
import { type Resource } from "../kube/kube-client.ts";
import { type Member } from "../scale/expected-replicas.ts";
import { type EpochMicros } from "../util/clock.ts";
import { type FieldWriters } from "../api/field-writers.ts";
import { type Floor, type FloorRule } from "./floor.ts";
import { type Overrides } from "./overrides.ts";

export interface SourceKind {
  /** What --generator-sources takes: the resource, a dot, the group. */
  readonly id: SourceID | CustomSourceID;
  readonly resource: Resource;
  readonly apiVersion: string;
  readonly kind: string;
  /** Of the names of its PodProtectors. No other kind has the same, and none is the beginning of another. */
  readonly prefix: string;
  /** The field of the spec that sets the floor besides the replicas; undefined = none. */
  readonly strategyField: string | undefined;
  /** For a sentence of a refusal: the fields that set the floor. */
  readonly floorFields: string;
  /** For a sentence of a condition: what lets pods go. */
  readonly lentBy: string;
  /** An object with a controller is the controller's business. */
  readonly isOnlyProtectedAlone: boolean;
  /** Its pods may be those of any controller; absent = not of one without a number of replicas. */
  readonly hasAnyOwner?: true;
  /** An object gets neither our finalizer nor anything else: `departed` tells of those that were deleted. */
  readonly isNeverWritten?: true;
  /** Undefined when the spec is invalid. `status`: for kinds whose spec does not tell it all. Never throws. */
  readSpec(raw: unknown, status?: unknown): SourceSpec | undefined;
  /**
   * Of kinds whose spec is not all in the object: reads an object that was just read, and what else belongs to it.
   * Undefined when it is invalid. Rejects with a KubeError.
   */
  readLive?(raw: unknown, signal: AbortSignal): Promise<SourceRecord | undefined>;
  /** Of kinds that are never written: the terminating state of an object that is gone and was seen deleted. */
  departed?(source: Omit<SourceRef, "kind">): SourceRecord | undefined;
}

/** What the PodProtector of an object depends on. */
export interface SourceSpec {
  /** Never below 0. */
  readonly replicas: number;
  readonly minReadySeconds: number;
  readonly selector: LabelSelector;
  readonly floorBy: (rule: FloorRule) => Floor;
}

/** Names an object, which may be gone. */
export interface SourceRef {
  readonly kind: SourceKind;
  readonly namespace: string;
  readonly name: string;
}

/** The kind of the object that a workload belongs to. */
export interface OwnerKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** What is kept of an object: neither its pod template nor the raw object. */
export interface SourceHead extends SourceRef, Stored {
  /** Its own, namespace/name. */
  readonly key: ObjectKey;
  readonly labels: Readonly<Record<string, string>>;
  readonly finalizers: readonly string[];
  readonly isTerminating: boolean;
  /** The deletionTimestamp. */
  readonly deletedAt: EpochMicros | undefined;
  /** Of its controlling owner, else of the first. */
  readonly owner: OwnerKind | undefined;
  /** One of its owners controls it. */
  readonly isControlled: boolean;
  readonly writers: FieldWriters;
  readonly overrides: Overrides;
}

export interface SourceRecord extends SourceHead {
  /** With the overrides in it. */
  readonly spec: SourceSpec;
  /** Of a source without replicas of its own: whose they are. Absent: its own, or that is not known. */
  readonly workloads?: Workloads;
}

/** Workloads whose replicas make up those of a source. */
export interface Workloads {
  /** By which fields of the source they were found, as a text: by others they are other ones, and not comparable. */
  readonly asked: string;
  readonly members: readonly Member[];
}
