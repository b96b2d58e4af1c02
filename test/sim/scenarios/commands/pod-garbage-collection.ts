/** What pod garbage collection does with a pod whose Node object is gone. */
import { builtInResources } from "../../../double/index.ts";
import { type SimApiServer } from "../../clusters/api-server.ts";
import { collectionConfiguration, podGarbageCollector } from "../../clusters/webhook-configurations.ts";
import { namespace } from "../../clusters/namespaces.ts";
import { outcomeOf, type Run } from "./stage.ts";

const { pods, validatingWebhookConfigurations } = builtInResources;
const caller = { username: podGarbageCollector, groups: ["system:serviceaccounts", "system:authenticated"] };

/** It writes the phase first; when that is refused, the pod stays until the next time. */
async function collect({ engine }: SimApiServer, name: string): Promise<void> {
  const body = { metadata: { uid: engine.find(pods, namespace, name)?.metadata.uid }, status: { phase: "Failed" } };
  const patch = { contentType: "application/strategic-merge-patch+json", body };
  await engine.patch(pods, namespace, name, patch, { caller, subresource: "status" });
  await engine.delete(pods, namespace, name, { gracePeriodSeconds: 0 }, { caller });
}

/** The entry of the webhook configuration comes with the first use, so that other scenarios are as they were. */
async function intercept({ engine }: SimApiServer, cell: string): Promise<void> {
  const configuration = collectionConfiguration(cell);
  const { name } = configuration["metadata"] as { readonly name: string };
  if (engine.find(validatingWebhookConfigurations, undefined, name) !== undefined) return;
  await engine.create(validatingWebhookConfigurations, undefined, configuration);
}

export const collecting: Run = async (stage, args) => {
  const { cell, name } = stage.podOf(args);
  const server = stage.server(cell);
  await stage.during(intercept(server, cell));
  return await stage.during(collect(server, name).then(() => "allowed", outcomeOf));
};
