/** Act 1: a new image for every service, in all workers at the same time. It has to go through, within the floors. */
import { asArray, asObject, type KubeObject, builtInResources as types } from "../../../test/double/index.ts";
import { isActive } from "../../../test/double/controllers/pod-status.ts";
import { namespace, replicasOf, servicePlans } from "../scenario.ts";
import { type Cell } from "../world/clusters.ts";
import { serviceLabel, type PodCensus } from "../world/pod-census.ts";
import { type Stage, waitUntil } from "./wait.ts";

// It takes 5 to 8 s.
const limitMs = 25_000;

function imageOf(pod: KubeObject): unknown {
  return asObject(asArray(pod.spec?.["containers"])[0])["image"];
}

/** Counts the pods that are not what the update wants: old, or being deleted. */
function outdated(cells: readonly Cell[], version: string): number {
  const pods = cells.flatMap(({ server }) => server.engine.list(types.pods, namespace).items);
  return pods.filter((pod) => !isActive(pod) || imageOf(pod) !== `${pod.metadata.labels?.[serviceLabel]}:${version}`)
    .length;
}

/** Rolls all services to `version`; resolves to the problem, or undefined when all pods are new and available. */
export async function rollingUpdate(
  stage: Stage,
  cells: readonly Cell[],
  census: PodCensus,
  version: string,
): Promise<string | undefined> {
  const startMs = stage.clock.monotonicMs();
  for (const { server } of cells) {
    for (const { name } of servicePlans) {
      const containers = [{ name: "main", image: `${name}:${version}` }];
      const patch = {
        contentType: "application/merge-patch+json",
        body: { spec: { template: { spec: { containers } } } },
      };
      await server.engine.patch(types.deployments, namespace, name, patch);
    }
  }
  const done = await waitUntil(
    stage,
    limitMs,
    () => servicePlans.every((plan) => census.total(plan.name) === replicasOf(plan)) && outdated(cells, version) === 0,
  );
  if (!done) return `${outdated(cells, version)} pods are not updated after ${limitMs / 1000} s`;
  stage.tell(`all pods are replaced, after ${((stage.clock.monotonicMs() - startMs) / 1000).toFixed(1)} s`);
  return undefined;
}
