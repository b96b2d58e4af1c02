/**
 * A pod as the aggregator keeps it, a hundred thousand times: it holds its key and no second text of its name, shares
 * its namespace and labels with others, has one number for all that is true or false, and its version as a number.
 */
import { type ObjectKey, partsOf } from "../../api/object-key.ts";
import { type Labels, type PodRecord } from "../../api/pod.ts";
import { type ResourceVersion } from "../../api/resource-version.ts";
import { type EpochMicros } from "../../util/clock.ts";

const terminating = 1;
const terminal = 2;
const scheduled = 4;
const initialized = 8;
const running = 16;
const ready = 32;
const unseen = 64;

export class CompactPod implements PodRecord {
  readonly key: ObjectKey;
  readonly namespace: string;
  readonly uid: string;
  readonly labels: Labels;
  readonly readySince: EpochMicros | undefined;
  readonly eventTime: EpochMicros | undefined;
  readonly workloadKind: string | undefined;
  readonly controllerKind: string | undefined;
  readonly #flags: number;
  /** A text only where a number is too small for it. */
  readonly #version: number | ResourceVersion;

  /** `namespace`, `controllerKind`: the texts of them that are shared. */
  constructor(pod: PodRecord, namespace: string, controllerKind = pod.controllerKind) {
    this.key = pod.key;
    this.namespace = namespace;
    this.uid = pod.uid;
    this.labels = pod.labels;
    this.readySince = pod.readySince;
    this.eventTime = pod.eventTime;
    this.workloadKind = pod.workloadKind;
    this.controllerKind = controllerKind;
    const version = Number(pod.resourceVersion);
    this.#version = Number.isSafeInteger(version) ? version : pod.resourceVersion;
    this.#flags =
      (pod.isTerminating ? terminating : 0) |
      (pod.isTerminal ? terminal : 0) |
      (pod.isScheduled ? scheduled : 0) |
      (pod.isInitialized ? initialized : 0) |
      (pod.isRunning ? running : 0) |
      (pod.isReady ? ready : 0) |
      (pod.isUnseen ? unseen : 0);
  }

  get name(): string {
    return partsOf(this.key).name;
  }

  get resourceVersion(): ResourceVersion {
    return String(this.#version) as ResourceVersion;
  }

  get isTerminating(): boolean {
    return (this.#flags & terminating) !== 0;
  }

  get isTerminal(): boolean {
    return (this.#flags & terminal) !== 0;
  }

  get isScheduled(): boolean {
    return (this.#flags & scheduled) !== 0;
  }

  get isInitialized(): boolean {
    return (this.#flags & initialized) !== 0;
  }

  get isRunning(): boolean {
    return (this.#flags & running) !== 0;
  }

  get isReady(): boolean {
    return (this.#flags & ready) !== 0;
  }

  get isUnseen(): boolean {
    return (this.#flags & unseen) !== 0;
  }
}
