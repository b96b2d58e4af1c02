/** What happens to a cluster itself: to its storage, its identity, its namespaces. */
import { builtInResources } from "../../../double/index.ts";
import { namespace } from "../../clusters/namespaces.ts";
import { type Run } from "./stage.ts";

const { namespaces, pods } = builtInResources;

/** lost X,Y: the worker's storage loses pods, all at once. */
export const lose: Run = async (stage, args) => {
  const names = args.word("the pods").split(",");
  const [first] = stage.world.cells;
  for (const name of names) first?.server.engine.erase(pods, namespace, name);
};

/** cluster CELL rebuilt | nameless: another cluster answers under its address, with the same pods. */
export const rebuild: Run = async (stage, args) => {
  const { engine } = stage.server(args.word("the cell"));
  const name = "kube-system";
  engine.erase(namespaces, undefined, name);
  if (args.flag("nameless")) return;
  if (!args.flag("rebuilt")) throw args.error("what happens to the cluster?");
  await stage.during(engine.create(namespaces, undefined, { apiVersion: "v1", kind: "Namespace", metadata: { name } }));
};

/** namespace LABEL=VALUE; without a value the label goes. */
export const label: Run = async (stage, args) => {
  const [key = "", value = ""] = args.word("the label").split("=");
  const body = { metadata: { labels: { [`podseidon.kubewharf.io/${key}`]: value === "" ? null : value } } };
  const patch = { contentType: "application/merge-patch+json", body };
  await stage.during(stage.core.server.engine.patch(namespaces, undefined, namespace, patch));
};
