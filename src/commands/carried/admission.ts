/** What API servers are to ask and to refuse, as the manifests of this release have it. */
import { entriesOf, type WebhookEntry } from "../../aggregator/audits/guarded-namespaces.ts";
import { rendered } from "./kustomization.ts";

/** Entries of the webhook configuration. */
export function ownEntries(): readonly WebhookEntry[] {
  return rendered("base/admission").flatMap(entriesOf);
}
