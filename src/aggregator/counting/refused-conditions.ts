/**
 * Conditions that the core refuses while it takes the counts: a ValidatingAdmissionPolicy of an earlier release names
 * the conditions that aggregators may change, and knows fewer of them (docs/upgrading.md). Counts matter more, so they
 * are written without, and the next try comes when the policy may have been replaced.
 */
import { type PodProtectorStatus } from "../../api/v1alpha1/pod-protector.ts";
import { isKubeError, type KubeError } from "../../kube/kube-client.ts";
import { type CheckedSwap } from "../../kube/pod-protectors.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type Clock, later, type MonotonicMs } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";

/** One refused write in that time costs nothing, and nobody has to restart aggregators after the policies. */
const retryMs = 600_000;

export interface RefusedConditionsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
}

export class RefusedConditions {
  readonly #options: RefusedConditionsOptions;
  /** Undefined = they are taken, as far as is known. */
  #nextTryAtMs: MonotonicMs | undefined;

  constructor(options: RefusedConditionsOptions) {
    this.#options = options;
  }

  /** Whether a write has them now. */
  areTried(): boolean {
    return this.#nextTryAtMs === undefined || this.#options.clock.monotonicMs() >= this.#nextTryAtMs;
  }

  /**
   * Sends `status` by `swap`. When the core refuses it, sends `plain`, which has the conditions of the object as they
   * are: if it takes that, the conditions were the reason. Resolves to what became of the write, and of which.
   */
  async written(
    statuses: { readonly status: PodProtectorStatus; readonly plain: PodProtectorStatus },
    { key }: Pick<StoredProtector, "key">,
    swap: (status: PodProtectorStatus) => Promise<CheckedSwap>,
  ): Promise<{ readonly outcome: CheckedSwap; readonly status: PodProtectorStatus }> {
    const { status, plain } = statuses;
    const hasConditions = status.conditions !== plain.conditions;
    const outcome = await swap(status);
    if (hasConditions && outcome.kind === "written") this.#taken();
    if (!hasConditions || outcome.kind !== "failed" || !mayBeForThem(outcome.error)) return { outcome, status };
    const second = await swap(plain);
    // Refused as well: something else is wrong, and the first answer says what.
    if (second.kind === "failed") return { outcome, status };
    if (second.kind === "written") this.#refused(key, outcome.error);
    return { outcome: second, status: plain };
  }

  #refused(podProtector: StoredProtector["key"], err: KubeError): void {
    const { clock, logger } = this.#options;
    const isNews = this.#nextTryAtMs === undefined;
    this.#nextTryAtMs = later(clock.monotonicMs(), retryMs);
    if (!isNews) return;
    logger.warn(
      "The core refuses the conditions of this release, so PodProtectors are counted without them; " +
        "apply the policies of this release",
      { podProtector, err },
    );
  }

  #taken(): void {
    if (this.#nextTryAtMs === undefined) return;
    this.#nextTryAtMs = undefined;
    this.#options.logger.info("The core takes the conditions of this release again");
  }
}

/** A policy answers 403, or 422 where it gives no reason. So do missing rights, and other mistakes. */
function mayBeForThem(error: KubeError): boolean {
  return isKubeError(error, "forbidden", "invalid");
}
