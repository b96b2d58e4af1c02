/**
 * Act 2: one node of every worker is drained at the same time, as `kubectl drain` does: cordon, evict, and try again
 * what is refused.
 */
import { sleep } from "../../../src/util/clock.ts";
import { isApiError, type Engine, builtInResources as types } from "../../../test/double/index.ts";
import { namespace, nodeNames, replicasOf, servicePlans } from "../scenario.ts";
import { type Cell } from "../world/clusters.ts";
import { type PodCensus } from "../world/pod-census.ts";
import { type Stage, waitUntil } from "./wait.ts";

// It takes 4 to 6 s.
const limitMs = 20_000;
// kubectl waits 5 s; the demo has a minute.
const retryMs = 500;

const drainer = { username: "admin", groups: ["system:authenticated"] };

function podsOn(engine: Engine, node: string): readonly string[] {
  const fieldSelector = `spec.nodeName=${node}`;
  return engine.list(types.pods, namespace, { fieldSelector }).items.map(({ metadata }) => metadata.name);
}

interface Progress {
  evicted: number;
  refused: number;
}

async function evict(stage: Stage, engine: Engine, pod: string, deadlineMs: number, progress: Progress): Promise<void> {
  while (stage.clock.monotonicMs() < deadlineMs) {
    try {
      await engine.evict(namespace, pod, undefined, { caller: drainer });
      progress.evicted += 1;
      return;
    } catch (error) {
      if (isApiError(error, "NotFound")) return;
      if (!isApiError(error) || error.status.code !== 429) throw error;
      progress.refused += 1;
    }
    await sleep(stage.clock, retryMs, stage.signal);
    stage.signal.throwIfAborted();
  }
}

/**
 * Drains the first node of every cell; resolves to the problem, or undefined when the nodes are empty and all pods are
 * available again.
 */
export async function drainNodes(stage: Stage, cells: readonly Cell[], census: PodCensus): Promise<string | undefined> {
  const [node] = nodeNames;
  const startMs = stage.clock.monotonicMs();
  const deadlineMs = startMs + limitMs;
  const progress: Progress = { evicted: 0, refused: 0 };
  const drains = cells.map(async ({ server: { engine } }) => {
    const cordon = { contentType: "application/merge-patch+json", body: { spec: { unschedulable: true } } };
    await engine.patch(types.nodes, undefined, node, cordon);
    await Promise.all(podsOn(engine, node).map((pod) => evict(stage, engine, pod, deadlineMs, progress)));
  });
  try {
    await Promise.all(drains);
  } catch (error) {
    if (!isApiError(error)) throw error;
    return `an eviction failed: ${error.status.message}`;
  }
  const left = (): number => cells.reduce((sum, { server }) => sum + podsOn(server.engine, node).length, 0);
  const done = await waitUntil(
    stage,
    deadlineMs - stage.clock.monotonicMs(),
    () => left() === 0 && servicePlans.every((plan) => census.total(plan.name) === replicasOf(plan)),
  );
  if (!done) return `${left()} pods are still on the nodes after ${limitMs / 1000} s`;
  const seconds = ((stage.clock.monotonicMs() - startMs) / 1000).toFixed(1);
  stage.tell(`drained: ${progress.evicted} evictions, ${progress.refused} refused first and tried again, ${seconds} s`);
  return undefined;
}
