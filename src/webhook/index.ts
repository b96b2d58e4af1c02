/**
 * The admission webhook: admits or refuses deletions and evictions of pods, and records what it admits. From outside to
 * inside:
 * - app.ts: HTTP; review-body.ts, in-flight-limit.ts: limits on what is taken in at once; admission-review.ts:
 *   AdmissionReview on the wire; subject.ts: what is asked (criteria.ts, cell-clients.ts).
 * - handler.ts: the decision order; reserve-all.ts: several PodProtectors on one pod; decision.ts, refusal.ts: answers
 *   in words.
 * - protector-directory.ts: which PodProtectors count a pod; protector-view.ts, newest-states.ts: what is known of
 *   each.
 * - judge.ts: the rule (accounting/reserve/reservation.ts) with clock and settings; status-writer.ts: the
 *   compare-and-swap write; write-pacer.ts: its pace; write-troubles.ts: cores that take none.
 * - last-known-quota.ts, lent-recorder.ts, core-unavailable-policy.ts: admissions while a core takes no writes.
 * - unusable-protector.ts: what is in force of objects that cannot be understood; protector-events.ts: Kubernetes
 *   Events.
 * - webhook.ts joins them.
 */
export { type WorkerClients } from "./decide/cell-clients.ts";
export { decodeNamespacePolicy, lendsBy, type NamespacePolicy } from "./outage/core-unavailable-policy.ts";
export { decodeWatched, type WatchedProtector } from "./protector/protector-view.ts";
export { createWebhook, type Webhook, type WebhookOptions } from "./webhook.ts";
