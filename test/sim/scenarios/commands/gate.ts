/** What somebody does to the webhook configuration of a cell: the gate that all deletions pass. */
import { builtInResources, type JsonObject } from "../../../double/index.ts";
import { namespace } from "../../clusters/namespaces.ts";
import { webhookConfiguration } from "../../clusters/webhook-configurations.ts";
import { type Run } from "./stage.ts";

const type = builtInResources.validatingWebhookConfigurations;

/** gate CELL remove | install | as=C | leaves-out. What comes after that can be read, as in a real cluster. */
export const changeGate: Run = async (stage, args) => {
  const cell = args.word("the cell");
  const { engine, webhookConfigurations } = stage.server(cell);
  const as = args.setting("as");
  webhookConfigurations.length = 0;
  const stored = webhookConfiguration(as ?? cell);
  const { name } = stored["metadata"] as { readonly name: string };
  if (engine.find(type, undefined, name) !== undefined) await engine.delete(type, undefined, name);
  if (args.flag("remove")) return;
  const leavesOut = args.flag("leaves-out");
  if (as === undefined && !leavesOut && !args.flag("install")) throw args.error("what is done to the gate?");
  await engine.create(type, undefined, leavesOut ? withoutNamespace(stored) : stored);
};

/** Leaves out the scenario's namespace, and not that of the dummy pod. */
function withoutNamespace(configuration: JsonObject): JsonObject {
  const named = { key: "kubernetes.io/metadata.name", operator: "NotIn", values: [namespace] };
  const webhooks = configuration["webhooks"] as readonly JsonObject[];
  const left = webhooks.map((entry) => ({ ...entry, namespaceSelector: { matchExpressions: [named] } }));
  return { ...configuration, webhooks: left };
}
