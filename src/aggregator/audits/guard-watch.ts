/**
 * Looks, whenever the gate is probed, which namespaces with floors the webhook configuration leaves out
 * (docs/aggregator.md#which-namespaces-are-guarded): reads the configuration and the namespaces, and evaluates them.
 */
import { fieldsOf } from "../../api/json.ts";
import { type Labels, readLabels } from "../../api/pod.ts";
import { notGuardedGate } from "../../api/cell-lease.ts";
import { isKubeError, type KubeClient, type KubeError, resourcePath } from "../../kube/kube-client.ts";
import { namespaces, validatingWebhookConfigurations } from "../../kube/resources.ts";
import { listAll } from "../../kube/watch/index.ts";
import { type Logger } from "../../util/logger.ts";
import { type Gauge, type Metrics } from "../../util/metrics.ts";
import { addressesFor, entriesOf, type Gap, type Guard, guardOf, type WebhookEntry } from "./guarded-namespaces.ts";

export interface GuardWatchOptions {
  readonly cellID: string;
  readonly worker: KubeClient;
  /** Name of the ValidatingWebhookConfiguration. */
  readonly configuration: string;
  /** As the manifests of this release have it; read once. */
  readonly own: () => readonly WebhookEntry[];
  /** Namespaces of PodProtectors that keep pods, in any core; repeats do no harm. */
  readonly floors: () => Iterable<string>;
  /** Of the pod that the gate's probe asks about. */
  readonly dummyNamespace: string;
  /** Writes an Event about the Lease of the cell. */
  readonly event: (type: "Normal" | "Warning", reason: string, message: string) => void;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Namespaces named in one message. */
const namedMax = 5;

export class GuardWatch {
  readonly #options: GuardWatchOptions;
  readonly #gauge: Gauge;
  #own: readonly WebhookEntry[] | undefined;
  /** Those that are not guarded; undefined = not known in this term. */
  #open: readonly string[] | undefined;
  /** Our webhook has answered about the dummy pod in this term. */
  #isProven = false;
  /** What was said last, so that it is said once. */
  #told = "";
  #unknown: string | undefined;

  constructor(options: GuardWatchOptions) {
    this.#options = options;
    this.#gauge = options.metrics.gauge(
      "aggregator_unguarded_namespaces",
      "Namespaces with floors whose deletions are not sent to the webhook (open), or not known to be (unjudged)",
      ["state"],
    );
  }

  /** For heartbeats: the fault that holds, null = none; undefined = not known. */
  named(): string | null | undefined {
    if (this.#open === undefined) return undefined;
    return this.#open.length === 0 ? null : notGuardedGate(this.#open);
  }

  /** Another look is wanted soon: whoever mends it watches. */
  get isOpen(): boolean {
    return this.#open !== undefined && this.#open.length > 0;
  }

  /** Forgets all: another process may have led meanwhile. */
  reset(): void {
    this.#open = undefined;
    this.#isProven = false;
    this.#told = "";
    this.#unknown = undefined;
    this.#set([], []);
  }

  /**
   * `isProven`: our webhook has answered about the dummy pod, so the addresses that are asked about it are ours. What
   * cannot be read changes nothing. Rejects only for programmer errors.
   */
  async look(isProven: boolean, signal: AbortSignal): Promise<void> {
    const reads = await Promise.allSettled([this.#readEntries(signal), this.#listNamespaces(signal)]);
    if (signal.aborted) return;
    const [configuration, listed] = reads;
    if (configuration.status === "rejected" || listed.status === "rejected") {
      this.#tellUnknown(reads.flatMap((one) => (one.status === "rejected" ? [kubeErrorOf(one.reason)] : [])));
      return;
    }
    this.#unknown = undefined;
    const [entries, labelled] = [configuration.value, listed.value];
    const { dummyNamespace: name, floors } = this.#options;
    const wanted = [...new Set(floors())].filter((one) => labelled.has(one)).toSorted();
    const dummy = { name, labels: labelled.get(name) ?? {} };
    // From then on the gate's own findings are about these addresses: a webhook that is away makes others no better.
    this.#isProven ||= isProven;
    const addresses = this.#isProven ? addressesFor(entries, dummy) : undefined;
    this.#own ??= this.#options.own();
    const own = this.#own;
    const guards = wanted.map((namespace): readonly [string, Guard] => {
      return [namespace, guardOf(entries, own, { name: namespace, labels: labelled.get(namespace) ?? {} }, addresses)];
    });
    this.#tell(guards);
  }

  async #readEntries(signal: AbortSignal): Promise<readonly WebhookEntry[]> {
    const { worker, configuration: name } = this.#options;
    const path = resourcePath(validatingWebhookConfigurations, { name });
    return entriesOf(await worker.request({ method: "GET", path, signal }));
  }

  async #listNamespaces(signal: AbortSignal): Promise<ReadonlyMap<string, Labels>> {
    const found = new Map<string, Labels>();
    const take = (raw: unknown): void => {
      found.set(String(fieldsOf(fieldsOf(raw)["metadata"])["name"]), readLabels(raw));
    };
    await listAll(this.#options.worker, { resource: namespaces }, take, { signal });
    return found;
  }

  #tell(guards: readonly (readonly [string, Guard])[]): void {
    const { cellID, event, logger } = this.#options;
    const open = guards.flatMap(([name, guard]) => (guard.kind === "open" ? [{ name, gap: guard.gap }] : []));
    const unjudged = guards.flatMap(([name, guard]) => (guard.kind === "unjudged" ? [{ name, gap: guard.gap }] : []));
    const wasOpen = this.isOpen;
    this.#open = open.map(({ name }) => name);
    this.#set(open, unjudged);
    const text = [...open, ...unjudged].map(({ name, gap }) => `${name} ${gap.why}`).join();
    if (text === this.#told) return;
    this.#told = text;
    const [first, other] = [open[0], unjudged[0]];
    if (first !== undefined) {
      const message =
        `Deletions in ${namesText(open)} of cell "${cellID}" are not sent to the webhook, so no floor holds there: ` +
        lineOf(first.gap);
      logger.error(message, { namespaces: open.length });
      event("Warning", "NamespacesNotGuarded", message);
    } else if (wasOpen) {
      const message = `Deletions of cell "${cellID}" are sent to the webhook from all namespaces with floors again`;
      logger.info(message);
      event("Normal", "NamespacesGuarded", message);
    }
    if (other !== undefined)
      logger.warn(`Cannot judge whether deletions in ${namesText(unjudged)} are sent: ${lineOf(other.gap)}`, {
        namespaces: unjudged.length,
      });
  }

  #set(open: readonly unknown[], unjudged: readonly unknown[]): void {
    this.#gauge.set({ state: "open" }, open.length);
    this.#gauge.set({ state: "unjudged" }, unjudged.length);
  }

  /** Once for each reason. A right that is missing comes first: somebody can give it. */
  #tellUnknown(errors: readonly KubeError[]): void {
    const error = errors.find((one) => one.kind === "forbidden") ?? errors[0];
    if (error === undefined || this.#unknown === error.kind) return;
    const { kind, message } = error;
    this.#unknown = kind;
    const { configuration, logger } = this.#options;
    const fields = { configuration, why: message };
    if (kind === "forbidden")
      logger.warn(
        "May not see which namespaces the webhook configuration leaves out. Grant get on it, and list on namespaces",
        fields,
      );
    else logger.info("Cannot see which namespaces the webhook configuration leaves out", fields);
  }
}

function kubeErrorOf(error: unknown): KubeError {
  if (isKubeError(error)) return error;
  throw error;
}

function lineOf({ configuration, entry, why }: Gap): string {
  return `entry ${entry} of webhook configuration ${configuration} ${why}`;
}

function namesText(found: readonly { readonly name: string }[]): string {
  const names = found.slice(0, namedMax).map(({ name }) => name);
  const more = found.length > namedMax ? ` and ${found.length - namedMax} more` : "";
  return `${found.length === 1 ? "namespace" : "namespaces"} ${names.join(", ")}${more}`;
}
