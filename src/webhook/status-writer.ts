/**
 * Reserves a batch of deletions with one compare-and-swap status write: the executor of the RetryBatch. Without an accepted write nothing that
 * needs a record is admitted. A lost answer is never taken for success: the object is read live and the batch is judged again.
 */
import { type PodProtectorStatus } from "../api/v1alpha1/pod-protector.ts";
import { type Verdict } from "../core/reservation.ts";
import { type KubeClient, isKubeError, resourcePath } from "../kube/kube-client.ts";
import { podProtectors } from "../kube/resources.ts";
import { type ExecuteOutcome } from "../retry-batch/index.ts";
import { assert } from "../util/assert.ts";
import { type Clock } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type Rng, uniform } from "../util/rng.ts";
import { type Deletion, type Judge } from "./judge.ts";
import { type NewestStates } from "./newest-states.ts";
import { isCounted, type ProtectorView, readView } from "./protector-view.ts";
import { createWritePacer } from "./write-pacer.ts";

/** What became of one deletion of a batch. */
export type ReservationResult =
  | { readonly kind: "judged"; readonly verdict: Verdict }
  /** Deleted, released or no longer counting the pod: the PodProtector has no say. */
  | { readonly kind: "not-in-force" }
  /** The core answers 404, but the watch has not said that the object was deleted: nothing can be recorded for now. */
  | { readonly kind: "vanished" };

export interface WriterCore {
  readonly name: string;
  readonly client: KubeClient;
  readonly states: NewestStates;
}

export interface StatusWriterOptions {
  readonly cores: readonly WriterCore[];
  readonly judge: Judge;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  /** Milliseconds before a retry, plus 0 to `jitterMs`. */
  readonly backoffBaseMs: number;
  readonly jitterMs: number;
  /** The CRD of this core drops extension fields. Called for each such write. */
  readonly onPruned: (core: string) => void;
}

export interface StatusWriter {
  /** `key` as of `writerKey`; newest first, because the first ones win when quota is short. */
  execute(key: string, deletions: readonly Deletion[]): Promise<ExecuteOutcome<ReservationResult>>;
  /** Milliseconds until the pace allows another write of the object. */
  nextBatchDelayMs(key: string): number;
  /** The last failure of the core while it lasts, for people. */
  trouble(core: string): string | undefined;
}

/** core/namespace/name: the names of cores hold no slash. */
export function writerKey(core: string, key: string): string {
  return `${core}/${key}`;
}

/** A write or read that takes longer means a core in trouble; a review (10 s by default) still has time for a second try. */
const requestTimeoutMs = 4_000;

export function createStatusWriter(options: StatusWriterOptions): StatusWriter {
  const cores = new Map(options.cores.map((core) => [core.name, core]));
  const troubles = new Map<string, string>();
  const prunedCores = new Set<string>();
  const pacer = createWritePacer(options.clock);

  function locate(key: string): { readonly core: WriterCore; readonly objectKey: string } {
    const slash = key.indexOf("/");
    const core = cores.get(key.slice(0, slash));
    assert(core !== undefined, `no core of the key ${key}`);
    return { core, objectKey: key.slice(slash + 1) };
  }

  function retry(retryAfterMs = 0): { readonly kind: "retry"; readonly delayMs: number } {
    const backoffMs = options.backoffBaseMs + uniform(options.rng, 0, options.jitterMs);
    return { kind: "retry", delayMs: Math.max(backoffMs, retryAfterMs) };
  }

  /** Classifies what a request threw; programmer errors pass through. */
  function afterFailure(core: WriterCore, objectKey: string, error: unknown, count: number): ExecuteOutcome<ReservationResult> {
    if (!isKubeError(error)) throw error;
    core.states.doubt(objectKey);
    options.logger.verbose(2, "A status write did not go through", { core: core.name, podProtector: objectKey, kind: error.kind });
    if (error.kind !== "conflict" && error.kind !== "notFound") troubles.set(core.name, error.message);
    switch (error.kind) {
      case "conflict":
      case "network":
      case "timeout":
      case "serverError":
      case "malformed":
      case "aborted":
        return retry();
      case "tooManyRequests":
        return retry(error.retryAfterMs);
      case "notFound":
        return { kind: "success", results: Array.from({ length: count }, () => ({ kind: "vanished" })) };
      default:
        return { kind: "error", error };
    }
  }

  async function readLive(core: WriterCore, known: ProtectorView): Promise<ExecuteOutcome<never> | undefined> {
    const { namespace, name } = known.protector.metadata;
    const raw = await core.client.request({
      method: "GET",
      path: resourcePath(podProtectors, { namespace, name }),
      timeoutMs: requestTimeoutMs,
    });
    const read = readView(raw, known);
    if (!read.ok) return { kind: "error", error: new Error(`PodProtector ${core.name}/${known.key} cannot be used: ${read.reason}`) };
    if (core.states.readLive(read.view, known)) {
      options.logger.warn("A PodProtector has gone back to an older version: was the core restored?", {
        core: core.name,
        podProtector: known.key,
        knownVersion: known.resourceVersion,
        liveVersion: read.view.resourceVersion,
      });
    }
    return undefined;
  }

  async function write(core: WriterCore, base: ProtectorView, status: PodProtectorStatus): Promise<void> {
    const { namespace, name } = base.protector.metadata;
    const body = { ...base.protector, status };
    pacer.wrote(core.name, writerKey(core.name, base.key), JSON.stringify(body).length);
    const raw = await core.client.request({
      method: "PUT",
      path: resourcePath(podProtectors, { namespace, name, subresource: "status" }),
      body,
      timeoutMs: requestTimeoutMs,
    });
    troubles.delete(core.name);
    const read = readView(raw, base);
    // Accepted, whatever the answer looks like; the next batch reads the object.
    if (!read.ok) return core.states.doubt(base.key);
    core.states.wrote(read.view);
    if (lostVersions(status, read.view.protector.status)) reportPruned(core.name);
  }

  function reportPruned(core: string): void {
    options.onPruned(core);
    if (prunedCores.has(core)) return;
    prunedCores.add(core);
    options.logger.warn(
      "The CRD of the core drops extension fields, so admissions settle as slowly as upstream's; install the CRD of this version",
      { core, field: "podResourceVersion" },
    );
  }

  /** Judges on the newest state and writes what is to be recorded. Throws KubeErrors. */
  async function attempt(
    core: WriterCore,
    objectKey: string,
    deletions: readonly Deletion[],
  ): Promise<ExecuteOutcome<ReservationResult>> {
    const known = core.states.get(objectKey);
    if (known !== undefined && core.states.isDoubtful(objectKey)) {
      const failure = await readLive(core, known);
      if (failure !== undefined) return failure;
    }
    const view = core.states.get(objectKey);
    if (view === undefined || view.isReleased) return { kind: "success", results: deletions.map(() => ({ kind: "not-in-force" })) };

    const counted = deletions.filter((deletion) => isCounted(view, deletion.pod.labels));
    const { verdicts, status } = options.judge(view, core.states.countsLostUpTo(objectKey), counted);
    if (status !== undefined) await write(core, view, status);
    const verdictOf = new Map(counted.map((deletion, index) => [deletion, verdicts[index]]));
    return {
      kind: "success",
      results: deletions.map((deletion) => {
        const verdict = verdictOf.get(deletion);
        return verdict === undefined ? { kind: "not-in-force" } : { kind: "judged", verdict };
      }),
    };
  }

  return {
    async execute(key, deletions) {
      const { core, objectKey } = locate(key);
      try {
        return await attempt(core, objectKey, deletions);
      } catch (error) {
        return afterFailure(core, objectKey, error, deletions.length);
      }
    },
    nextBatchDelayMs: (key) => pacer.delayMs(locate(key).core.name, key),
    trouble: (core) => troubles.get(core),
  };
}

/** True when buckets with podResourceVersion were sent and a cell came back with buckets, none of which has one. */
function lostVersions(sent: PodProtectorStatus, received: PodProtectorStatus | undefined): boolean {
  return sent.cells.some((cell) => {
    if (cell.admissionHistory?.buckets?.some((bucket) => bucket.podResourceVersion !== undefined) !== true) return false;
    const back = received?.cells.find((one) => one.cellID === cell.cellID)?.admissionHistory?.buckets ?? [];
    return back.every((bucket) => bucket.podResourceVersion === undefined);
  });
}
