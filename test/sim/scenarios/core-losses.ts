/** What is deleted from the core, or lost with its storage. */
import { builtInResources } from "../../double/index.ts";
import { namespace } from "../world.ts";
import { type Run } from "./stage.ts";
import { createDeployment } from "./world-command.ts";

/** deployment delete: it is scaled to zero and deleted; create: it is made, or made again. */
export const changeDeployment: Run = async (stage, args) => {
  const act = args.word("what is done to it");
  if (act === "create") return await createDeployment(stage);
  if (act !== "delete") throw args.error(`nobody can ${act} a Deployment`);
  const { engine } = stage.world.core.server;
  // While it wants replicas, --deployment-plugin-protect-non-zero keeps its PodProtector (processes/fleet.ts).
  const patch = { contentType: "application/merge-patch+json", body: { spec: { replicas: 0 } } };
  await stage.during(engine.patch(builtInResources.deployments, namespace, "web", patch));
  await stage.during(engine.delete(builtInResources.deployments, namespace, "web"));
};

/** wipe podprotectors|deployments */
export const wipe: Run = async (stage, args) => {
  const { core, protectors, sources } = stage.world;
  const resource = args.word("the resource");
  if (resource !== "podprotectors" && resource !== "deployments") throw args.error(`nobody loses ${resource}`);
  // The Deployment of scenarios.
  if (resource === "podprotectors") sources.meddled(namespace, "web", "loss");
  core.server.engine.wipe(resource === "podprotectors" ? protectors : builtInResources.deployments);
};
