/** Mutations of counting, of the fence of counts, and of the watches below them (docs/accounting.md#counts). */
import { type Mutation } from "../mutation.ts";

export const mutationsOfCounts: readonly Mutation[] = [
  {
    name: "no-count-fence",
    why: "nobody writes counts from an older snapshot than the recorded one",
    file: "accounting/count/cell-plan.ts",
    find:
      "memory.firstCountsDone();\n\n  " +
      `if (compareResourceVersions(snapshot.version, recordedVersion) < 0) return { kind: "behind" };`,
    replace: `memory.firstCountsDone();\n`,
    scenario: "15-two-leaders",
  },
  {
    name: "first-counts-of-a-former-edit",
    why: "the wait for first counts begins anew where the spec was another one meanwhile",
    file: "aggregator/counting/protector-state.ts",
    find: `else this.memory.firstCountsOnlyOf(spec);`,
    replace: ``,
    scenario: "09f-edited-and-edited-back",
  },
  {
    name: "first-counts-without-barrier",
    why: "first counts need a snapshot that has passed a LIST barrier made after that state was seen",
    file: "accounting/count/cell-plan.ts",
    find: `if (snapshot.barrierSentAtMs <= fromMs) return { kind: "barrier", fromMs };`,
    replace: ``,
    only: ["edits", "erasures", "watch-lag"],
    plan: { hasGenerator: false },
  },
  {
    name: "counts-of-the-previous-release-are-unknown",
    why: "counts say what they are an answer to in the way of the release before, so that both can run side by side",
    file: "accounting/count/counted-spec.ts",
    find: `JSON.stringify([protectorUID, canonicalCountingSelector, minReadySeconds])`,
    replace: `JSON.stringify([canonicalCountingSelector, protectorUID, minReadySeconds])`,
    only: [],
    plan: { upgrade: "forward" },
  },
  {
    name: "no-write-at-equal-totals",
    why: "counts are written when a counted pod became countable, even at equal totals",
    file: "accounting/count/cell-plan.ts",
    find: `if (settlement.settled.size === 0 && !becameCountable && haveSameCounts`,
    replace: `if (settlement.settled.size === 0 && haveSameCounts`,
    scenario: "03b-equal-totals",
  },
  {
    name: "settled-with-the-old-counts",
    why: "a bucket is dropped in the same write that carries the new counts",
    file: "accounting/count/cell-plan.ts",
    find: `      ...counts,\n`,
    replace:
      "      ...counts,\n      " +
      "...(input.settlement.settled.size > 0 && recorded !== undefined && { availableReplicas: " +
      "recorded.availableReplicas }),\n",
  },
  {
    name: "new-label-sets-are-not-matched",
    why: "a pod with labels that no other has is counted by each PodProtector that selects them",
    file: "aggregator/counting/match-table.ts",
    find: `for (const protector of after) this.#matches.get(protector)?.labelSets.add(labelSet);`,
    replace: ``,
  },
  {
    name: "self-check-finds-too-much",
    why: "the self-check counts the pods that the selector selects, and no others",
    file: "aggregator/audits/self-check.ts",
    find: `if (matches(selector, labels)) found.add(key);`,
    replace: `found.add(key);`,
    only: ["bystanders"],
  },
  {
    name: "changed-counts-not-written",
    why: "counts are written when they change",
    file: "accounting/count/cell-plan.ts",
    find:
      "    recorded.availableReplicas === counts.availableReplicas &&\n    " +
      "(recorded.readyReplicas ?? 0) === counts.readyReplicas &&\n",
    replace: ``,
    only: ["flapping-pods"],
  },
  {
    name: "recounts-are-timed",
    why: "the mark of a recount is later than the marks before it, whatever the clock says",
    file: "accounting/count/recount-mark.ts",
    find: `if (mark !== undefined) next = Math.max(next, epochMicrosOf(mark) + 1) as EpochMicros;`,
    replace: ``,
    scenario: "33-recount-marks",
  },
  {
    name: "min-ready-seconds-ignored",
    why: "a pod counts as available when it has been Ready for minReadySeconds",
    file: "accounting/count/pod-counts.ts",
    find: `const from = availableFrom(pod, minReadySeconds);`,
    replace: `const from = availableFrom(pod, 0);`,
  },
  {
    name: "terminating-pods-in-the-totals",
    why: "terminating pods count for nothing",
    file: "accounting/count/pod-counts.ts",
    find: `if (pod.isTerminating || pod.isTerminal) continue;`,
    replace: `if (pod.isTerminal) continue;`,
  },
  {
    name: "protecting-selector-counts",
    why: "the aggregationSelector decides which pods are counted",
    file: "aggregator/counting/match-table.ts",
    find: `const selector = countingSelector(protector.spec);`,
    replace: `const selector = protector.spec.selector;`,
    only: ["edits", "relabelled-pods"],
  },
  {
    name: "label-changes-ignored",
    why: "a pod whose labels change leaves the counts of its old selectors",
    file: "aggregator/counting/match-table.ts",
    find: `if (previous !== undefined && previous.labels === pod.labels) return before;`,
    replace: `if (previous !== undefined) return before;`,
    only: ["relabelled-pods"],
  },
  {
    name: "aggregator-leaves-the-summary",
    why: "the summary of a written status is that of its cells",
    file: "aggregator/counting/cell-writer.ts",
    find: `return { ...status, cells: all, summary: summarize(all, spec) };`,
    replace: `return { ...status, cells: all, summary: status?.summary ?? summarize(all, spec) };`,
  },
  {
    name: "aggregator-drops-other-cells",
    why: "an aggregator writes its own cell only",
    file: "aggregator/counting/cell-writer.ts",
    find: `const all = known ? cells.map((other) => (other.cellID === cell.cellID ? cell : other)) : [...cells, cell];`,
    replace: `const all = known ? [cell] : [...cells, cell];`,
  },
  {
    name: "new-leader-looks-at-nothing",
    why: "a new leader looks at every PodProtector",
    file: "aggregator/controller.ts",
    find: `for (const key of this.#states.keys()) this.#queue.add(key);`,
    replace: ``,
    scenario: "15b-new-leader",
  },
  {
    name: "every-list-is-a-barrier",
    why: "only the consistent first list is a barrier, from the moment when it was sent",
    file: "aggregator/watching/cell-watch.ts",
    find: `if (first && this.#podsStartedAtMs !== undefined) this.#barriers.listed(this.#podsStartedAtMs);`,
    replace: `this.#barriers.listed(this.#options.clock.monotonicMs());`,
    scenario: "26b-stale-list-is-no-barrier",
  },
  {
    name: "counts-without-a-watch",
    why: "nothing is counted at once while the watch of pods is away",
    file: "aggregator/counting/counting-pace.ts",
    find: `if (!this.#options.isWatching()) return false;`,
    replace: ``,
    scenario: "71i-worker-restored",
  },
  {
    name: "relist-of-protectors-ignored",
    why: "after a gap in the watch of PodProtectors, waits of packed pods start again",
    file: "aggregator/controller.ts",
    find: `if (!first) this.#relisted(changed);`,
    replace: ``,
    scenario: "28-unseen-repeat",
  },
  {
    name: "newer-state-of-the-watch-ignored",
    why: "the newest of watch, own write and live GET is the base",
    file: "aggregator/counting/protector-state.ts",
    find: `} else if (compareResourceVersions(stored.resourceVersion, this.#newest.resourceVersion) > 0) {`,
    replace:
      "} else if (compareResourceVersions(stored.resourceVersion, this.#newest.resourceVersion) > 0 && " +
      "this.#newest.protector.status === undefined) {",
    only: ["other-refusals"],
  },
  {
    name: "progress-before-the-end-of-the-initial-events",
    why: "versions between initial events promise nothing",
    file: "kube/watch/cache.ts",
    find: `if (frame.type === "deleted") objects.delete(rawKey(frame.object));`,
    replace:
      "if (this.isSynced) this.#advance(frame.version);\n    " +
      `if (frame.type === "deleted") objects.delete(rawKey(frame.object));`,
    scenario: "17-initial-events-out-of-order",
  },
  {
    name: "deletions-lost-on-relist",
    why: "a relist tells of what has gone meanwhile",
    file: "kube/watch/cache.ts",
    find: `if (objects.get(key)?.uid !== previous.uid) yield {`,
    replace: `if (objects.has(key) && objects.get(key)?.uid !== previous.uid) yield {`,
    scenario: "16b-gone-while-away",
  },
  {
    name: "counted-cells-are-ghosts",
    why: "the generator removes only cells that nobody has counted",
    file: "generator/cells/ghost-cells.ts",
    find: `return cell.aggregation === undefined && bucketsOf(cell).length > 0;`,
    replace: `return bucketsOf(cell).length > 0;`,
    scenario: "35-ghost-removed",
  },
];
