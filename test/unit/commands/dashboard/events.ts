/** Events as the roles write them, for tests of the dashboard. */
import { type JsonObject } from "../../../double/index.ts";

export interface EventFields {
  readonly name?: string;
  readonly component?: string;
  readonly kind?: string;
  readonly about?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  /** Seconds of the first minute of 2026. */
  readonly second?: number;
}

export function eventBody(fields: EventFields = {}): JsonObject {
  const { name = "e1", component = "podseidon-webhook", kind = "PodProtector", about = "web", count = 1 } = fields;
  const { reason = "QuotaExceeded", message = "Deletion of pod web-1 in cell w1 refused", second = 0 } = fields;
  const time = `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { namespace: "shop", name },
    involvedObject: { kind, namespace: "shop", name: about },
    type: "Warning",
    reason,
    message,
    source: { component },
    firstTimestamp: time,
    lastTimestamp: time,
    count,
  };
}
