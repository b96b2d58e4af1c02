/**
 * The condition Unusable of PodProtectors that are invalid (docs/conditions.md), by which the webhook refuses what they
 * protect. Nobody edits them every day, so it is the only place besides the log where their owners find out.
 * - One that can be read, with a selector or a status that nothing can be judged by, is written like all others.
 * - One that cannot be read is not in the caches. It is noticed when it comes, and written as it is in the core, with
 *   its conditions changed and nothing else.
 */
import { fieldsOf } from "../../api/json.ts";
import { type FoundConditions, withConditions, withReady } from "../../api/v1alpha1/conditions.ts";
import { readConditions } from "../../api/v1alpha1/decode.ts";
import { type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { countingSelector } from "../../accounting/count/counting-selector.ts";
import { summarize } from "../../accounting/count/summary.ts";
import { flawOf } from "../../accounting/history/status-flaw.ts";
import { errorLabel, isKubeError, type KubeClient, resourcePath } from "../../kube/kube-client.ts";
import { podProtectors, readProtector, type StoredProtector } from "../../kube/resources.ts";
import { compileSelector } from "../../label-index/index.ts";
import { type Clock } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type Counter } from "../../util/metrics.ts";
import { printable } from "../../util/printable.ts";

export interface UnusableProtectorsOptions {
  readonly core: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** As of ConditionWriter. */
  readonly failures: Counter;
}

/** Those that wait to be written. More than a few are one mistake, which shows on these. */
const waitingMax = 100;
const timeoutMs = 5_000;

export class UnusableProtectors {
  readonly #options: UnusableProtectorsOptions;
  /** What is wrong with each object that can be read; "" = nothing. Selectors are compiled once for each version. */
  readonly #flaws = new WeakMap<PodProtector, string>();
  /** Paths of those that cannot be read. */
  readonly #waiting = new Set<string>();

  constructor(options: UnusableProtectorsOptions) {
    this.#options = options;
  }

  found({ protector }: StoredProtector): FoundConditions {
    let flaw = this.#flaws.get(protector);
    if (flaw === undefined) this.#flaws.set(protector, (flaw = flawOfProtector(protector) ?? ""));
    return { Unusable: flaw !== "" && unusable(flaw) };
  }

  /** A list or watch has brought one that cannot be read. */
  noticed(raw: unknown): void {
    const { namespace, name } = fieldsOf(fieldsOf(raw)["metadata"]);
    if (typeof namespace !== "string" || typeof name !== "string" || this.#waiting.size >= waitingMax) return;
    this.#waiting.add(resourcePath(podProtectors, { namespace, name }));
  }

  /** Never rejects for operating errors. */
  async writeUnreadable(signal: AbortSignal): Promise<void> {
    const { failures, logger } = this.#options;
    for (const path of this.#waiting) {
      if (signal.aborted) return;
      try {
        await this.#write(path, signal);
        this.#waiting.delete(path);
      } catch (err) {
        if (!isKubeError(err)) throw err;
        if (signal.aborted) return;
        // Others pass, and then it is tried again.
        if (isKubeError(err, "notFound", "forbidden", "invalid", "malformed")) this.#waiting.delete(path);
        if (!isKubeError(err, "notFound")) failures.inc({ error: errorLabel(err) });
        logger.verbose(2, "Cannot write the condition Unusable of a PodProtector", { path, err });
      }
    }
  }

  /** Throws KubeError. */
  async #write(path: string, signal: AbortSignal): Promise<void> {
    const { core, clock } = this.#options;
    const limits = { timeoutMs, signal };
    const live = await core.request({ method: "GET", path, ...limits });
    const read = readProtector(live);
    // It has been mended since. The caches have it.
    if (read.ok) return;
    const raw = fieldsOf(live);
    const status = fieldsOf(raw["status"]);
    const existing = readConditions(status["conditions"]);
    const now = clock.epochMicros();
    const found = withConditions(existing, { Unusable: unusable(read.reason) }, now);
    if (found === undefined || found === existing) return;
    const conditions = withReady(found, [], { generation: undefined, now });
    const empty = { cells: [], summary: summarize([], { minAvailable: 0 }) };
    const body = { ...raw, status: { ...empty, ...status, conditions } };
    await core.request({ method: "PUT", path: `${path}/status`, body, ...limits });
  }
}

function unusable(reason: string) {
  const message = `It is invalid, so pod deletions are denied: ${printable(reason)}`;
  return { reason: "InvalidObject", message } as const;
}

/** Of one that can be read; undefined = nothing is wrong. */
function flawOfProtector({ spec, status }: PodProtector): string | undefined {
  const flaw = flawOf(status);
  if (flaw !== undefined) return flaw;
  const protecting = compileSelector(spec.selector);
  if (!protecting.ok) return `spec.selector: ${protecting.reason}`;
  const counting = compileSelector(countingSelector(spec));
  return counting.ok ? undefined : `spec.aggregationSelector: ${counting.reason}`;
}
