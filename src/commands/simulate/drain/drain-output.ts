/** A planned drain as a table for people, and as JSON for programs. */
import { printable } from "../../../util/printable.ts";
import { type Terminal } from "../../command.ts";
import { coloured } from "../../text/colour.ts";
import { jsonText } from "../../text/json.ts";
import { type Column, type Row, table } from "../../text/table.ts";
import { wrapped } from "../../text/wrap.ts";
import { type DrainReport, type DrainRow } from "./drain-report.ts";
import { obstacleLines } from "../obstacle-lines.ts";

const columns: readonly Column[] = [
  { title: "PODPROTECTOR", shrinksTo: 20 },
  { title: "PODS", align: "right" },
  { title: "FREE NOW", align: "right" },
  { title: "AT ONCE", align: "right" },
  { title: "LATER", align: "right" },
  { title: "NEVER", align: "right" },
  { title: "ROUNDS", align: "right" },
];

export function drainText(report: DrainReport, terminal: Pick<Terminal, "columns" | "isColoured">): string {
  const { rows, totals, nodes, cell, obstacles } = report;
  const lines = (text: string, indent = ""): string => `${wrapped(text, terminal.columns, indent).join("\n")}\n`;
  const where = `${nodes.map((node) => printable(node)).join(", ")} in cell ${printable(cell)}`;
  const evicted = totals["at-once"] + totals.later + totals.never;
  const skipped = totals.skipped === 0 ? "" : `, ${totals.skipped} left alone (DaemonSets, static pods)`;
  const head = lines(`Drain of ${where}: ${pods(evicted)} to evict${skipped}.`);
  if (evicted === 0) return head;
  const parts = [
    head,
    "\n",
    table(columns, rows.map(rowOf), terminal),
    ...obstacleLines(obstacles, terminal),
    "\n",
    coloured(terminal, report.stuckAt === undefined ? "good" : "bad", verdict(report)),
    "\n",
    ...notes(report).map((note) => lines(note)),
  ];
  return parts.join("");
}

function rowOf(row: DrainRow): Row {
  const { id, isShadow, pods: count, freeNow, atOnce, later, never, rounds } = row;
  const name = id === undefined ? "(no PodProtector)" : isShadow ? `${id} (shadow)` : id;
  const free = id === undefined ? "-" : freeNow === undefined ? "unknown" : String(freeNow);
  const cells: Row["cells"] = [
    name,
    String(count),
    free,
    String(atOnce),
    String(later),
    { text: String(never), tone: never > 0 ? "bad" : undefined },
    rounds === 0 ? "-" : String(rounds),
  ];
  return { cells };
}

function verdict({ totals, stuckAt }: DrainReport): string {
  const { "at-once": atOnce, later, never } = totals;
  if (stuckAt !== undefined) return `The drain would not end: ${pods(never)} would stay.`;
  if (later === 0) return `The drain would end at once: nothing has to wait.`;
  return `The drain would end: ${pods(atOnce)} at once, ${pods(later)} later.`;
}

/** What the plan rests on, and what kubectl needs. */
function notes({ nodes, totals, stuckAt, flags, shadowed }: DrainReport): readonly string[] {
  const isLast = stuckAt === undefined || stuckAt === nodes.at(-1);
  const turn = nodes.length > 1 ? "when the nodes before are empty, and " : "";
  const would = [...shadowed].map(([id, count]) => `${printable(id)} (${pods(count)})`).join(", ");
  return [
    ...(isLast ? [] : [`kubectl begins with the next node only when ${stuckAt} is empty or --timeout is over.`]),
    ...(totals.later > 0
      ? [`Later: ${turn}when replacements are available elsewhere, if there is room for them.`]
      : []),
    ...(would === "" ? [] : [`PodProtectors in shadow would refuse, but do not: ${would}.`]),
    ...(flags.length === 0 ? [] : [`kubectl drain asks for ${flags.join(" ")}.`]),
  ];
}

function pods(count: number): string {
  return count === 1 ? "1 pod" : `${count} pods`;
}

export function drainJSON(report: DrainReport): string {
  const { nodes, cell, isEndless, stuckAt, rows, totals, obstacles, shadowed, flags, pods: planned } = report;
  const document = {
    nodes,
    cell,
    ends: !isEndless,
    ...(stuckAt !== undefined && { stuckAt }),
    totals,
    podProtectors: rows.flatMap(({ id, ...row }) => (id === undefined ? [] : [{ id, ...row }])),
    obstacles,
    shadowed: Object.fromEntries(shadowed),
    kubectlFlags: flags,
    pods: planned.map(({ pod, protectors, fate }) => ({
      namespace: pod.record.namespace,
      name: pod.record.name,
      node: pod.node,
      podProtectors: protectors,
      fate: fate.kind,
      ...(fate.kind === "later" && { round: fate.round }),
      ...((fate.kind === "at-once" || fate.kind === "skipped") && { why: fate.why }),
    })),
  };
  return jsonText(document);
}
