/** The informers of the roles, and how to wait for one. */
import { type Informer, type Stored } from "../kube/informer.ts";
import { type Resource } from "../kube/kube-client.ts";
import { createInformer } from "../kube/watch/index.ts";
import { createIndexErrorCounter } from "../kube/pod-protectors.ts";
import { namespaces, podProtectors, readProtector, type StoredProtector } from "../kube/resources.ts";
import { type HealthCheck } from "../lifecycle/component.ts";
import { type Logger } from "../util/logger.ts";
import { type ConnectedCore, type Runtime } from "./runtime.ts";

/**
 * Watches the PodProtectors of a core. An invalid object is logged with its reason and treated as absent; `onInvalid`
 * hears of it.
 */
export function createProtectorInformer(
  runtime: Runtime,
  { client, namespace }: ConnectedCore,
  logger: Logger,
  onInvalid?: (raw: unknown) => void,
): Informer<StoredProtector> {
  const { clock, rng, metrics } = runtime;
  const countInvalid = createIndexErrorCounter(metrics);
  return createInformer<StoredProtector>({
    client,
    resource: podProtectors,
    namespace,
    decode(raw) {
      const read = readProtector(raw);
      if (read.ok) return read.stored;
      countInvalid();
      logger.error("Invalid PodProtector", { reason: read.reason });
      onInvalid?.(raw);
      return undefined;
    },
    clock,
    rng,
    logger,
    metrics,
    name: "podprotectors",
  });
}

/** How the informers of the sources of a core are made. */
export function sourceInformers(
  runtime: Runtime,
  { client, namespace }: ConnectedCore,
  logger: Logger,
): <T extends Stored>(resource: Resource, decode: (raw: unknown) => T | undefined) => Informer<T> {
  const { clock, rng, metrics } = runtime;
  const common = { client, namespace, clock, rng, logger, metrics };
  return (resource, decode) => {
    // A custom resource may be called what a built-in one is called.
    const name = resource.group.includes(".") ? `${resource.resource}.${resource.group}` : resource.resource;
    return createInformer({ ...common, resource, decode, name });
  };
}

/**
 * Watches the namespaces of a core, or those alone that have the label. Undefined with --core-kube-target-namespace,
 * since namespaces are cluster-scoped.
 */
export function createNamespaceInformer<T extends Stored>(
  { clock, rng, metrics }: Runtime,
  { client, namespace }: ConnectedCore,
  how: { readonly decode: (raw: unknown) => T | undefined; readonly label?: string; readonly logger: Logger },
): Informer<T> | undefined {
  if (namespace !== undefined) return undefined;
  const { label: labelSelector, ...others } = how;
  const selected = labelSelector === undefined ? {} : { labelSelector };
  return createInformer({
    client,
    resource: namespaces,
    clock,
    rng,
    metrics,
    name: "namespaces",
    ...selected,
    ...others,
  });
}

/**
 * Resolves when the handlers that were subscribed before this call have processed the initial list, or when the signal
 * aborts.
 */
export function whenSynced<T extends Stored>(informer: Informer<T>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    informer.subscribe({ onEvent() {}, onListed: () => resolve() });
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** A readiness check that fails, with the last error, until the initial list has been processed. */
export function syncCheck(what: string, informer: Pick<Informer<Stored>, "hasSynced" | "lastError">): HealthCheck {
  return () => {
    if (informer.hasSynced()) return undefined;
    const error = informer.lastError();
    return `${what} have not been listed yet${error === undefined ? "" : `: ${error}`}`;
  };
}
