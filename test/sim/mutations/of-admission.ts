/** Mutations of what a webhook does: judge, record, compare and swap (docs/accounting.md#reservation). */
import { type Mutation } from "./mutation.ts";

export const mutationsOfAdmission: readonly Mutation[] = [
  {
    name: "one-too-many",
    why: "the estimate after the write is at least minAvailable (> against >=)",
    file: "accounting/reserve/reservation.ts",
    find: `if (aggregated - unconfirmed - weight < required)`,
    replace: `if (aggregated - unconfirmed < required)`,
  },
  {
    name: "one-too-few",
    why: "a deletion that leaves exactly minAvailable is admitted",
    file: "accounting/reserve/reservation.ts",
    find: `if (aggregated - 1 < required) return`,
    replace: `if (aggregated - 2 < required) return`,
    only: [],
    plan: { cells: ["a"], podsPerCell: 4, minAvailable: 3, hasGenerator: false, hasSecondProtector: false },
  },
  {
    name: "repeat-without-estimate",
    why: "a repeated review is judged by the same rule, because pods may have failed meanwhile",
    file: "accounting/reserve/reservation.ts",
    find: `const refusal = refusalOf(figures, isRepeated ? 0 : 1, context.config);`,
    replace: `const refusal = isRepeated ? undefined : refusalOf(figures, 1, context.config);`,
    only: ["other-refusals", "flapping-pods", "lost-responses"],
  },
  {
    name: "quota-taken-once-for-a-batch",
    why: "each deletion of a batch is judged after those before it",
    file: "accounting/reserve/reservation.ts",
    find: `figuresOf(protector, cells, disruption.criterion, context);`,
    replace: `figuresOf(protector, protector.status?.cells ?? [], disruption.criterion, context);`,
  },
  {
    name: "counts-of-another-spec",
    why: "counts with another countedSpec are not there yet",
    file: "accounting/reserve/reservation.ts",
    find: `if (aggregation.countedSpec !== undefined && aggregation.countedSpec !== context.countedSpec) return false;`,
    replace: ``,
    only: ["edits"],
  },
  {
    name: "lost-counts-are-used",
    why: "after a restore of the core, counts at or below the highest seen version are not there",
    file: "accounting/reserve/reservation.ts",
    find: `return version !== undefined && compareResourceVersions(version, lostUpTo) > 0;`,
    replace: `return true;`,
    scenario: "13b-core-restored-same-counts",
  },
  {
    name: "wrong-cell",
    why: "an admission is recorded in the cell of its pod",
    file: "accounting/reserve/reservation.ts",
    find: `cells = withHistory(cells, disruption.cellID, recorded.buckets);`,
    replace: `cells = withHistory(cells, cells[0]?.cellID ?? disruption.cellID, recorded.buckets);`,
  },
  {
    name: "webhook-leaves-the-summary",
    why: "the summary of a written status is that of its cells",
    file: "accounting/reserve/reservation.ts",
    find: `summary: summarize(cells) };`,
    replace: `summary: protector.status?.summary ?? summarize(cells) };`,
  },
  {
    name: "summary-without-counters",
    why: "a bucket weighs its counter in the summary",
    file: "accounting/count/summary.ts",
    find: `unsettled += totalWeight(admissionHistory?.buckets);`,
    replace: `unsettled += admissionHistory?.buckets?.length ?? 0;`,
  },
  {
    name: "packed-buckets-weigh-one",
    why: "a bucket weighs its counter in the estimate",
    file: "accounting/history/bucket.ts",
    find: `for (const bucket of buckets ?? []) weight += bucketWeight(bucket);`,
    replace: `for (const _ of buckets ?? []) weight += 1;`,
  },
  {
    name: "eviction-recorded-with-version",
    why: "an eviction deletes by name, so that no version proves it dead",
    file: "accounting/history/record.ts",
    find: `let hasVersion = operation === "delete";`,
    replace: `let hasVersion = true;`,
  },
  {
    name: "eviction-keeps-the-version-of-a-delete",
    why: "an eviction that meets the bucket of a DELETE removes its version",
    file: "accounting/history/record.ts",
    find: `if (kind.version === undefined) hasVersion = false;`,
    replace: `hasVersion = kind.version !== undefined;`,
    scenario: "21-eviction-on-a-delete-bucket",
  },
  {
    name: "delete-gives-an-eviction-a-version",
    why: "a bucket without a version never gains one",
    file: "accounting/history/record.ts",
    find: `if (kind.version === undefined) hasVersion = false;`,
    replace: ``,
    only: ["evictions", "other-refusals", "stalled-commits"],
  },
  {
    name: "packed-pod-stays-packed",
    why: "a repeated review of a packed pod takes it out: a UID holds one bucket",
    file: "accounting/history/record.ts",
    find: `} else if (kind.kind === "packed" && kind.digests.has(digest)) {`,
    replace: `} else if (kind.kind === "packed" && digest === "") {`,
    scenario: "24-packed-and-evicted",
  },
  {
    name: "repeat-keeps-the-old-version",
    why: "a repeated review raises podResourceVersion",
    file: "accounting/history/record.ts",
    find:
      "formatMicroTime((context.now + 1) as EpochMicros);\n      " +
      "version = newerResourceVersion(version, kind.version);",
    replace: `formatMicroTime((context.now + 1) as EpochMicros);\n      version = kind.version ?? version;`,
    scenario: "29-repeated-at-once",
  },
  {
    name: "young-by-the-own-clock-alone",
    why: "a pod is young only by the data and by the webhook's clock",
    file: "accounting/reserve/disruption.ts",
    find: `from > now && (countedAt === undefined || from > countedAt)`,
    replace: `from > now`,
    only: ["clocks", "disasters"],
    plan: { minReadySeconds: 20 },
  },
  {
    name: "not-ready-pods-are-evicted-without-record",
    why: "the eviction of a pod that does not meet its criterion is recorded",
    file: "webhook/decide/handler.ts",
    find: `if (operation === "delete" && !canMeet(criterion, pod, 0))`,
    replace: `if (!canMeet(criterion, pod, 0))`,
    only: ["evictions", "flapping-pods", "stalled-commits"],
  },
  {
    name: "empty-cache-admits",
    why: "nothing is admitted before the PodProtectors have been listed",
    file: "webhook/decide/handler.ts",
    find: `if (unsynced !== undefined && !isAllowedAnyway) return notSynced(unsynced.core.name);`,
    replace: ``,
  },
  {
    name: "dry-run-is-recorded",
    why: "dryRun evaluates without writing",
    file: "webhook/decide/handler.ts",
    find: `if (isEvaluateOnly) return severalProtectors.evaluate(protectors, deletion, caller);`,
    replace: ``,
  },
  {
    name: "first-protector-decides",
    why: "all PodProtectors of a pod must admit",
    file: "webhook/decide/several-protectors.ts",
    find: `if (decision !== undefined) return decision;`,
    replace: `return decision ?? admitted(opinions);`,
  },
  {
    name: "answered-before-the-write",
    why: "nothing is admitted without an accepted write",
    file: "webhook/protector/status-writer.ts",
    find: `const unwritten = await this.#write(protector, view, status, deletions);
      if (unwritten !== undefined) return unwritten;`,
    replace: `void this.#write(protector, view, status, deletions).catch(() => {});`,
  },
  {
    name: "lost-answer-is-success",
    why: "a lost answer is never taken for success",
<<<<<<< HEAD
    file: "webhook/protector/status-writer.ts",
    find: `const isConflict = isKubeError(error, "conflict");`,
    replace:
      `const isConflict = isKubeError(error, "conflict");\n      ` +
      `if (isKubeError(error, "network", "timeout")) return body;`,
=======
    file: "kube/pod-protectors.ts",
    find: `return { kind: kindOf(error), error, body };`,
    replace: `if (error.kind === "network" || error.kind === "timeout") return { kind: "written", answer: readProtector(body), body };
    return { kind: kindOf(error), error, body };`,
>>>>>>> main
  },
  {
    name: "no-compare-and-swap",
    why: "without a compare-and-swap the quota is zero",
    file: "kube/pod-protectors.ts",
    find: `const body = { ...base.protector, status };`,
    replace:
<<<<<<< HEAD
      `const live = (await client.request({ method: "GET", path: resourcePath(podProtectors, { ` +
      "namespace, name }) })) as typeof base.protector;\n" +
      `    const body = { ...base.protector, metadata: live.metadata, status };`,
=======
      `const live = (await client.request({ method: "GET", path: resourcePath(podProtectors, { namespace, name }) })) as typeof base.protector;\n` +
      `  const body = { ...base.protector, metadata: live.metadata, status };`,
>>>>>>> main
  },
  {
    name: "verdicts-mixed-up",
    why: "each review of a batch gets its own verdict",
    file: "retry-batch/key-batch.ts",
    find: `result: outcome.results[index]!`,
    replace: `result: outcome.results[0]!`,
  },
  {
    name: "conflict-is-success",
    why: "a conflict takes no effect: the batch is judged again",
    file: "webhook/protector/status-writer.ts",
    find: `return this.#retryConflict(protector.conflicted(base));`,
    replace: `return undefined;`,
  },
  {
    name: "restored-core-goes-unnoticed",
    why: "a PodProtector whose version goes backwards has lost admissions",
    file: "webhook/protector/newest-state.ts",
    find: `const isRestored = view.uid === known.uid && isNewer(known, view);`,
    replace: `const isRestored = false;`,
    scenario: "13b-core-restored-same-counts",
  },
  {
    name: "other-criterion-for-the-pod",
    why: "a deletion takes quota when its pod meets the criterion that it asks to be judged by",
    file: "accounting/count/health-criterion.ts",
    find: `return pod.isRunning;`,
    replace: `return pod.isReady;`,
    only: ["flapping-pods"],
    plan: { criterion: "Running" },
  },
  {
    name: "other-criterion-for-the-counts",
    why: "the counts of the criterion are compared with minAvailable",
    file: "accounting/count/health-criterion.ts",
    find: `return counts.runningReplicas ?? 0;`,
    replace: `return counts.totalReplicas;`,
    only: [],
    plan: { criterion: "Running" },
  },
];
