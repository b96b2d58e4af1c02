/** What is deleted from the core, or lost with its storage. */
import { builtInResources, type JsonObject } from "../../../double/index.ts";
import { namespace } from "../../clusters/namespaces.ts";
import { type Run } from "./stage.ts";
import { createDeployment } from "./world-command.ts";

/**
 * deployment delete: it is scaled to zero and deleted; create: it is made, or made again; end: it is deleted in the
 * foreground, and waits for its dependents; strip: a person takes our finalizer off; scale=N.
 */
export const changeDeployment: Run = async (stage, args) => {
  const { engine } = stage.core.server;
  const patch = async (body: JsonObject): Promise<void> => {
    const merge = { contentType: "application/merge-patch+json", body };
    await stage.during(engine.patch(builtInResources.deployments, namespace, "web", merge));
  };
  const replicas = args.number("scale", -1);
  if (replicas >= 0) return await patch({ spec: { replicas } });
  const act = args.word("what is done to it");
  switch (act) {
    case "create":
      return await createDeployment(stage);
    case "strip":
      return await patch({ metadata: { finalizers: ["foregroundDeletion"] } });
    case "delete":
      // While it wants replicas, --deployment-plugin-protect-non-zero keeps its PodProtector (processes/fleet.ts).
      await patch({ spec: { replicas: 0 } });
      return void (await stage.during(engine.delete(builtInResources.deployments, namespace, "web")));
    case "end": {
      const options = { propagationPolicy: "Foreground" };
      return void (await stage.during(engine.delete(builtInResources.deployments, namespace, "web", options)));
    }
    default:
      throw args.error(`nobody can ${act} a Deployment`);
  }
};

/** wipe podprotectors|deployments */
export const wipe: Run = async (stage, args) => {
  const { core } = stage;
  const { protectors, sources } = core;
  const resource = args.word("the resource");
  if (resource !== "podprotectors" && resource !== "deployments") throw args.error(`nobody loses ${resource}`);
  for (const { metadata } of core.server.engine.list(protectors).items)
    if (resource === "podprotectors") sources.meddled(namespace, metadata.name, "loss");
  core.server.engine.wipe(resource === "podprotectors" ? protectors : builtInResources.deployments);
};
