/** What is said about who may call the webhook, when it starts. */
import { isLoopback } from "../../config/types/address.ts";
import { type Config } from "../../config/index.ts";
import { type Logger } from "../../util/logger.ts";
import { type Metrics } from "../../util/metrics.ts";

/**
 * Who is answered without being known can use up the quota of every cell. Loud, because nothing else shows it before it
 * is used.
 */
export function warnOfUnknownCallers(
  { server, clientAuth }: Pick<Config["webhook"], "server" | "clientAuth">,
  logger: Logger,
  metrics: Metrics,
): void {
  const isOpen = metrics.gauge(
    "webhook_open_listener",
    "1 for a listener beyond loopback that answers callers without asking who they are",
    ["listener"],
  );
  for (const [listener, { enable, bindAddress }] of [
    ["http", server.http],
    ["https", server.https],
  ] as const) {
    if (!enable) continue;
    const asks = listener === "https" && clientAuth !== undefined;
    const isReached = !isLoopback(bindAddress) && !asks;
    isOpen.set({ listener }, isReached ? 1 : 0);
    if (!isReached) continue;
    logger.warn(
      "The webhook answers everybody who reaches it: set --webhook-client-ca-file and --webhook-client-cells, or let " +
        "only API servers reach it",
      { listener, address: bindAddress, page: "docs/webhook.md#callers" },
    );
  }
}
