/** Deployments beside the one of the scenario, without pods: what becomes of their PodProtectors' floors. */
import { builtInResources } from "../../double/index.ts";
import { approve } from "../clusters/latches.ts";
import { namespace } from "../world.ts";
import { type Run, type Stage } from "./stage.ts";

const { deployments } = builtInResources;
const mergePatch = "application/merge-patch+json";
const nameOf = (index: number): string => `workload-${index}`;

/** workloads create|overwrite|restore|deselect N: a tool gives 0 or 8 replicas or a label to the first N of them. */
export const changeWorkloads: Run = async (stage, args) => {
  const { engine } = stage.world.core.server;
  const act = args.word("what is done to them");
  const names = Array.from({ length: Number(args.word("how many")) }, (_, index) => nameOf(index));
  for (const name of names) {
    if (act === "create") await stage.during(engine.create(deployments, namespace, body(name)));
    else if (act === "overwrite" || act === "restore") {
      const patch = { contentType: mergePatch, body: { spec: { replicas: act === "restore" ? 8 : 0 } } };
      await stage.during(engine.patch(deployments, namespace, name, patch, { fieldManager: "tool" }));
    } else if (act === "deselect") {
      const patch = { contentType: mergePatch, body: { metadata: { labels: { unprotected: "yes" } } } };
      await stage.during(engine.patch(deployments, namespace, name, patch, { fieldManager: "tool" }));
    } else throw args.error(`nobody can ${act} workloads`);
  }
};

function body(name: string) {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace },
    spec: {
      replicas: 8,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "main:1" }] } },
    },
  };
}

/** approve CAUSE: a person lets the changes pass that are held for it. */
export const approveHeld: Run = async (stage, args) => {
  const wasHeld = await stage.during(approve(stage.world.core.server.engine, args.word("the cause"), "planned"));
  if (!wasHeld) throw args.error("nothing was ever held");
};

/** How many workloads have a floor above 0. */
export function floorsOfWorkloads({ world }: Stage): number {
  const protectors = world.core.server.engine.list(world.protectors, namespace).items;
  return protectors.filter(({ metadata, spec }) => {
    return metadata.name.startsWith(`deployment-${nameOf(0).slice(0, -1)}`) && Number(spec?.["minAvailable"]) > 0;
  }).length;
}
