/**
 * What the leading generator writes about Leases of cells: annotations, its own Lease as an observer, and the deletion
 * of those of retired cells (docs/cells.md). Each write holds only for the version that was read, because the next beat
 * may be on its way. Without the right nothing is written, which a metric and one line of the log tell.
 */
import {
  type CellLease,
  cellLeaseAnnotations,
  cellLeaseLabels,
  nextRenewal,
  observerLeaseName,
} from "../../api/cell-lease.ts";
import { formatMicroTime } from "../../api/micro-time.ts";
import { type ObjectReference } from "../../kube/event-recorder.ts";
import { asKubeError, errorLabel, isKubeError, type KubeClient, resourcePath } from "../../kube/kube-client.ts";
import { leases } from "../../kube/resources.ts";
import { type Clock, type EpochMicros } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type Counter } from "../../util/metrics.ts";
import { Outage } from "../../util/outage.ts";

/**
 * "changed": the Lease is not as it was read, or gone; the next LIST tells more. "failed": nothing is known to be
 * written, and it was reported.
 */
export type LeaseWrite = "written" | "changed" | "failed";

export interface CellLeaseWritesOptions {
  readonly core: KubeClient;
  /** Of the Leases. */
  readonly namespace: string;
  /** Of this process in the leader election. */
  readonly identity: string;
  readonly productVersion: string;
  readonly silentAfterMs: number;
  /** Deadline of each request, in milliseconds. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Failed writes, by `error`. */
  readonly failures: Counter;
}

export class CellLeaseWrites {
  readonly #options: CellLeaseWritesOptions;
  #lastRenewal = 0 as EpochMicros;
  /** Once for ever: of the rights to create, patch and delete one may be missing alone. */
  #isForbiddenLogged = false;
  readonly #outage: Outage;

  constructor(options: CellLeaseWritesOptions) {
    this.#options = options;
    this.#outage = new Outage(options.clock);
  }

  /** For Events. */
  reference({ name, uid }: CellLease): ObjectReference {
    const { namespace } = this.#options;
    return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", namespace, name, uid };
  }

  /** Sets an annotation, or removes it (null). Never changes what makes a beat. */
  async annotate(lease: CellLease, key: string, value: string | null, signal: AbortSignal): Promise<LeaseWrite> {
    const { resourceVersion, uid } = lease;
    const body = { metadata: { uid, resourceVersion, annotations: { [key]: value } } };
    return await this.#write(lease.name, "PATCH", body, signal);
  }

  async remove(lease: CellLease, signal: AbortSignal): Promise<LeaseWrite> {
    const { resourceVersion, uid } = lease;
    return await this.#write(lease.name, "DELETE", { preconditions: { uid, resourceVersion } }, signal);
  }

  /** Moves the renewTime of the observer's own Lease, and creates it when it is not there. */
  async renewObserver(signal: AbortSignal): Promise<LeaseWrite> {
    const { identity, productVersion, silentAfterMs, clock } = this.#options;
    this.#lastRenewal = nextRenewal(clock.epochMicros(), this.#lastRenewal);
    const spec = {
      holderIdentity: identity,
      renewTime: formatMicroTime(this.#lastRenewal),
      leaseDurationSeconds: Math.max(1, Math.ceil(silentAfterMs / 1000)),
    };
    const metadata = {
      labels: { [cellLeaseLabels.heartbeat]: "observer" },
      annotations: { [cellLeaseAnnotations.productVersion]: productVersion },
    };
    const renewed = await this.#write(observerLeaseName, "PATCH", { metadata, spec }, signal);
    if (renewed !== "changed") return renewed;
    const named = { ...metadata, name: observerLeaseName };
    const body = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: named, spec };
    return await this.#write(undefined, "POST", body, signal);
  }

  async #write(
    name: string | undefined,
    method: "PATCH" | "POST" | "DELETE",
    body: unknown,
    signal: AbortSignal,
  ): Promise<LeaseWrite> {
    const { core, namespace, timeoutMs, logger } = this.#options;
    const path = resourcePath(leases, name === undefined ? { namespace } : { namespace, name });
    const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    try {
      await core.request({ method, path, contentType, body, timeoutMs, signal });
      const over = this.#outage.ended();
      if (over !== undefined)
        logger.info("Leases of cells can be written again", { leaseNamespace: namespace, ...over });
      return "written";
    } catch (thrown) {
      const error = asKubeError(thrown);
      if (isKubeError(error, "conflict", "notFound", "alreadyExists")) return "changed";
      if (!signal.aborted) this.#report(error);
      return "failed";
    }
  }

  #report(err: Error): void {
    const { failures, logger, namespace } = this.#options;
    failures.inc({ error: errorLabel(err) });
    const fields = { leaseNamespace: namespace, err };
    if (!isKubeError(err, "forbidden")) {
      if (this.#outage.failed(errorLabel(err))) logger.warn("Cannot write a Lease of a cell, retrying", fields);
    } else if (!this.#isForbiddenLogged) {
      this.#isForbiddenLogged = true;
      logger.warn("Not allowed to write the Leases of cells: silent cells are not marked, no cell is retired", fields);
    }
  }
}
