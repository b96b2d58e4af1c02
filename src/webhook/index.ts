/**
 * The admission webhook: admits or refuses deletions and evictions of pods, and records what it admits. From outside to inside:
 * - app.ts: HTTP; admission-review.ts: AdmissionReview on the wire; subject.ts: what is asked (criteria.ts, cell-clients.ts).
 * - handler.ts: the decision order; reserve-all.ts: several PodProtectors on one pod; decision.ts, refusal.ts: answers in words.
 * - protector-directory.ts: which PodProtectors count a pod; protector-view.ts, newest-states.ts: what is known of each.
 * - judge.ts: the rule (core/reservation.ts) with clock and settings; status-writer.ts: the compare-and-swap write; write-pacer.ts: its pace;
 *   write-troubles.ts: cores that take none.
 * - webhook.ts joins them.
 */
export { type WorkerClients } from "./cell-clients.ts";
export { decodeWatched, type WatchedProtector } from "./protector-view.ts";
export { createWebhook, type Webhook, type WebhookOptions } from "./webhook.ts";
