/**
 * Shares equal label sets between pods: the pods of one workload mostly have the same labels, and a shared object saves
 * several hundred bytes a pod and makes "have the labels changed" a comparison of references.
 */
import { type Labels } from "../api/pod.ts";

/**
 * Distinct label sets remembered; StatefulSets and Jobs label each pod differently. When full, the memory starts anew.
 */
const distinctMax = 65_536;

export function createLabelInterner(): (labels: Labels) => Labels {
  const known = new Map<string, Labels>();
  return (labels) => {
    const text = JSON.stringify(labels);
    const shared = known.get(text);
    if (shared !== undefined) return shared;
    if (known.size >= distinctMax) known.clear();
    known.set(text, labels);
    return labels;
  };
}
