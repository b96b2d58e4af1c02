/**
 * The metrics of the webhook: upstream's names and labels, and a few extensions (docs/compatibility.md#metrics). Cell
 * IDs come from URLs that anyone may call, so only known cells become label values (known-cells.ts).
 */
import { errorLabel } from "../kube/kube-client.ts";
import { createIndexErrorCounter, createPrunedCounter } from "../kube/pod-protectors.ts";
import { type ExecuteOutcome, type RetryBatchObserver, type SubmitOutcome } from "../retry-batch/index.ts";
import { type KnownCells } from "./known-cells.ts";
import { assertNever } from "../util/assert.ts";
import { exponentialBuckets, functionDurationSeconds, type MetricLabels, type Metrics } from "../util/metrics.ts";

export type StatusWriteResult = "written" | "conflict" | "failed";

/** What became of a review. "error": the failurePolicy of the API server decides. */
export type DecisionResult = "admitted" | "held" | "refused" | "forced" | "shadow" | "dry_run" | "error";

/** "gone": its caller has left. */
export type HeldOutcome = "admitted" | "refused" | "gone";

export interface WebhookMetrics {
  /** `count`: how many reviews are being decided; called before each scrape. */
  readReviewsInFlight(count: () => number): void;
  /** `count`: how many PodProtectors of the core are in memory; called before each scrape. */
  readProtectors(core: string, count: () => number): void;
  /** A review was decided. */
  request(cellID: string, status: string, cause: string, durationMs: number): void;
  /** The same for people: `reason` is that of a refusal's first cause, else the status; one of a fixed set of words. */
  decided(result: DecisionResult, reason: string, cellID: string): void;
  /** A review could not be read or decided; `error` is one of a fixed set of words. */
  httpError(cellID: string, error: string): void;
  /** A review was held instead of being refused at once, because of what `cause` says. */
  heldReview(cause: string, result: HeldOutcome, durationMs: number): void;
  /** `count`: how many reviews are held; called before each scrape. */
  readHeldReviews(count: () => number): void;
  /** One PodProtector was evaluated for one pod. */
  handledPod(event: {
    readonly cellID: string;
    readonly namespace: string;
    readonly user: string;
    readonly requestType: string;
    readonly isRejected: boolean;
    readonly durationMs: number;
  }): void;
  /** A PodProtector (core/namespace/name) in shadow would have refused a deletion. */
  wouldRefuse(event: { readonly podprotector: string; readonly operation: string; readonly reason: string }): void;
  /** A best-effort record was not written. */
  recordFailed(error: string): void;
  /** A deletion was admitted and its quota written, and its caller had left meanwhile. */
  unclaimed(): void;
  /** A status write was tried: accepted, refused because somebody else wrote first, or anything else. */
  statusWrite(result: StatusWriteResult): void;
  /** The CRD of the core dropped extension fields of a write. */
  pruned(core: string): void;
  /**
   * An invalid state of a PodProtector (core/namespace/name) was delivered; or, with false, it is valid again, or gone.
   */
  unusableProtector(id: string, isUnusable: boolean): void;
  /** A deletion was admitted on the last known quota, because the core takes no writes. */
  lastKnownAdmission(core: string): void;
  /** `count`: how many PodProtectors of the core are gone and not let go; called before each scrape. */
  readTombstones(core: string, count: () => number): void;
  /** What decides about them could not be read; `error` is a kind of failure. */
  tombstoneUnread(core: string, source: string, error: string): void;
  /** The CRD of the core is lost, or there again. */
  definitionLost(core: string, isLost: boolean): void;
  /** Of all PodProtectors. */
  readonly retryBatch: RetryBatchObserver<unknown>;
}

/** In place of values that get none of their own. */
const otherValues = "other";
/**
 * The user of a ServiceAccount has up to 340 characters. Much longer ones would let a caller fill the memory with a few
 * thousand of them.
 */
const labelLengthMax = 512;
/**
 * Unusable PodProtectors that get one: more than a person fixes by hand. The counter and the log show the others.
 */
const unusableLabelsMax = 1_000;
/** Users that get one: relevant only with --metrics-by-user. */
const userLabelsMax = 10_000;
/** PodProtectors that get one, as above; the log and Events name the others. */
const shadowLabelsMax = 1_000;
const pool = "podprotector-update";

export function createWebhookMetrics(metrics: Metrics, cells: Pick<KnownCells, "has">): WebhookMetrics {
  const cell = (cellID: string): string => (cells.has(cellID) ? cellID : otherValues);
  const user = boundedLabel(userLabelsMax);
  const seconds = functionDurationSeconds;
  const request = metrics.histogram(
    "webhook_request",
    "Seconds to decide a review",
    ["cell", "status", "cause"],
    seconds,
  );
  const httpError = metrics.counter("webhook_http_error", "Reviews that ended with an HTTP error", ["cell", "error"]);
  const handledPod = metrics.histogram(
    "webhook_handle_pod_in_ppr",
    "Seconds to evaluate one PodProtector for one pod",
    ["pod_cell", "namespace", "user", "request_type", "rejected"],
    seconds,
  );
  const recordFailed = metrics.counter(
    "webhook_record_failure",
    "Forced or unprotected deletions that could not be recorded",
    ["error"],
  );
  const shadowed = metrics.counter(
    "webhook_would_refuse_total",
    "Deletions that a PodProtector in shadow, or any with --webhook-dry-run, would have refused",
    ["podprotector", "operation", "reason"],
  );
  const shadowLabel = boundedLabel(shadowLabelsMax);
  const statusWrites = metrics.counter(
    "webhook_status_write_total",
    "Status writes of PodProtectors, by result: written, conflict, failed",
    ["result"],
  );
  const lastKnownAdmissions = metrics.counter(
    "webhook_last_known_admission_total",
    "Deletions admitted on the last known quota while the core took no writes",
    ["core"],
  );
  return {
    readReviewsInFlight: createInFlightGauge(metrics),
    readProtectors: createProtectorsGauge(metrics),
    request: (cellID, status, cause, durationMs) =>
      request.observe({ cell: cell(cellID), status, cause }, durationMs / 1000),
    ...createDecisionCounter(metrics, cell),
    httpError: (cellID, error) => httpError.inc({ cell: cell(cellID), error }),
    handledPod(event) {
      const labels = {
        pod_cell: cell(event.cellID),
        namespace: event.namespace,
        user: user(event.user.startsWith("system:node:") ? "system:node" : event.user),
        request_type: event.requestType,
        rejected: String(event.isRejected),
      };
      handledPod.observe(labels, event.durationMs / 1000);
    },
    wouldRefuse: (event) => shadowed.inc({ ...event, podprotector: shadowLabel(event.podprotector) }),
    recordFailed: (error) => recordFailed.inc({ error }),
    unclaimed: createUnclaimedCounter(metrics),
    statusWrite: (result) => statusWrites.inc({ result }),
    pruned: createPrunedCounter(metrics, "webhook"),
    unusableProtector: createUnusableReport(metrics),
    lastKnownAdmission: (core) => lastKnownAdmissions.inc({ core }),
    ...createHeldMetrics(metrics),
    ...createTombstoneMetrics(metrics),
    retryBatch: createRetryBatchObserver(metrics),
  };
}

function createDecisionCounter(metrics: Metrics, cell: (cellID: string) => string): Pick<WebhookMetrics, "decided"> {
  const decisions = metrics.counter(
    "webhook_decisions_total",
    "Reviews by result (admitted; held = admitted after having been held; refused; error; and allowed where others " +
      "are refused: forced, shadow, dry_run), reason and cell",
    ["result", "reason", "cell"],
  );
  // Adding to the counter takes a tenth of the time of a whole review, so that waits for the scrape. As many as there
  // are words and known cells.
  const added = new Map<string, { readonly labels: MetricLabels; count: number }>();
  metrics.onScrape(() => {
    for (const { labels, count } of added.values()) decisions.inc(labels, count);
    added.clear();
  });
  return {
    decided(result, reason, cellID) {
      const labels = { result, reason, cell: cell(cellID) };
      const key = `${result}\n${reason}\n${labels.cell}`;
      const known = added.get(key);
      if (known === undefined) added.set(key, { labels, count: 1 });
      else known.count += 1;
    },
  };
}

function createUnusableReport(metrics: Metrics): WebhookMetrics["unusableProtector"] {
  const unusable = metrics.gauge(
    "webhook_unusable_podprotector",
    "1 while the PodProtector (core/namespace/name) is invalid, so that pod deletions are denied",
    ["podprotector"],
  );
  const label = boundedLabel(unusableLabelsMax);
  const countInvalid = createIndexErrorCounter(metrics);
  return (id, isUnusable) => {
    if (isUnusable) countInvalid();
    const podprotector = label(id);
    if (podprotector !== otherValues) unusable.set({ podprotector }, isUnusable ? 1 : 0);
  };
}

function createUnclaimedCounter(metrics: Metrics): WebhookMetrics["unclaimed"] {
  const unclaimed = metrics.counter(
    "webhook_unclaimed_admission_total",
    "Deletions that were admitted after their caller had left, so that quota is promised for nothing",
    [],
  );
  return () => unclaimed.inc({});
}

function createInFlightGauge(metrics: Metrics): WebhookMetrics["readReviewsInFlight"] {
  const inFlight = metrics.gauge("webhook_reviews_in_flight", "Reviews that are being decided", []);
  return (count) => metrics.onScrape(() => inFlight.set({}, count()));
}

function createHeldMetrics(metrics: Metrics): Pick<WebhookMetrics, "heldReview" | "readHeldReviews"> {
  const seconds = metrics.histogram(
    "webhook_held_review",
    "Seconds that a review was held instead of being refused at once, by cause (promised, floor) and result " +
      "(admitted, refused, gone)",
    ["cause", "result"],
    functionDurationSeconds,
  );
  const held = metrics.gauge("webhook_reviews_held", "Reviews that are held instead of being refused at once", []);
  return {
    heldReview: (cause, result, durationMs) => seconds.observe({ cause, result }, durationMs / 1000),
    readHeldReviews: (count) => metrics.onScrape(() => held.set({}, count())),
  };
}

function createProtectorsGauge(metrics: Metrics): WebhookMetrics["readProtectors"] {
  const protectors = metrics.gauge("webhook_podprotectors", "PodProtectors in memory, by core", ["core"]);
  return (core, count) => metrics.onScrape(() => protectors.set({ core }, count()));
}

function createTombstoneMetrics(
  metrics: Metrics,
): Pick<WebhookMetrics, "readTombstones" | "tombstoneUnread" | "definitionLost"> {
  const tombstones = metrics.gauge(
    "webhook_tombstones",
    "PodProtectors that are gone from the core without having been released, and stay in force, by core",
    ["core"],
  );
  const unread = metrics.counter(
    "webhook_tombstone_read_failure_total",
    "Failed reads of what decides about PodProtectors that are gone, by core, resource and error",
    ["core", "resource", "error"],
  );
  const lost = metrics.gauge("webhook_crd_lost", "1 while the CRD of PodProtectors is gone or being deleted", ["core"]);
  return {
    readTombstones: (core, count) => metrics.onScrape(() => tombstones.set({ core }, count())),
    tombstoneUnread: (core, resource, error) => unread.inc({ core, resource, error }),
    definitionLost: (core, isLost) => lost.set({ core }, isLost ? 1 : 0),
  };
}

function createRetryBatchObserver(metrics: Metrics): RetryBatchObserver<unknown> {
  const seconds = functionDurationSeconds;
  const submit = metrics.histogram("retrybatch_submit", "Seconds of a submission", ["pool", "error"], seconds);
  const submitRetries = metrics.histogram(
    "retrybatch_submit_retry_count",
    "Executions that a submission took part in",
    ["pool", "error"],
    exponentialBuckets(5),
  );
  const batch = metrics.histogram("retrybatch_batch", "Seconds of a batch, retries included", ["pool"], seconds);
  const batchRetries = metrics.histogram(
    "retrybatch_batch_retry_count",
    "Executions of a batch",
    ["pool"],
    exponentialBuckets(5),
  );
  const executeLabels = ["pool", "result", "error"];
  const execute = metrics.histogram("retrybatch_execute", "Seconds of an execution", executeLabels, seconds);
  const executeSize = metrics.histogram(
    "retrybatch_execute_batch_size",
    "Submissions in an execution",
    executeLabels,
    exponentialBuckets(16),
  );
  const inflightKeys = metrics.gauge("retrybatch_inflight_keys", "Keys with unsettled submissions", ["pool"]);
  return {
    onSubmit({ durationMs, attempts, outcome }) {
      const labels = { pool, error: submitError(outcome) };
      submit.observe(labels, durationMs / 1000);
      submitRetries.observe(labels, attempts);
    },
    onExecute({ durationMs, size, outcome }) {
      const labels = { pool, ...executeResult(outcome) };
      execute.observe(labels, durationMs / 1000);
      executeSize.observe(labels, size);
    },
    onBatch({ durationMs, attempts }) {
      batch.observe({ pool }, durationMs / 1000);
      batchRetries.observe({ pool }, attempts);
    },
    onInflightKeys: (count) => inflightKeys.set({ pool }, count),
  };
}

function submitError(outcome: SubmitOutcome<unknown>): string {
  switch (outcome.kind) {
    case "done":
      return "nil";
    case "failed":
      return errorLabel(outcome.error);
    case "cancelled":
      return "OpCtxCancelDuringRetry";
    case "overloaded":
      return "Overloaded";
    default:
      return assertNever(outcome);
  }
}

function executeResult(outcome: ExecuteOutcome<unknown>): { readonly result: string; readonly error: string } {
  switch (outcome.kind) {
    case "success":
      return { result: "Success", error: "nil" };
    case "retry":
      return { result: "NeedRetry", error: "nil" };
    case "error":
      return { result: "Err", error: errorLabel(outcome.error) };
    default:
      return assertNever(outcome);
  }
}

/** The first `max` values of usual length stand for themselves, all others for one. */
function boundedLabel(max: number): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.has(value)) return value;
    if (known.size >= max || value.length > labelLengthMax) return otherValues;
    known.add(value);
    return value;
  };
}
