/**
 * The question whether pod deletions are reviewed, asked once: a dry-run DELETE of the update-trigger's dummy pod, to
 * which our webhook answers with a warning that names its cell (docs/aggregator.md#is-the-gate-still-there). Nothing is
 * ever deleted by it. The aggregator asks it once a minute, `podseidon check` for a person.
 */
import { cellOfGateWarning, releaseOfWarning } from "../../api/gate-warning.ts";
import { readAnnotations } from "../../api/pod.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import { type DummyPod, dummyPodPath } from "../../kube/dummy-pod.ts";
import { asKubeError, type KubeClient, type KubeError, type KubeRequest } from "../../kube/kube-client.ts";

/** The values of the gauge; see the document for what each one means. */
export const gateFindings = ["ok", "missing", "other-cell", "unreachable", "unknown"] as const;

export type Finding =
  | { readonly kind: "ok" }
  /** The deletion passed, and nobody of ours has seen it: the gate is open. */
  | { readonly kind: "missing" }
  /** The webhook was called for another cell, and so counts the pods of another cluster. */
  | { readonly kind: "other-cell"; readonly cell: string }
  /** The API server calls the webhook and gets no decision: the gate is closed, and refuses everything. */
  | { readonly kind: "unreachable"; readonly why: string }
  /** Nothing was found out. */
  | { readonly kind: "unknown"; readonly why: string; readonly isForbidden: boolean };

/** What is wrong with the gate. */
export type GateFault = Exclude<Finding, { readonly kind: "ok" | "unknown" }>;

interface GateLimits extends Pick<KubeRequest, "signal" | "timeoutMs"> {
  /** Called with the release of the webhook that answered, if that tells. */
  readonly onRelease?: (productVersion: string) => void;
}

/** `cellID`: the cell for which the webhook should be called. Rejects only for programmer errors. */
export async function askGate(
  worker: KubeClient,
  dummyPod: Pick<DummyPod, "namespace" | "name">,
  cellID: string,
  { onRelease, ...limits }: GateLimits,
): Promise<Finding | "no pod"> {
  let warnings: readonly string[] = [];
  const ofWarnings = (): Finding | undefined => {
    const cell = warnings.map((warning) => cellOfGateWarning(warning)).find((named) => named !== undefined);
    if (cell === undefined) return undefined;
    return cell === cellID ? { kind: "ok" } : { kind: "other-cell", cell };
  };
  try {
    const answer = await worker.request({
      method: "DELETE",
      path: dummyPodPath(dummyPod),
      query: { dryRun: "All" },
      onWarnings(given) {
        warnings = given;
        const release = given.map((warning) => releaseOfWarning(warning)).find((named) => named !== undefined);
        if (release !== undefined) onRelease?.(release);
      },
      ...limits,
    });
    return ofWarnings() ?? (isMarked(answer) ? { kind: "missing" } : unknown(unmarked(dummyPod)));
  } catch (error) {
    const failure = asKubeError(error);
    // A refusal too: whoever gave it, our webhook was asked.
    return ofWarnings() ?? ofFailure(failure);
  }
}

export function unknown(why: string, isForbidden = false): Finding {
  return { kind: "unknown", why, isForbidden };
}

function unmarked({ namespace, name }: Pick<DummyPod, "namespace" | "name">): string {
  const { updateTriggerTime } = annotations;
  return `the pod ${namespace}/${name} lacks the annotation ${updateTriggerTime}; delete it, it is made again`;
}

/** False for a pod that the webhook cannot tell from others. An answer without the pod says nothing about that. */
function isMarked(answer: unknown): boolean {
  const { kind } = (answer ?? {}) as { readonly kind?: unknown };
  return kind !== "Pod" || Object.hasOwn(readAnnotations(answer), annotations.updateTriggerTime);
}

/** The API server's words for a webhook without a decision, with its name, which is ours where it says so. */
const failedCall = /failed calling webhook "[^"]*podseidon[^"]*"/;

function ofFailure({ kind, message }: KubeError): Finding | "no pod" {
  if (kind === "notFound") return "no pod";
  if (kind === "serverError" && failedCall.test(message)) return { kind: "unreachable", why: message };
  return unknown(message, kind === "forbidden");
}
