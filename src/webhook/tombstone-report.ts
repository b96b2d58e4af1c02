/**
 * What people see of PodProtectors that are gone without having been let go, and of a lost CRD: one log line and one
 * Event for each, and metrics (docs/webhook.md#tombstones).
 */
import { formatWholeSeconds } from "../api/micro-time.ts";
import { errorLabel } from "../kube/kube-client.ts";
import { assertNever } from "../util/assert.ts";
import { type Logger } from "../util/logger.ts";
import { type ProtectorEvents } from "./decide/reports/protector-events.ts";
import { type WebhookMetrics } from "./metrics.ts";
import { type DefinitionLoss } from "./protector/definition-state.ts";
import { type GoneReason } from "./protector/departure.ts";
import { type TombstonesOptions, type TombstoneSource } from "./protector/tombstones.ts";

export interface TombstoneReportOptions {
  readonly core: string;
  readonly logger: Logger;
  readonly metrics: Pick<WebhookMetrics, "tombstoneUnread" | "definitionLost">;
  readonly events: Pick<ProtectorEvents, "tombstone" | "definitionLost">;
}

export class TombstoneReport implements Pick<TombstonesOptions, "onRaised" | "onGone" | "onUnread"> {
  readonly #options: TombstoneReportOptions;
  /** What this account may not read: one line for each is enough. */
  readonly #forbidden = new Set<TombstoneSource>();

  constructor(options: TombstoneReportOptions) {
    this.#options = options;
  }

  readonly onRaised: TombstonesOptions["onRaised"] = (protector, tombstone) => {
    const { logger, events, core } = this.#options;
    const { uid, maker, since } = tombstone;
    const fields = { core, podProtector: protector.key, uid, maker, since: formatWholeSeconds(since) };
    logger.error("PodProtector is gone without having been released, so it stays in force", fields);
    events.tombstone(
      protector,
      tombstone,
      "It is gone from the core without having been released, so webhooks keep its pods protected until it is made " +
        "again or let go",
    );
  };

  readonly onGone: TombstonesOptions["onGone"] = (protector, tombstone, why, wasRaised) => {
    const { logger, events, core } = this.#options;
    const fields = { core, podProtector: protector.key, uid: tombstone.uid, why };
    if (!wasRaised && !isByTime(why)) return logger.verbose(2, "PodProtector is gone", fields);
    logger.warn("PodProtector that was gone is let go", fields);
    events.tombstone(protector, tombstone, `It was gone from the core, and is no longer in force: ${textOf(why)}`);
  };

  readonly onUnread: TombstonesOptions["onUnread"] = (source, error) => {
    const { logger, metrics, core } = this.#options;
    metrics.tombstoneUnread(core, source, errorLabel(error));
    const fields = { core, resource: source, err: error };
    if (error.kind !== "forbidden")
      return logger.warn("Cannot read what decides about PodProtectors that are gone", fields);
    if (this.#forbidden.has(source)) return;
    this.#forbidden.add(source);
    if (source === "configmaps")
      return logger.error("Not allowed to read which PodProtectors are released, so those that vanish stay", fields);
    logger.warn("Not allowed to read the CRD of PodProtectors, so its deletion looks like theirs", fields);
  };

  readonly onDefinitionLoss = (loss: DefinitionLoss | undefined): void => {
    const { logger, metrics, events, core } = this.#options;
    metrics.definitionLost(core, loss !== undefined);
    if (loss === undefined) return logger.info("The CRD of PodProtectors is there again", { core });
    const message =
      loss === "NotServed"
        ? "The core answers 404 for PodProtectors: their CRD is gone. Those in memory stay in force"
        : "The CRD of PodProtectors is being deleted: none can be created any more";
    logger.error(message, { core });
    events.definitionLost(core, message);
  };
}

/** Nobody has asked for it. */
function isByTime(why: GoneReason): boolean {
  return why === "expired" || why === "absent-for-long" || why === "perhaps-released";
}

function textOf(why: GoneReason): string {
  switch (why) {
    case "released":
      return "the generator has released it";
    case "let-go":
      return "it was released by the generator or by hand";
    case "deleted-while-dangling":
      return "it was deleted after its source had vanished";
    case "deleted":
      return "it was deleted";
    case "absent-for-long":
      return "its generator marks no releases, and has not made it again for an hour";
    case "perhaps-released":
      return "more were released than the list of releases holds, and it was not made again for an hour";
    case "without-floor":
      return "it never had a floor";
    case "expired":
      return "--webhook-tombstone-ttl is over";
    default:
      return assertNever(why);
  }
}
