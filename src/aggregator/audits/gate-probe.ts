/**
 * Asks once a minute what would become of a deletion in the worker: a dry-run DELETE of the update-trigger's dummy pod,
 * which our webhook answers with a warning that names its cell (docs/aggregator.md#is-the-gate-still-there). Nothing is
 * ever deleted by it.
 */
import { noCellID } from "../../api/cell-id.ts";
import { createDummyPod, type DummyPod } from "../../kube/dummy-pod.ts";
import { asKubeError, isKubeError, type KubeClient } from "../../kube/kube-client.ts";
import { type Clock, sleep } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type Metrics } from "../../util/metrics.ts";
import { type Rng, uniform } from "../../util/rng.ts";
import { type GuardWatch } from "./guard-watch.ts";
import { askGate, type Finding, type GateFault, gateFindings, unknown } from "./gate-question.ts";

export interface GateProbeOptions {
  readonly cellID: string;
  readonly dummyPod: DummyPod;
  readonly worker: KubeClient;
  /** Looks at each probe which namespaces are left out; undefined = the dummy pod's is the only one. */
  readonly guard?: Pick<GuardWatch, "look" | "named" | "isOpen" | "reset"> | undefined;
  /** Writes an Event about the Lease of the cell. */
  readonly event: (type: "Normal" | "Warning", reason: string, message: string) => void;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** After the caches have filled, the update-trigger has touched, and replicas that start together have come up. */
const firstAfterMs = 5_000;
/** One review a minute is nothing for anybody, and a fault that lasts is told within two. */
const periodMs = 60_000;
/** So that the aggregators of a fleet do not ask in step. */
const jitter = 0.1;
/**
 * A fault is looked at again sooner: first to be sure of it, long enough for an API server to read its configurations,
 * and then because whoever mends it watches.
 */
const faultPeriodMs = 10_000;

const reasons = { missing: "GateMissing", "other-cell": "GateOfOtherCell", unreachable: "GateUnreachable" } as const;

export class GateProbe {
  readonly #options: GateProbeOptions;
  readonly #state = new GateState();
  readonly #setFinding: (finding: Finding["kind"] | undefined) => void;
  /** Why nothing is known; said once. */
  #unknown: string | undefined;

  constructor(options: GateProbeOptions) {
    this.#options = options;
    const gauge = options.metrics.gauge(
      "aggregator_gate",
      `What the leader's last probe of the webhook found (1): ${gateFindings.join(", ")}`,
      ["state"],
    );
    this.#setFinding = (finding) => {
      for (const state of gateFindings) gauge.set({ state }, state === finding ? 1 : 0);
    };
  }

  /** For heartbeats: the fault that holds, null = none; undefined = not known, and what is recorded stays. */
  named(): string | null | undefined {
    if (this.#state.fault !== undefined) return this.#state.fault.kind;
    const open = this.#options.guard?.named();
    return typeof open === "string" ? open : this.#state.isKnown ? null : undefined;
  }

  /** Probes until the signal aborts, which ends a term. Never rejects for what came from outside. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, guard, rng } = this.#options;
    this.#state.reset();
    guard?.reset();
    this.#unknown = undefined;
    this.#setFinding("unknown");
    await sleep(clock, uniform(rng, firstAfterMs, 2 * firstAfterMs), signal);
    while (!signal.aborted) {
      const finding = await this.#probe(signal);
      if (signal.aborted) break;
      this.#tell(finding);
      await guard?.look(finding.kind === "ok", signal);
      const isFaulty = this.#state.isSuspicious || this.#state.fault !== undefined || guard?.isOpen === true;
      const nextMs = isFaulty ? faultPeriodMs : periodMs;
      await sleep(clock, nextMs * uniform(rng, 1 - jitter, 1 + jitter), signal);
    }
    this.#state.reset();
    guard?.reset();
    this.#setFinding(undefined);
  }

  /** A pod that is not there is made, and asked about at once. */
  async #probe(signal: AbortSignal): Promise<Finding> {
    const { clock, dummyPod, worker } = this.#options;
    try {
      const first = await this.#ask(signal);
      if (first !== "no pod") return first;
      await createDummyPod(worker, dummyPod, clock.epochMicros(), signal).catch((error: unknown) => {
        if (!isKubeError(error, "alreadyExists")) throw error;
      });
      const second = await this.#ask(signal);
      return second === "no pod" ? unknown(`the pod ${this.#pod} vanishes at once`) : second;
    } catch (error) {
      const { kind, message } = asKubeError(error);
      return unknown(message, kind === "forbidden");
    }
  }

  #ask(signal: AbortSignal): Promise<Finding | "no pod"> {
    const { cellID, dummyPod, worker } = this.#options;
    return askGate(worker, dummyPod, cellID, { signal });
  }

  get #pod(): string {
    return `${this.#options.dummyPod.namespace}/${this.#options.dummyPod.name}`;
  }

  #tell(finding: Finding): void {
    const { event, logger } = this.#options;
    const change = this.#state.found(finding);
    // What one probe alone has found is not told yet.
    this.#setFinding(this.#state.isSuspicious ? (this.#state.fault?.kind ?? "unknown") : finding.kind);
    if (finding.kind === "unknown") this.#tellUnknown(finding);
    else this.#unknown = undefined;
    if (change === undefined) return;
    const { fault } = change;
    if (change.kind === "began") {
      const message = this.#messageOf(fault);
      logger.error(message, { fault: fault.kind });
      event("Warning", reasons[fault.kind], message);
    } else {
      const message = `Pod deletions of cell "${this.#options.cellID}" are reviewed again`;
      logger.info(message, { fault: fault.kind });
      event("Normal", "GateIsBack", message);
    }
  }

  #tellUnknown({ why, isForbidden }: Extract<Finding, { kind: "unknown" }>): void {
    const kind = isForbidden ? "forbidden" : "failed";
    if (this.#unknown === kind) return;
    this.#unknown = kind;
    const { logger } = this.#options;
    const pod = this.#pod;
    if (isForbidden)
      logger.warn(
        "May not ask whether pod deletions are reviewed: a webhook configuration that is lost goes unnoticed. Grant " +
          "create and delete on this pod",
        { pod, why },
      );
    else logger.warn("Cannot find out whether pod deletions are reviewed", { pod, why });
  }

  #messageOf(fault: GateFault): string {
    const { cellID, dummyPod } = this.#options;
    const asked = `a dry-run deletion of pod ${this.#pod}`;
    switch (fault.kind) {
      case "missing":
        return (
          `Pod deletions of cell "${cellID}" are not reviewed: ${asked} passed without Podseidon's warning, so every ` +
          "pod can be deleted. Check the ValidatingWebhookConfiguration: it must exist, select pods of namespace " +
          `${dummyPod.namespace}, and have failurePolicy Fail. A webhook of an earlier release gives no warning`
        );
      case "other-cell":
        if (fault.cell === noCellID) {
          return (
            `The webhook finds no cell in the labels of pod ${this.#pod}, so it may find none in those of pods of ` +
            `cell "${cellID}". Set --update-trigger-dummy-pod-labels as --webhook-cell-label and ` +
            "--webhook-allowed-cells of the webhook have it, and delete the pod; it is made again"
          );
        }
        return (
          `Pod deletions of cell "${cellID}" are reviewed as those of cell "${fault.cell}": ${asked} said so. ` +
          "Correct the end of the path or URL in its ValidatingWebhookConfiguration, or --aggregator-cell-id"
        );
      case "unreachable":
        return (
          `Pod deletions of cell "${cellID}" are all refused, because the API server gets no decision from the ` +
          `webhook: ${fault.why}`
        );
      default:
        return fault satisfies never;
    }
  }
}

type GateChange =
  | { readonly kind: "began"; readonly fault: GateFault }
  | { readonly kind: "ended"; readonly fault: GateFault };

/**
 * Probes in a row that must find the same fault. One alone may have met an API server that has just started and does
 * not know its webhook configurations yet, a replica that was stopping, or a dummy pod that was just being deleted.
 */
const findingsMin = 2;

/** What probes tell about the gate. Pure: findings in, the beginnings and ends of faults out. */
export class GateState {
  #fault: GateFault | undefined;
  #suspected: GateFault | undefined;
  #times = 0;
  #isKnown = false;

  /** The fault that holds. An unknown finding ends none. */
  get fault(): GateFault | undefined {
    return this.#fault;
  }

  /** A probe has told something since the term began. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Another look is wanted soon. */
  get isSuspicious(): boolean {
    return this.#suspected !== undefined;
  }

  /** Forgets all: another process may have led meanwhile. */
  reset(): void {
    this.#fault = undefined;
    this.#suspected = undefined;
    this.#isKnown = false;
  }

  /** Takes what a probe has found. The end of a fault that another one follows is not told. */
  found(finding: Finding): GateChange | undefined {
    if (finding.kind === "unknown") return undefined;
    if (finding.kind === "ok") {
      this.#isKnown = true;
      this.#suspected = undefined;
      const fault = this.#fault;
      this.#fault = undefined;
      return fault === undefined ? undefined : { kind: "ended", fault };
    }
    if (isSame(finding, this.#fault)) {
      this.#suspected = undefined;
      return undefined;
    }
    this.#times = isSame(finding, this.#suspected) ? this.#times + 1 : 1;
    this.#suspected = finding;
    if (this.#times < findingsMin) return undefined;
    this.#isKnown = true;
    this.#suspected = undefined;
    this.#fault = finding;
    return { kind: "began", fault: finding };
  }
}

function isSame(a: GateFault, b: GateFault | undefined): boolean {
  return a.kind === b?.kind && (a.kind !== "other-cell" || b.kind !== "other-cell" || a.cell === b.cell);
}
