/**
 * What is installed without asking a cluster: `podseidon install PART -o yaml` prints the objects, for kubectl or a
 * repository; `podseidon install systemd` prints the unit and the environment files, or writes them into a folder.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { dump } from "js-yaml";
import { type Json } from "../../api/json.ts";
import { Problem } from "../../config/reading/problem.ts";
import { messageOf } from "../../util/printable.ts";
import { invalid } from "../clusters/options.ts";
import { type CommandContext, type CommandEnd, wrongUsage } from "../command.ts";
import { coreObjects, singleObjects, systemdFiles, workerObjects } from "./objects.ts";
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

/** The cell in the files of manifests/systemd. */
const documentedCell = "worker-1";

/** Where each file belongs. */
function targetOf(name: string): string {
  return name.endsWith(".service") ? `/etc/systemd/system/${name}` : `/etc/podseidon/${name}`;
}

export function systemd({ write }: CommandContext, { cells, out, isDryRun }: InstallOptions): CommandEnd {
  const [cell = documentedCell, ...others] = cells;
  if (others.length > 0) {
    const problem = invalid("cells", cells.join(","), "is more than one cell", "that of the aggregator on this host");
    return wrongUsage(`install: ${problem.message}`);
  }
  for (const [name, text] of systemdFiles()) {
    const ofCell = text.replaceAll(documentedCell, cell);
    if (out === undefined) {
      write(`# ${targetOf(name)}\n${ofCell}\n`);
      continue;
    }
    const file = path.join(out, name);
    const problem = isDryRun ? undefined : writeFile(out, file, ofCell);
    if (problem !== undefined) return { exitCode: 1, problem: `install: ${problem}` };
    write(`${isDryRun ? "would write" : "wrote"} ${file}, for ${targetOf(name)}\n`);
  }
  return { exitCode: 0 };
}

function writeFile(folder: string, file: string, text: string): string | undefined {
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, text);
    return undefined;
  } catch (error) {
    return `cannot write ${file}: ${messageOf(error)}`;
  }
}
