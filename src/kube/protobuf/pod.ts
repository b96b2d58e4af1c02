/**
 * Pod and PodList of k8s.io/api/core/v1: what src/api/pod.ts reads of them. A pod's spec, which is most of it, is
 * passed over.
 */
import { type Decoded, type V1Pod, type V1PodCondition, type V1PodStatus } from "../../api/models.ts";
import { readListMeta, readObjectMeta, readTime } from "./meta.ts";
import { type MessageReader } from "./message-reader.ts";

interface PodList {
  metadata: ReturnType<typeof readListMeta>;
  items: Decoded<V1Pod>[];
}

export function readPodList(reader: MessageReader): PodList {
  const list: PodList = { metadata: {}, items: [] };
  while (reader.next()) {
    if (reader.field === 1) list.metadata = readListMeta(reader);
    else if (reader.field === 2) list.items.push(readItem(reader));
    else reader.skip();
  }
  return list;
}

/** A whole input that is a Pod. */
export function readPod(reader: MessageReader): Decoded<V1Pod> {
  const pod: Decoded<V1Pod> = { metadata: {} };
  while (reader.next()) {
    if (reader.field === 1) pod.metadata = readObjectMeta(reader);
    else if (reader.field === 3) pod.status = readStatus(reader);
    else reader.skip();
  }
  return pod;
}

function readItem(reader: MessageReader): Decoded<V1Pod> {
  const outer = reader.enter();
  const pod = readPod(reader);
  reader.leave(outer);
  return pod;
}

function readStatus(reader: MessageReader): Decoded<V1PodStatus> {
  const status: Decoded<V1PodStatus> = {};
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.field === 1) status.phase = reader.text();
    else if (reader.field === 2) (status.conditions ??= []).push(readCondition(reader));
    else reader.skip();
  }
  reader.leave(outer);
  return status;
}

function readCondition(reader: MessageReader): Decoded<V1PodCondition> {
  const condition: Decoded<V1PodCondition> = {};
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.field === 1) condition.type = reader.text();
    else if (reader.field === 2) condition.status = reader.text();
    // Kubelets leave it empty; a controller of readiness gates may not.
    else if (reader.field === 3) condition.lastProbeTime = readTime(reader);
    else if (reader.field === 4) condition.lastTransitionTime = readTime(reader);
    else if (reader.field === 5) {
      const reason = reader.text();
      if (reason !== "") condition.reason = reason;
    } else reader.skip();
  }
  reader.leave(outer);
  return condition;
}
