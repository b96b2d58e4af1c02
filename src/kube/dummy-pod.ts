/**
 * The dummy pod of a worker cluster, which is never scheduled: the update-trigger touches it
 * (docs/aggregator.md#update-trigger), and the gate probe asks what would become of its deletion.
 */
import { type Sent, type V1Pod } from "../api/models.ts";
import { formatMicroTime } from "../api/micro-time.ts";
import { annotations } from "../api/v1alpha1/names.ts";
import { type Config } from "../config/config.ts";
import { type EpochMicros } from "../util/clock.ts";
import { type KubeClient, resourcePath } from "./kube-client.ts";
import { pods } from "./resources.ts";

export type DummyPod = Config["updateTrigger"]["dummyPod"];

/** The annotation that tells the dummy pod from all others. Its value is the time of the last touch. */
export function touchOf(time: EpochMicros): Readonly<Record<string, string>> {
  return { [annotations.updateTriggerTime]: formatMicroTime(time) };
}

/** Path of the pod, for requests. */
export function dummyPodPath({ namespace, name }: Pick<DummyPod, "namespace" | "name">): string {
  return resourcePath(pods, { namespace, name });
}

/** Creates the pod as the flags describe it. Throws KubeError, "alreadyExists" when somebody else was faster. */
export async function createDummyPod(
  worker: KubeClient,
  pod: DummyPod,
  time: EpochMicros,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace, labels, annotations: given, scheduler, image } = pod;
  await worker.request({
    method: "POST",
    path: resourcePath(pods, { namespace }),
    body: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace, labels, annotations: { ...touchOf(time), ...given } },
      spec: { schedulerName: scheduler, containers: [{ name: "main", image }] },
    } satisfies Sent<V1Pod>,
    signal,
  });
}
