/** PodProtectors as the webhook sees them, for the tests of its parts. */
import assert from "node:assert/strict";
import { type PodRecord, readPodRecord } from "../../../../src/api/pod.ts";
import { readProtector } from "../../../../src/kube/resources.ts";
import { type Deletion } from "../../../../src/webhook/deletion.ts";
import { type CountsInForce, type ProtectorView, readView } from "../../../../src/webhook/protector/protector-view.ts";
import { type Json, pod, protector, type ProtectorParts } from "./objects.ts";

/** The view of an object as the core holds it, with this version unless it has one. */
export function viewOf(object: Json, version: number | string = 1, previous?: ProtectorView): ProtectorView {
  const metadata = { resourceVersion: String(version), ...(object["metadata"] as Json) };
  const read = readProtector({ ...object, metadata });
  assert.ok(read.ok);
  const view = readView(read.stored, previous);
  assert.ok(view.ok);
  return view.view;
}

export function protectorView(parts: ProtectorParts = {}, version = 1): ProtectorView {
  return viewOf(protector(parts), version);
}

/** No restore has lost counts, and no cell is silent. */
export const allInForce: CountsInForce = { silentForMs: () => undefined, held: new Map() };

/** The deletion of a pod of the cell c1. */
export function deletionOf(name: string, labels: Record<string, string> = { app: "web" }): Deletion {
  const record: PodRecord | undefined = readPodRecord(pod(name, { labels }));
  assert.ok(record !== undefined);
  return { operation: "delete", cellID: "c1", pod: record, criterion: "Available", isForced: false };
}
