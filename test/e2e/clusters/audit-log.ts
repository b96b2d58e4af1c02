/**
 * The audit log of an API server: what Podseidon's accounts asked for, and who deleted or evicted pods with what
 * outcome.
 */
import { existsSync, readFileSync } from "node:fs";
import { type Cluster } from "./cluster.ts";

/** One line of the log, as far as it is used. */
export interface AuditEvent {
  readonly verb: string;
  readonly user: { readonly username: string; readonly groups?: readonly string[] };
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code: number; readonly message?: string };
  readonly requestReceivedTimestamp: string;
  /** Of the answer. */
  readonly stageTimestamp: string;
}

/** All that was logged since the cluster started. */
export function readAuditEvents({ auditLog }: Cluster): readonly AuditEvent[] {
  if (!existsSync(auditLog)) return [];
  // The last line may still be on its way.
  const lines = readFileSync(auditLog, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as AuditEvent);
}
