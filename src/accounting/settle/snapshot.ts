/** What settlement may know of a cell's pods: all of them, not only those that a selector matches today. */
import { type ResourceVersion } from "../../api/resource-version.ts";

export interface SnapshotPod {
  readonly uid: string;
  readonly resourceVersion: ResourceVersion;
  readonly isTerminating: boolean;
}

export interface Snapshot {
  /** Everything up to this version is included. */
  readonly version: ResourceVersion;
  /**
   * Monotonic time at which the newest LIST barrier that this snapshot has passed was *sent*: everything committed
   * before that moment is included. -Infinity when none was passed.
   */
  readonly barrierSentAtMs: number;
  find(podUID: string): SnapshotPod | undefined;
  /** By accounting/history/uid-digest.ts. */
  findByDigest(digest: string): SnapshotPod | undefined;
}
