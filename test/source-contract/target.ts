/**
 * What the contract of sources is played against: a core with a generator, in a namespace that nothing else uses.
 * Nothing here knows whether the double or a real kube-apiserver answers.
 */
import { type JsonObject, type KubeObject } from "../double/index.ts";
import { type SourceSample } from "./samples.ts";

export interface Answer {
  readonly code: number;
  readonly body: JsonObject;
}

/**
 * How long a change may take to arrive. "soon": what the generator does on its own. "late": what also waits for
 * discovery, for a CRD that ends, or for a look that it takes now and then.
 */
export type Patience = "soon" | "late";

export interface Target {
  readonly namespace: string;
  /** The ConfigMap of the generator is there. */
  readonly stateNamespace: string;
  /** A body of PATCH is a JSON merge patch. Resolves to whatever the server answers. */
  request(method: string, path: string, body?: JsonObject): Promise<Answer>;
  /** Waits a little. `waits`: how many such waits a change may take, or how many show that nothing changes. */
  wait(): Promise<void>;
  readonly waits: Readonly<Record<Patience | "unchanged", number>>;
  /** Its wall clock, in milliseconds. */
  epochMs(): number;
  /** Takes objects out of the storage: no finalizer is asked, and no deletionTimestamp is ever seen. */
  erase(objects: readonly KubeObject[], sample: SourceSample | "PodProtectors"): Promise<void>;
  /** No generator runs while `job` does; another one does afterwards. */
  whileAway(job: () => Promise<void>): Promise<void>;
  /** Plays the job when no other kind plays one so: the generator has one place for approvals. */
  inTurn(job: () => Promise<void>): Promise<void>;
  /** Lines at level error that the generator logged about objects of this namespace. */
  errors(): Promise<readonly string[]>;
  /** How many sources of one kind are many here. */
  readonly manyCount: number;
}
