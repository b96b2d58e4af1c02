/**
 * Kubernetes Events on the PodProtectors: what was refused, and which objects cannot be understood. No answer waits for
 * an Event; the recorder aggregates, limits the rate and drops what does not fit.
 */
import { apiVersion } from "../../api/v1alpha1/names.ts";
import { type EventRecorder } from "../../kube/event-recorder.ts";
import { type Refused } from "./decision.ts";
import { type Deletion } from "../protector/judge.ts";
import { type Candidate } from "./reserve-all.ts";
import { writerKey } from "../protector/status-writer.ts";

export class ProtectorEvents {
  /** By core. */
  readonly #recorders: ReadonlyMap<string, EventRecorder>;

  constructor(recorders: ReadonlyMap<string, EventRecorder>) {
    this.#recorders = recorders;
  }

  /** Each PodProtector that the causes of the refusal name. */
  refused({ causes }: Refused, candidates: readonly Candidate[], { pod, cellID, operation }: Deletion): void {
    for (const { core, key, states } of candidates) {
      const cause = causes.find(({ field }) => field === writerKey(core, key));
      if (cause === undefined) continue;
      const what = `${operation === "delete" ? "Deletion" : "Eviction"} of pod ${pod.name} in cell ${JSON.stringify(cellID)} refused`;
      const uid = states.unusable(key)?.uid ?? states.get(key)?.uid;
      this.#warn(core, key, uid, cause.reason, `${what}: ${cause.message}`);
    }
  }

  unusable(core: string, { key, uid }: { readonly key: string; readonly uid: string }, reason: string): void {
    this.#warn(
      core,
      key,
      uid,
      "UnusablePodProtector",
      `It admits no pod deletion, because it cannot be understood: ${reason}`,
    );
  }

  #warn(core: string, key: string, uid: string | undefined, reason: string, message: string): void {
    const slash = key.indexOf("/");
    const regarding = {
      apiVersion,
      kind: "PodProtector",
      namespace: key.slice(0, slash),
      name: key.slice(slash + 1),
      uid,
    };
    this.#recorders.get(core)?.record(regarding, "Warning", reason, message);
  }
}
