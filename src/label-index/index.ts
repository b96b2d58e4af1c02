/**
 * Label selectors, and indexes over them. Pure: no clock, no randomness, no input or output.
 * - canonical-selector.ts: the Kubernetes meaning of a LabelSelector, its canonical form and text.
 * - selector-index.ts: which selectors match a label set (a pod's PodProtectors), over set-trie.ts and alphabet.ts.
 * - label-set-index.ts: which label sets match a selector (a PodProtector's pods).
 *   small-set.ts: what mostly has one member.
 * - namespaced-index.ts: one index per namespace, created on demand and freed when empty.
 */
export { compileSelector, formatSelector, matches, type CompiledSelector } from "./canonical-selector.ts";
export { createLabelSetIndex, type LabelSet } from "./label-set-index.ts";
export { createNamespacedIndex } from "./namespaced-index.ts";
export { createSelectorIndex } from "./selector-index.ts";
