/** Rules switched off for scenarios, besides those of mutations/catalog.ts. */
import { type Mutation } from "../mutations/mutation.ts";
import { rulesOfMassChanges } from "./rules-of-mass-changes.ts";

export const rules: readonly Mutation[] = [
  ...rulesOfMassChanges,
  {
    name: "quiet-time-is-latency",
    why: "time in which nothing happened to an object is no latency",
    file: "accounting/count/summary.ts",
    find: `const wasQuiet = countedAt !== undefined && countedAt < oldest;`,
    replace: `const wasQuiet = countedAt !== undefined && countedAt < covered;`,
  },
  {
    name: "starts-undecided",
    why: "a replica is not ready before it knows which cells were silent when it started",
    file: "roles/webhook.ts",
    find: `() => cells.undecidedReason()`,
    replace: `() => undefined`,
  },
  {
    name: "nothing-keeps-a-silent-cell",
    why: "the annotation keep-until on the Lease keeps the counts of a silent cell in force",
    file: "accounting/silence/cell-silence.ts",
    find: `lease.keepUntil > formatMicroTime(now)) return "keep-until";`,
    replace: `lease.keepUntil > formatMicroTime(now)) return undefined;`,
  },
  {
    name: "vanished-cells-stay-silent",
    why: "a Lease that has been gone for long makes its cell one without heartbeats",
    file: "accounting/silence/cell-silence.ts",
    find: `cell.state = keeping["lease-vanished"];`,
    replace: ``,
  },
  {
    name: "invalid-selectors-stop-the-counts",
    why: "when a selector turns invalid, the aggregator counts by the last valid one",
    file: "aggregator/match-table.ts",
    find: `selectorText: tracked?.selectorText };`,
    replace: `selectorText: undefined };`,
  },
  {
    name: "quiet-cells-are-not-touched",
    why: "the update-trigger runs inside the aggregator by default",
    file: "config/flags/aggregator.ts",
    find: `        true,\n        "Run the update-trigger`,
    replace: `        false,\n        "Run the update-trigger`,
  },
  {
    name: "percentages-round-down",
    why: "a maxUnavailable percentage above zero lets at least one pod go",
    file: "generator/floor.ts",
    find: `return Math.max(1, Math.floor(share));`,
    replace: `return Math.floor(share);`,
  },
  {
    name: "young-pods-are-not-recorded",
    why: "a deletion that needs no quota because its pod is young is recorded with weight 1",
    file: "accounting/reserve/disruption.ts",
    find: `(countedAt === undefined || from > epochMicrosOf(countedAt)))\n      return "record";`,
    replace: `(countedAt === undefined || from > epochMicrosOf(countedAt)))\n      return "nothing";`,
  },
  {
    name: "nothing-to-keep-is-a-floor",
    why: "a PodProtector without a floor refuses nothing",
    file: "accounting/reserve/disruption.ts",
    find: `return minAvailable > 0;`,
    replace: `return minAvailable >= 0;`,
  },
  {
    name: "evicted-pod-is-read-once",
    why: "the pod of an eviction is read again after the record, when it needed no quota",
    file: "webhook/decide/handler.ts",
    find: `this.#mayHaveChanged(subject); readings`,
    replace: `this.#mayHaveChanged(subject) && readings === 0; readings`,
  },
  {
    name: "packing-forgets-the-counters",
    why: "the counter of a packed bucket is the sum of those that it replaces; upstream keeps the first",
    file: "accounting/history/compaction.ts",
    find: `counter: digests.length,\n    ...(version`,
    replace: `counter: 1,\n    ...(version`,
  },
  {
    name: "best-effort-is-not-recorded",
    why: "forced deletions and those of pods that are only counted are recorded",
    file: "accounting/reserve/disruption.ts",
    find: `if (bestEffort) return "record-best-effort";`,
    replace: `if (bestEffort) return "nothing";`,
  },
  {
    name: "records-add-cells",
    why: "a record changes only a cell that is there (with records-need-no-counts)",
    file: "accounting/reserve/reservation.ts",
    find: `  return cells.map((cell) =>\n    cell.cellID === cellID ? {`,
    replace:
      `  if (!cells.some((cell) => cell.cellID === cellID))\n` +
      `    return [...cells, { cellID, admissionHistory: { buckets } }];\n` +
      `  return cells.map((cell) =>\n    cell.cellID === cellID ? {`,
  },
  {
    name: "ghosts-stay",
    why: "a cell that nobody counts is removed when it has stood unchanged for a settle window",
    file: "generator/ghost-cells.ts",
    find: `later(seen.sinceMs, ghostWindowMs) <= nowMs`,
    replace: `nowMs === Infinity`,
  },
  {
    name: "held-pods-stand-in-their-own-way",
    why: "a pod that is held takes its own place when its deletion is reviewed again",
    file: "accounting/reserve/reservation.ts",
    find: `const held = withoutPod(context.held, disruption);`,
    replace: `const { held } = context;`,
  },
  {
    name: "refused-review-releases",
    why: "a webhook takes no record back (with release-takes-the-bucket)",
    file: "webhook/decide/several-protectors.ts",
    find: `      if (decision !== undefined) return decision;\n    }`,
    replace: `      if (decision !== undefined) {
        for (const earlier of opinions.slice(0, opinions.indexOf(opinion)))
          await this.#options.reservations.reserve(earlier.protector, { ...deletion, release: true }, caller);
        return decision;
      }
    }`,
  },
  {
    name: "release-takes-the-bucket",
    why: "a webhook takes no record back (with refused-review-releases)",
    file: "accounting/reserve/reservation.ts",
    find: `  const { isRepeated } = recorded;`,
    replace: `  const others = buckets.filter(({ podUID }) => podUID !== disruption.pod.uid);
  const released = { kind: "admitted", need, isRecorded: true, isRepeated: true } as const;
  if (disruption.release) return { verdict: released, recorded: { ...recorded, buckets: others } };
  const { isRepeated } = recorded;`,
  },
  {
    name: "memory-overrules-live-reads",
    why: "a live GET always replaces the webhook's memory of its own writes",
    file: "webhook/protector/newest-state.ts",
    find: `    const isRestored = view.uid === known.uid && isNewer(known, view);`,
    replace: `    const isRestored = false;\n    if (isNewer(known, view)) return this.readLive(known, known);`,
  },
  {
    name: "restored-core-without-barrier",
    why: "after a restore of the core, counts are written only when a barrier after the settle window was passed",
    file: "accounting/count/cell-plan.ts",
    find: `if (input.nowMs < fromMs || snapshot.barrierSentAtMs < fromMs) return`,
    replace: `if (input.nowMs < fromMs) return`,
  },
  {
    name: "reset-history-goes-unnoticed",
    why: "a barrier below the own snapshot means that the worker's history was reset",
    file: "aggregator/barrier.ts",
    find: `if (before !== undefined && compareResourceVersions(version, before) < 0) {`,
    replace: `if (before === undefined && compareResourceVersions(version, version) < 0) {`,
  },
  {
    name: "lost-connection-tells-of-no-reset",
    why: "after a lost connection, a consistent list tells whether the history still holds the version to resume from",
    file: "kube/watch/reflector.ts",
    find: `state.mayBeRestored === true ? await`,
    replace: `state.from === undefined ? await`,
  },
  {
    name: "silent-replica-stays-ready",
    why: "a replica is unready when its watch of the core has been silent for minutes",
    file: "webhook/protector/core.ts",
    find: `const unreadyAfterMs = 300_000;`,
    replace: `const unreadyAfterMs = Infinity;`,
  },
  {
    name: "only-equal-versions-are-fenced",
    why: "a pod is fenced when it is alive at or below the version of its bucket",
    file: "accounting/settle/settlement.ts",
    find: `  const fence = input.fences.fenceOf(pod.uid);`,
    replace:
      `  if (compareResourceVersions(pod.resourceVersion, version) !== 0) return { kind: "wait" };\n` +
      "  const fence = input.fences.fenceOf(pod.uid);",
  },
  {
    name: "own-writes-are-forgotten",
    why: "an aggregator that remembers its own last write takes stripped extensions for no reset",
    file: "accounting/count/cell-memory.ts",
    find: `if (recorded.resourceVersion === undefined && own !== undefined && isStrippedFrom(recorded, own)) {`,
    replace: `if (recorded.resourceVersion === "" && own !== undefined && isStrippedFrom(recorded, own)) {`,
  },
  {
    name: "fence-value-is-the-same-for-a-pod",
    why: "the value of a fence is unique to the patch",
    file: "aggregator/fencer.ts",
    find: `const value = randomHex(rng, 16);`,
    replace: `const value = pod.uid;`,
  },
  {
    name: "packed-pod-keeps-its-version",
    why: "an eviction takes a packed pod out, without a version",
    file: "accounting/history/record.ts",
    find: `      isTakenOut = true;`,
    replace: `      isTakenOut = true;\n      hasVersion = true;`,
  },
  {
    name: "nothing-is-written-after-a-restore",
    why: "after a restore of the core, counts are written even when they are equal",
    file: "accounting/count/cell-plan.ts",
    find: `if (restoredSinceMs !== undefined) {`,
    replace: `if (restoredSinceMs === Infinity) {`,
  },
  {
    name: "window-asks-for-no-barrier",
    why: "after the settle window the aggregator sends a LIST barrier",
    file: "accounting/settle/settlement.ts",
    find: `return { kind: "wait", barrierFromMs: fromMs, wakeAtMs: fromMs };`,
    replace: `return { kind: "wait", wakeAtMs: fromMs };`,
  },
  {
    name: "anonymous-number-must-stand-still",
    why: "of anonymous admissions the minimum over the settle window is settled",
    file: "accounting/settle/first-seen.ts",
    find: `minimum = Math.min(minimum, sample.count);`,
    replace: `if (sample.count !== minimum) return 0;`,
  },
  {
    name: "fences-are-not-used",
    why: "a bucket with a version is fenced; it does not wait for the window",
    file: "accounting/settle/settlement.ts",
    find: `if (input.fences.isForbidden(pod.uid)) return judgeByWindow(input, seen);`,
    replace: `return judgeByWindow(input, seen);`,
  },
  {
    name: "gone-only-by-version",
    why: "a pod is gone when a barrier has been passed as well, whatever version is recorded",
    file: "accounting/settle/settlement.ts",
    find: `if (reached || barrierPassed) return { kind: "settled", reason: "gone" };`,
    replace: `if (reached || (version === undefined && barrierPassed)) return { kind: "settled", reason: "gone" };`,
  },
  {
    name: "absent-spec-is-refused",
    why: "without countedSpec counts are used as upstream uses them",
    file: "accounting/count/counted-spec.ts",
    find: `if (answered === undefined || answered`,
    replace: `if (answered`,
  },
  {
    name: "fences-do-not-double",
    why: "repeated fences of a pod double their distance up to the settle window",
    file: "accounting/settle/fence-registry.ts",
    find: `entry.sends += 1;`,
    replace: `entry.sends = 1;`,
  },
  {
    name: "not-ready-pods-take-quota",
    why: "a DELETE, or what is one in disguise, of a pod that does not meet its criterion needs nothing",
    file: "webhook/decide/subject.ts",
    find: `lostNode: nodeNameOf(request.oldObject) } : subject;`,
    replace: `pod: { ...subject.pod, isReady: true }, lostNode: nodeNameOf(request.oldObject) } : subject;`,
  },
  {
    name: "orphans-are-kept",
    why: "the guard lets go of a lost node's pods --orphaned-pod-grace after its first refusal",
    file: "webhook/decide/handler.ts",
    find: `if (leftMs > 0) {`,
    replace: `if (leftMs >= 0) {`,
  },
  {
    name: "lost-nodes-are-remembered",
    why: "a lost node that nobody asks about for half an hour has the whole grace again",
    file: "webhook/decide/lost-nodes.ts",
    find: `nowMs - node.lastMs <= forgottenAfterMs`,
    replace: `nowMs - node.lastMs <= Infinity`,
  },
];
