/** `podseidon install PART -o yaml`: the objects, for kubectl or a repository. No cluster is asked. */
import { dump } from "js-yaml";
import { type Json } from "../../api/json.ts";
import { Problem } from "../../config/reading/problem.ts";
import { invalid } from "../clusters/options.ts";
import { type CommandContext, type CommandEnd, wrongUsage } from "../command.ts";
import { coreObjects, singleObjects, workerObjects } from "./objects.ts";
import { hostOf, type InstallOptions } from "./options.ts";

/** Longer than any line. */
const lineWidth = -1;

export function printed({ write }: CommandContext, options: InstallOptions): CommandEnd {
  const objects = objectsOf(options);
  if (objects instanceof Problem) return wrongUsage(`install: ${objects.message}`);
  for (const object of inOrder(objects)) {
    const note =
      object["kind"] === "ValidatingWebhookConfiguration"
        ? "# Apply it last, when the webhook runs. The aggregator sets caBundle.\n"
        : "";
    write(`---\n${note}${dump(object, { lineWidth, noRefs: true })}`);
  }
  return { exitCode: 0 };
}

function objectsOf({ part, image, cells, webhookAddress, callers }: InstallOptions): readonly Json[] | Problem {
  if (image === undefined) return new Problem("option --image is required: where the clusters pull Podseidon from");
  if (part === "single") return singleObjects({ image, caBundle: undefined });
  if (part === "core") {
    if (cells.length === 0) return new Problem("option --cells is required: the names of all cells, such as a,b");
    return coreObjects({
      image,
      callers: callers ?? "certificates",
      cells,
      webhookHost: webhookAddress === undefined ? undefined : hostOf(webhookAddress),
    });
  }
  const [cell, ...others] = cells;
  if (cell === undefined) return new Problem("option --cells is required: the name of this cell");
  if (others.length > 0)
    return invalid("cells", cells.join(","), "is more than one cell", "the name of this worker's cell");
  if (webhookAddress === undefined)
    return new Problem("option --webhook-address is required: HOST or HOST:PORT by which workers call the webhook");
  return workerObjects({ image, cell, webhookAddress, caBundle: undefined });
}

/** Namespaces and the CRD first, so that all can be applied at once; the webhook configuration last. */
function inOrder(objects: readonly Json[]): readonly Json[] {
  const rank = ({ kind }: Json): number =>
    kind === "Namespace" || kind === "CustomResourceDefinition" ? 0 : kind === "ValidatingWebhookConfiguration" ? 2 : 1;
  return objects.toSorted((one, other) => rank(one) - rank(other));
}
