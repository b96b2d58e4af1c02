/**
 * Pod and PodList of k8s.io/api/core/v1: what src/api/pod.ts reads of them. A pod's spec, which is most of it, is
 * passed over.
 */
import { readListMeta, readObjectMeta, readTime } from "./meta.ts";
import { type MessageReader } from "./message-reader.ts";

interface Pod {
  metadata: ReturnType<typeof readObjectMeta>;
  status?: PodStatus;
}

interface PodStatus {
  phase?: string;
  conditions?: PodCondition[];
}

interface PodCondition {
  type?: string;
  status?: string;
  lastProbeTime?: Date | undefined;
  lastTransitionTime?: Date | undefined;
}

interface PodList {
  metadata: ReturnType<typeof readListMeta>;
  items: Pod[];
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
export function readPod(reader: MessageReader): Pod {
  const pod: Pod = { metadata: {} };
  while (reader.next()) {
    if (reader.field === 1) pod.metadata = readObjectMeta(reader);
    else if (reader.field === 3) pod.status = readStatus(reader);
    else reader.skip();
  }
  return pod;
}

function readItem(reader: MessageReader): Pod {
  const outer = reader.enter();
  const pod = readPod(reader);
  reader.leave(outer);
  return pod;
}

function readStatus(reader: MessageReader): PodStatus {
  const status: PodStatus = {};
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.field === 1) status.phase = reader.text();
    else if (reader.field === 2) (status.conditions ??= []).push(readCondition(reader));
    else reader.skip();
  }
  reader.leave(outer);
  return status;
}

function readCondition(reader: MessageReader): PodCondition {
  const condition: PodCondition = {};
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.field === 1) condition.type = reader.text();
    else if (reader.field === 2) condition.status = reader.text();
    // Kubelets leave it empty; a controller of readiness gates may not.
    else if (reader.field === 3) condition.lastProbeTime = readTime(reader);
    else if (reader.field === 4) condition.lastTransitionTime = readTime(reader);
    else reader.skip();
  }
  reader.leave(outer);
  return condition;
}
