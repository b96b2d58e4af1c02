/** What the controllers read from a pod. */
import { type KubeObject, asArray, asNumber, asObject, asString } from "../engine/object.ts";

export function phaseOf(pod: KubeObject): string {
  return asString(pod.status?.["phase"]) ?? "";
}

/** A pod that counts for its ReplicaSet: not terminating and not finished. */
export function isActive(pod: KubeObject): boolean {
  return pod.metadata.deletionTimestamp === undefined && phaseOf(pod) !== "Succeeded" && phaseOf(pod) !== "Failed";
}

/** Milliseconds of the epoch since when the pod has been ready; undefined when it is not. */
export function readySinceMs(pod: KubeObject): number | undefined {
  const ready = asArray(pod.status?.["conditions"])
    .map(asObject)
    .find((condition) => condition["type"] === "Ready");
  if (ready?.["status"] !== "True") return undefined;
  return Date.parse(asString(ready["lastTransitionTime"]) ?? pod.metadata.creationTimestamp);
}

/** Milliseconds until the pod is available: 0 = it is, undefined = it is not ready. */
export function untilAvailableMs(pod: KubeObject, minReadySeconds: number, nowMs: number): number | undefined {
  const since = readySinceMs(pod);
  if (since === undefined) return undefined;
  return minReadySeconds === 0 ? 0 : Math.max(0, since + minReadySeconds * 1000 - nowMs);
}

/** A non-negative integer or percentage of `total`, as rollouts resolve them. */
export function resolveCount(value: unknown, total: number, roundUp: boolean): number {
  const percent = typeof value === "string" ? /^(\d+)%$/.exec(value)?.[1] : undefined;
  if (percent === undefined) return asNumber(value) ?? 0;
  const exact = (Number(percent) * total) / 100;
  return roundUp ? Math.ceil(exact) : Math.floor(exact);
}
