/** `podseidon cells`: lists the cells of the cores, keeps their counts, moves and retires them (docs/cells.md). */
import { cellLeaseAnnotations, cellLeaseLabels, cellLeaseName } from "../../api/cell-lease.ts";
import { fieldsOf } from "../../api/json.ts";
import { Problem } from "../../config/reading/problem.ts";
import { cellIDProblem } from "../../config/types/address.ts";
import { nearest } from "../../config/types/nearest.ts";
import { quote } from "../../config/types/value-type.ts";
import { leases, namespaces } from "../../kube/resources.ts";
import { assertNever } from "../../util/assert.ts";
import { onClusters, type OpenClusters } from "../clusters/open.ts";
import { coreOptions, invalid, outputOption, workerOption } from "../clusters/options.ts";
import { readingOne } from "../clusters/reading.ts";
import {
  type Command,
  type CommandContext,
  type CommandEnd,
  type CommandOptions,
  valueOf,
  wrongUsage,
} from "../command.ts";
import { type CoreLook, toldLooksAt } from "../fleet/look.ts";
import { type CellLine, cellLines, cellsJson, cellsTable, isCellWrong } from "../status/cell-lines.ts";
import { jsonText, lines } from "../text/format.ts";
import { carryOut, type Change, creationOf, dryRunOption, patchOf } from "./change.ts";
import { isUID, readUntil } from "./values.ts";

const actions = ["list", "keep", "adopt", "forget"] as const;
type Action = (typeof actions)[number];

/** Maintenance that takes longer is worth a second look at what has happened meanwhile. */
const keepMax = { max: 7 * 24 * 3_600_000, maxText: "168h" };

export const cells: Command = {
  usage: "cells <action> [cell]",
  summary: "List, keep, move (adopt) or retire (forget) cells",
  options: [
    ...coreOptions,
    workerOption,
    { usage: "--for <duration>", description: "keep: for how long, such as 2h" },
    { usage: "--cluster <uid>", description: "adopt: UID of kube-system; or say --worker" },
    { usage: "--now", description: "forget: also entries that change" },
    { usage: "--yes", description: "forget --now: carry it out" },
    { usage: "--undo", description: "keep, adopt, forget: take the request back" },
    dryRunOption,
    outputOption,
  ],
  examples: [
    "cells list",
    "cells keep worker-1 --for 2h",
    "cells adopt worker-1 --worker worker-1=new-cluster",
    "cells forget worker-1",
    "cells forget worker-1 --now --yes",
  ],
  words: actions,

  run(context, options, given, cell) {
    const action = actions.find((one) => one === given);
    if (action === undefined) {
      const best = nearest(String(given), actions);
      const hint = best === undefined ? "" : `; did you mean ${best}?`;
      return wrongUsage(`cells: ${quote(String(given))} is no action; allowed: ${actions.join(", ")}${hint}`);
    }
    const problem = problemOf(action, cell, options);
    return onClusters({ context, options, problem }, async (clusters, output) => {
      const looks = await toldLooksAt(clusters, undefined, context);
      if (action === "list") return listed(context, looks, output === "json");
      return steered(context, options, { action, cellID: String(cell), looks, clusters });
    });
  },
};

function problemOf(action: Action, cell: unknown, options: CommandOptions): string | undefined {
  if (options.has("now") && (action !== "forget" || options.has("undo")))
    return `cells ${action}: --now belongs to forget, without --undo`;
  if (typeof cell !== "string") return action === "list" ? undefined : `cells ${action}: which cell? Say its name`;
  return cellIDProblem(cell) === undefined ? undefined : `cells ${action}: ${quote(cell)} is not the name of a cell`;
}

function listed({ write, terminal }: CommandContext, looks: readonly CoreLook[], isJson: boolean): CommandEnd {
  if (isJson) write(jsonText({ cores: looks.map(cellsJson) }));
  else {
    for (const look of looks) {
      const title = looks.length === 1 ? "" : `core ${look.core}\n`;
      write(title + (cellsTable(look, terminal) || "No cells.\n"));
    }
  }
  const isWrong = looks.some(
    (look) => look.unread.length > 0 || cellLines(look).some(({ state }) => isCellWrong(state)),
  );
  return { exitCode: isWrong ? 1 : 0 };
}

interface Asked {
  readonly action: Exclude<Action, "list">;
  readonly cellID: string;
  readonly looks: readonly CoreLook[];
  readonly clusters: OpenClusters;
}

async function steered(context: CommandContext, options: CommandOptions, asked: Asked): Promise<CommandEnd> {
  const { action, cellID, looks, clusters } = asked;
  const known = looks.flatMap((look) => {
    const line = cellLines(look).find((one) => one.cellID === cellID);
    return line === undefined ? [] : [{ look, line }];
  });
  if (known.length === 0) return { exitCode: 1, problem: unknownCell(cellID, looks) };
  const value = await valueFor(context, options, asked);
  if (value instanceof Problem) return wrongUsage(value.message);
  const isUndo = options.has("undo");
  if (value === "now" && !options.has("yes") && !options.has("dry-run")) {
    if (options.get("output")?.at(-1) !== "json")
      for (const text of costOfNow(cellID)) context.write(lines(text, context.terminal.columns, "  "));
    return wrongUsage("cells: nothing was changed. To carry this out, add --yes");
  }
  const changes: Change[] = [];
  for (const { look, line } of known) {
    const change = changeOf(action, line, isUndo ? null : value, look, clusters);
    if (change instanceof Problem) return { exitCode: 1, problem: change.message };
    changes.push(change);
  }
  return carryOut(context, options, changes, { after: isUndo ? [] : notesOn(action, context, known[0]!.line) });
}

function unknownCell(cellID: string, looks: readonly CoreLook[]): string {
  const names = [...new Set(looks.flatMap((look) => cellLines(look).map((line) => line.cellID)))];
  const best = nearest(cellID, names);
  const hint = best === undefined ? "" : `; did you mean ${best}?`;
  return `there is no cell ${quote(cellID)}; there are: ${names.length === 0 ? "none" : names.join(", ")}${hint}`;
}

const annotationOf: Readonly<Record<Asked["action"], string>> = {
  keep: cellLeaseAnnotations.keepUntil,
  adopt: cellLeaseAnnotations.adopt,
  forget: cellLeaseAnnotations.forget,
};

/** What the annotation is to say. */
async function valueFor(
  { clock, signal }: CommandContext,
  options: CommandOptions,
  { action, cellID, clusters }: Asked,
): Promise<string | Problem> {
  if (options.has("undo")) return "";
  switch (action) {
    case "keep": {
      const until = readUntil(options, clock.epochMicros(), keepMax);
      return until ?? new Problem("cells keep: for how long? Say --for, such as --for 2h");
    }
    case "adopt": {
      const uid = valueOf(options, "cluster");
      if (uid !== undefined) {
        return isUID(uid)
          ? uid
          : invalid("cluster", uid, "is no UID", "the UID of the namespace kube-system of that cluster");
      }
      const worker = clusters.workers.get(cellID);
      if (worker === undefined) {
        return new Problem(`cells adopt: by which cluster? Say --worker ${cellID}=CONTEXT, or --cluster UID`);
      }
      const name = "kube-system";
      const read = await readingOne(worker, { resource: namespaces, name, role: "view" }, signal);
      if (!read.ok) return new Problem(read.problem);
      return String(fieldsOf(fieldsOf(read.value)["metadata"])["uid"]);
    }
    case "forget":
      return options.has("now") ? "now" : "true";
    default:
      return assertNever(action);
  }
}

/** `value`: null = the annotation is taken off. */
function changeOf(
  action: Asked["action"],
  { cellID, cell }: CellLine,
  value: string | null,
  { core }: CoreLook,
  { cores, choice }: OpenClusters,
): Change | Problem {
  const client = cores.get(core);
  if (client === undefined) return new Problem(`no core ${core}`);
  const namespace = choice.leaseNamespace;
  const name = cellLeaseName(cellID);
  const annotation = annotationOf[action];
  const lease = `Lease ${namespace}/${name}`;
  if (cell !== undefined) {
    const what =
      value === null
        ? `the ${lease} of cell ${cellID} loses the annotation ${annotation}`
        : `the ${lease} of cell ${cellID} gets the annotation ${annotation}=${value}`;
    // Of this Lease: another one of the same name would be another cell's life.
    const metadata = { uid: cell.lease.uid, annotations: { [annotation]: value } };
    return patchOf(client, { resource: leases, namespace, name }, what, { metadata });
  }
  if (action !== "forget" || value === null) {
    return new Problem(`cell ${cellID} has no Lease in core ${core}: its aggregator shows no heartbeats`);
  }
  const labels = { [cellLeaseLabels.heartbeat]: "cell", [cellLeaseLabels.cell]: cellID };
  const metadata = { name, namespace, labels, annotations: { [annotation]: value } };
  const what = `cell ${cellID} has no Lease; ${lease} is created with the annotation ${annotation}=${value}`;
  const body = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata };
  return creationOf(client, { resource: leases, namespace }, what, body);
}

function costOfNow(cellID: string): readonly string[] {
  return [
    `Once nothing has been heard of cell ${cellID} for as long as makes it silent, it leaves every PodProtector at ` +
      "once, also where its entry changes.",
    "What was admitted there and is not carried out yet is forgotten with it: each such deletion may take a workload " +
      "one pod below its floor. Without --now no entry is taken before it has stood unchanged for 75 s.",
  ];
}

function notesOn(action: Asked["action"], { program }: CommandContext, { cellID, state }: CellLine): readonly string[] {
  switch (action) {
    case "keep":
      return [
        "Until then its last counts stay in force while nothing is heard from it. This is safe only while nothing " +
          `else takes pods away there. To end it early: ${program} cells keep ${cellID} --undo`,
      ];
    case "adopt":
      return ["The aggregator of that cluster may take the cell over at once. Stop the former one first."];
    case "forget":
      return [
        ...(state === "silent" || state === "no heartbeat"
          ? []
          : ["It is still heard: the generator waits for its silence, and refuses if it is still counted after 45 s."]),
        "The generator takes the cell out of all PodProtectors, and then deletes the Lease. Never delete that " +
          `yourself. To follow it: ${program} cells list`,
      ];
    default:
      return assertNever(action);
  }
}
