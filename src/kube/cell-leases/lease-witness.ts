/**
 * The write of an observer that makes sure that a core takes writes of Leases, for the time when nobody else is heard
 * there (accounting/silence/contact.ts). All observers of a core share one Lease.
 */
import { cellLeaseLabels, nextRenewal, witnessLeaseName } from "../../api/cell-lease.ts";
import { formatMicroTime } from "../../api/micro-time.ts";
import { type Clock, type EpochMicros } from "../../util/clock.ts";
import { asKubeError, isKubeError, type KubeClient, type KubeError, resourcePath } from "../kube-client.ts";
import { leases } from "../resources.ts";

export type WitnessWrite =
  | { readonly kind: "written" }
  /** The core did not take it. Also where somebody made the Lease in this moment: the next LIST shows that write. */
  | { readonly kind: "failed"; readonly error: KubeError }
  /** This account lacks the right, or may not make a Lease that is not there. That says nothing of the core. */
  | { readonly kind: "no-right"; readonly error: KubeError };

export interface LeaseWitnessOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  /** Who writes, for people. */
  readonly role: string;
  /** Whether it makes the Lease where there is none: the generator, which has the right to make Leases. */
  readonly isMaker: boolean;
  /** Deadline of each request. */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** As the RBAC authorizer has it since Kubernetes 1.8. Policies, quotas and webhooks that refuse a write say others. */
const lacksRight = / cannot (create|patch) resource /;

export class LeaseWitness {
  readonly #options: LeaseWitnessOptions;
  #lastRenewal = 0 as EpochMicros;

  constructor(options: LeaseWitnessOptions) {
    this.#options = options;
  }

  /** Renews the Lease, or makes it. Never rejects with a KubeError. */
  async write(signal: AbortSignal): Promise<WitnessWrite> {
    const { role, clock } = this.#options;
    this.#lastRenewal = nextRenewal(clock.epochMicros(), this.#lastRenewal);
    const spec = { holderIdentity: role, renewTime: formatMicroTime(this.#lastRenewal) };
    const metadata = { labels: { [cellLeaseLabels.heartbeat]: "witness" } };
    try {
      await this.#renew({ metadata, spec }, signal);
      return { kind: "written" };
    } catch (thrown) {
      const error = asKubeError(thrown);
      const isUnable = error.kind === "notFound" || (error.kind === "forbidden" && lacksRight.test(error.message));
      return { kind: isUnable ? "no-right" : "failed", error };
    }
  }

  async #renew(body: { readonly metadata: object; readonly spec: object }, signal: AbortSignal): Promise<void> {
    const { client, namespace, isMaker, timeoutMs } = this.#options;
    try {
      const path = resourcePath(leases, { namespace, name: witnessLeaseName });
      await client.request({
        method: "PATCH",
        path,
        contentType: "application/merge-patch+json",
        body,
        timeoutMs,
        signal,
      });
    } catch (error) {
      if (!isMaker || !isKubeError(error, "notFound")) throw error;
      const lease = {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        ...body,
        metadata: { ...body.metadata, name: witnessLeaseName },
      };
      await client.request({
        method: "POST",
        path: resourcePath(leases, { namespace }),
        body: lease,
        timeoutMs,
        signal,
      });
    }
  }
}
