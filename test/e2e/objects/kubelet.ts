/**
 * Plays the kubelets of a cluster: binds pods that nobody scheduled, makes them Ready after a delay, and confirms
 * graceful deletions with a grace-0 DELETE. A case that wants pods which stay terminating says so.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type AdminClient, ApiError } from "../clusters/admin-client.ts";
import { Limiter } from "../clusters/limiter.ts";
import { isReady, type Pod, podPath, setPodReady } from "./pods.ts";
import { PodWatch } from "./pod-watch.ts";

export interface KubeletOptions {
  readonly admin: AdminClient;
  /** Default: all namespaces. */
  readonly namespace?: string;
  /** The node for pods without one; leave it out where a scheduler runs. */
  readonly bindTo?: string;
  /** With bindTo: pods of other nodes are left alone. */
  readonly isAlone?: true;
  /** From binding to Ready; default 0. "never" leaves pods as they were created. */
  readonly readyDelayMs?: number | "never";
  /** From the deletionTimestamp to the confirmation; default 0. "never" leaves pods terminating. */
  readonly terminationDelayMs?: number | "never";
}

export interface Kubelet {
  /** Actions that the API server refused, for a failure's message: a pod that changed meanwhile is not one. */
  readonly failures: readonly string[];
  stop(): Promise<void>;
}

const requestsInFlight = 16;
const retryMs = 500;
/** Half a minute: longer than any part is away while pods are to be ended. */
const triesMax = 60;
/** Enough to see what goes wrong. */
const failuresMax = 20;

export function startKubelet(options: KubeletOptions): Kubelet {
  const { admin, bindTo, isAlone = false, readyDelayMs = 0, terminationDelayMs = 0 } = options;
  const abort = new AbortController();
  const limiter = new Limiter(requestsInFlight);
  /** `<uid>/<action>` of what is under way or done: each happens once per pod, unless it failed. */
  const taken = new Set<string>();
  const failures: string[] = [];

  const act = async (pod: Pod, action: string, delayMs: number, job: () => Promise<unknown>): Promise<void> => {
    const key = `${pod.metadata.uid}/${action}`;
    if (taken.has(key)) return;
    taken.add(key);
    try {
      if (delayMs > 0) await delay(delayMs, undefined, { signal: abort.signal });
      await persist(job);
    } catch (error) {
      taken.delete(key);
      if (!abort.signal.aborted && failures.length < failuresMax)
        failures.push(`${action} ${pod.metadata.name}: ${String(error)}`);
    }
  };

  /** A webhook that is being restarted fails the confirmations as well, and a kubelet tries again. */
  const persist = async (job: () => Promise<unknown>): Promise<void> => {
    for (let tries = 1; ; tries += 1) {
      try {
        await limiter.run(job);
        return;
      } catch (error) {
        const isFinal = error instanceof ApiError && error.code < 500;
        if (isFinal || tries === triesMax || abort.signal.aborted) throw error;
        await delay(retryMs, undefined, { signal: abort.signal });
      }
    }
  };

  const confirm = async (pod: Pod, path: string): Promise<void> => {
    const body = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      gracePeriodSeconds: 0,
      preconditions: { uid: pod.metadata.uid },
    };
    await admin.remove(path, body);
  };

  const reconcile = async (pod: Pod): Promise<void> => {
    const { name, namespace = "", uid, deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
    const path = podPath(namespace, name);
    if (isAlone && pod.spec.nodeName !== undefined && pod.spec.nodeName !== bindTo) return;
    if (deletionTimestamp !== undefined) {
      // Without a grace period the API server removes the pod in the same request.
      if (deletionGracePeriodSeconds === 0) return;
      if (terminationDelayMs !== "never") await act(pod, "confirm", terminationDelayMs, () => confirm(pod, path));
    } else if (pod.spec.nodeName === undefined) {
      if (bindTo === undefined) return;
      const binding = {
        apiVersion: "v1",
        kind: "Binding",
        metadata: { name, uid },
        target: { kind: "Node", name: bindTo },
      };
      await act(pod, "bind", 0, () => admin.create(`${path}/binding`, binding));
    } else if (readyDelayMs !== "never" && !isReady(pod)) {
      await act(pod, "ready", readyDelayMs, () => setPodReady(admin, { namespace, name, uid }));
    }
  };

  const watch = new PodWatch({
    admin,
    ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
    onPod: (pod, isGone) => {
      if (!isGone) void reconcile(pod);
      else for (const action of ["bind", "ready", "confirm"]) taken.delete(`${pod.metadata.uid}/${action}`);
    },
  });
  return {
    failures,
    async stop() {
      abort.abort();
      await watch.stop();
    },
  };
}
