/**
 * Writes the heartbeat of a cell into its Lease in one core (docs/aggregator.md#heartbeat). A beat is a merge patch on
 * the version that was read, so that annotations of others stay, and nobody's write is lost.
 */
import {
  cellLeaseAnnotations,
  type CellLease,
  cellLeaseLabels,
  cellLeaseName,
  nextRenewal,
  readCellLease,
} from "../../api/cell-lease.ts";
import { formatMicroTime } from "../../api/micro-time.ts";
import { isKubeError, type KubeClient, KubeError, type KubeRequest, resourcePath } from "../../kube/kube-client.ts";
import { leases } from "../../kube/resources.ts";
import { type Clock, type EpochMicros } from "../../util/clock.ts";

export interface CellLeaseWriterOptions {
  /** A client of its own, so that a beat never waits behind the writes of PodProtectors. */
  readonly client: KubeClient;
  readonly namespace: string;
  readonly cellID: string;
  /** Who beats: the identity of the leader election. */
  readonly identity: string;
  readonly productVersion: string;
  /** Becomes leaseDurationSeconds, for people. */
  readonly silentAfterMs: number;
  /** Deadline of each request. */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** What a beat says beside that the cell is alive. */
export interface Beat {
  /** UID of the worker's namespace kube-system; undefined = not known, and the recorded one stays. */
  readonly clusterUID: string | undefined;
  /** Packed digests of PodProtectors; undefined = none. */
  readonly behind: string | undefined;
  /** What is wrong with the gate; null = nothing; undefined = not known, and what is recorded stays. */
  readonly gate?: string | null | undefined;
}

export class CellLeaseWriter {
  readonly #options: CellLeaseWriterOptions;
  readonly #name: string;
  #lastRenewal = 0 as EpochMicros;

  constructor(options: CellLeaseWriterOptions) {
    this.#options = options;
    this.#name = cellLeaseName(options.cellID);
  }

  /** Undefined when there is none. Throws KubeError. */
  async read(signal: AbortSignal): Promise<CellLease | undefined> {
    let answer: unknown;
    try {
      answer = await this.#request("GET", signal);
    } catch (error) {
      if (isKubeError(error, "notFound")) return undefined;
      throw error;
    }
    // Without our labels no observer sees it, and neither does the reader.
    const lease = readCellLease(answer);
    if (lease !== undefined) return lease;
    return this.#decoded(await this.#request("PATCH", signal, { metadata: { labels: this.#labels() } }));
  }

  /**
   * Renews the Lease as it was read or written last, or creates it. Resolves to the Lease as it is now. Throws
   * KubeError, of kind "conflict" or "alreadyExists" when somebody else has written it meanwhile.
   */
  async beat(known: CellLease | undefined, beat: Beat, signal: AbortSignal): Promise<CellLease> {
    const { identity, productVersion, silentAfterMs, clock } = this.#options;
    this.#lastRenewal = nextRenewal(clock.epochMicros(), this.#lastRenewal);
    const renewTime = formatMicroTime(this.#lastRenewal);
    const annotations = {
      [cellLeaseAnnotations.productVersion]: productVersion,
      ...(beat.clusterUID !== undefined && { [cellLeaseAnnotations.clusterUID]: beat.clusterUID }),
    };
    const spec = {
      holderIdentity: identity,
      renewTime,
      leaseDurationSeconds: Math.max(1, Math.ceil(silentAfterMs / 1000)),
      ...(known?.holderIdentity !== identity && { acquireTime: renewTime }),
    };
    if (known === undefined) {
      const behind = beat.behind === undefined ? {} : { [cellLeaseAnnotations.behind]: beat.behind };
      const gate = typeof beat.gate === "string" ? { [cellLeaseAnnotations.gate]: beat.gate } : {};
      const body = {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name: this.#name, labels: this.#labels(), annotations: { ...annotations, ...behind, ...gate } },
        spec,
      };
      return this.#decoded(await this.#request("POST", signal, body));
    }
    const body = {
      metadata: {
        resourceVersion: known.resourceVersion,
        labels: this.#labels(),
        annotations: {
          ...annotations,
          [cellLeaseAnnotations.behind]: beat.behind ?? null,
          ...(beat.gate !== undefined && { [cellLeaseAnnotations.gate]: beat.gate }),
          [cellLeaseAnnotations.silentSince]: null,
        },
      },
      spec,
    };
    return this.#decoded(await this.#request("PATCH", signal, body));
  }

  /**
   * Writes that the cell is this cluster's, before it is counted. That is no beat. Throws KubeError, of kind "conflict"
   * when somebody else was faster.
   */
  async claim(known: CellLease, clusterUID: string | undefined, signal: AbortSignal): Promise<void> {
    const annotations = {
      ...(clusterUID !== undefined && { [cellLeaseAnnotations.clusterUID]: clusterUID }),
      [cellLeaseAnnotations.adopt]: null,
    };
    await this.#request("PATCH", signal, { metadata: { resourceVersion: known.resourceVersion, annotations } });
  }

  #labels(): Readonly<Record<string, string>> {
    return { [cellLeaseLabels.heartbeat]: "cell", [cellLeaseLabels.cell]: this.#options.cellID };
  }

  async #request(method: KubeRequest["method"], signal: AbortSignal, body?: unknown): Promise<unknown> {
    const { client, namespace, timeoutMs } = this.#options;
    return client.request({
      method,
      path: resourcePath(leases, method === "POST" ? { namespace } : { namespace, name: this.#name }),
      ...(body !== undefined && { body }),
      ...(method === "PATCH" && { contentType: "application/merge-patch+json" }),
      timeoutMs,
      signal,
    });
  }

  #decoded(answer: unknown): CellLease {
    const lease = readCellLease(answer);
    if (lease === undefined)
      throw new KubeError("malformed", `Lease ${this.#name}: the answer is not the cell's Lease`);
    return lease;
  }
}
