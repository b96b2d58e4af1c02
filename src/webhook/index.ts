/**
 * The admission webhook: admits or refuses deletions and evictions of pods, and records what it admits. From outside to
 * inside, each folder uses only those below it:
 * - http/: the HTTP surface, limits on what is taken in at once, AdmissionReview on the wire.
 * - decide/: what is asked, the decision order, several PodProtectors on one pod, answers in words, Events.
 * - protector/: one object for each PodProtector, with its newest known state, its batches and its status writes.
 * - outage/: admissions while a core takes no writes.
 *
 * webhook.ts joins them. warm-up/ runs a second one in memory, before the first is ready. generator-absence.ts says
 * what hangs while no generator leads.
 */
export { GeneratorAbsence } from "./generator-absence.ts";
export { type WorkerClients } from "./decide/subject/subject.ts";
export { decodeNamespacePolicy, lastKnownAllowedBy } from "./outage/namespace-policy.ts";
export { decodeWatched, type WatchedProtector } from "./protector/protector-view.ts";
export { createWebhook, type Webhook, type WebhookOptions } from "./webhook.ts";
export { warmUp } from "./warm-up/warm-up.ts";
