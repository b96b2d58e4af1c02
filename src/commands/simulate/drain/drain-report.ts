/** What people and programs are told of a planned drain. */
import { type ProtectorID } from "../../../api/object-key.ts";
import { printable } from "../../../util/printable.ts";
import { floorOwnerOf } from "../../../webhook/decide/refusals/floor-owner.ts";
import { type Terminal } from "../../command.ts";
import { coloured, jsonText, wrapped } from "../../text/format.ts";
import { type Column, type Row, table } from "../../text/table.ts";
import { type FoundObstacle, gathered } from "../deletions.ts";
import { type DrainPlan, type Fate, type PlannedPod } from "../drain-plan.ts";
import { type Guarding } from "../guard.ts";
import { obstaclesOf } from "../obstacles.ts";
import { drainFlagsFor } from "../simulated-pods.ts";
import { obstacleLines } from "../steps.ts";

/** One PodProtector, or with an undefined ID the pods that none counts. */
export interface DrainRow {
  readonly id: ProtectorID | undefined;
  /** `Deployment shop/api`; undefined = it is hand-made, or there is none. */
  readonly owner: string | undefined;
  readonly isShadow: boolean;
  readonly pods: number;
  /** Undefined where nothing is counted. */
  readonly freeNow: number | undefined;
  readonly atOnce: number;
  readonly later: number;
  readonly never: number;
  /** In which pods of it go. */
  readonly rounds: number;
}

export interface DrainReport {
  readonly nodes: readonly string[];
  readonly cell: string;
  readonly isEndless: boolean;
  /** The first node that is never empty. */
  readonly stuckAt: string | undefined;
  readonly rows: readonly DrainRow[];
  readonly totals: Readonly<Record<Fate["kind"], number>>;
  readonly obstacles: readonly FoundObstacle[];
  /** What PodProtectors in shadow would refuse, by their ID: so many pods. */
  readonly shadowed: ReadonlyMap<string, number>;
  /** Flags that kubectl drain asks for. */
  readonly flags: readonly string[];
  readonly pods: readonly PlannedPod[];
}

export function drainReport(
  plan: DrainPlan,
  { nodes, cell, protectors }: { nodes: readonly string[]; cell: string; protectors: readonly Guarding[] },
): DrainReport {
  const byID = new Map<string, Guarding>(protectors.map((one) => [one.id, one]));
  const evicted = plan.pods.filter(({ fate }) => fate.kind !== "skipped");
  const shadowed = new Map<string, number>();
  for (const { fate } of evicted)
    if (fate.kind === "at-once") for (const { id } of fate.shadowed) shadowed.set(id, (shadowed.get(id) ?? 0) + 1);
  return {
    nodes,
    cell,
    isEndless: plan.stuckAt !== undefined,
    stuckAt: plan.stuckAt,
    rows: rowsOf(evicted, plan, byID),
    totals: totalsOf(plan.pods),
    obstacles: gathered(
      evicted.flatMap(({ pod, fate }) =>
        fate.kind === "never"
          ? [{ pod, obstacles: obstaclesOf(fate.obstruction, { protectors: byID, cellID: cell }) }]
          : [],
      ),
    ),
    shadowed,
    flags: [...new Set(plan.pods.flatMap(({ pod }) => drainFlagsFor(pod)))].sort(),
    pods: plan.pods,
  };
}

function totalsOf(pods: readonly PlannedPod[]): DrainReport["totals"] {
  const totals = { skipped: 0, "at-once": 0, later: 0, never: 0 };
  for (const { fate } of pods) totals[fate.kind] += 1;
  return totals;
}

/** What is stuck first, then by name; pods without a PodProtector last. */
function rowsOf(
  evicted: readonly PlannedPod[],
  { freeNow }: DrainPlan,
  byID: ReadonlyMap<string, Guarding>,
): readonly DrainRow[] {
  const ids = [...new Set(evicted.flatMap(({ protectors }) => protectors))];
  const guarded = ids.map((id) => {
    const own = evicted.filter(({ protectors }) => protectors.includes(id));
    return rowOf(id, own, { freeNow: freeNow.get(id), guarding: byID.get(id) });
  });
  const unguarded = evicted.filter(({ protectors }) => protectors.length === 0);
  const rows = guarded.sort((a, b) => b.never - a.never || ((a.id ?? "") < (b.id ?? "") ? -1 : 1));
  return unguarded.length === 0 ? rows : [...rows, rowOf(undefined, unguarded, {})];
}

function rowOf(
  id: ProtectorID | undefined,
  own: readonly PlannedPod[],
  { freeNow, guarding }: { freeNow?: number | undefined; guarding?: Guarding | undefined },
): DrainRow {
  const { "at-once": atOnce, later, never } = totalsOf(own);
  const object = guarding?.state.kind === "valid" ? guarding.state.view.protector : undefined;
  return {
    id,
    owner: object && floorOwnerOf(object)?.name,
    isShadow: guarding?.isShadow === true,
    pods: own.length,
    freeNow,
    atOnce,
    later,
    never,
    rounds: new Set(own.flatMap(({ fate }) => roundOf(fate) ?? [])).size,
  };
}

function roundOf(fate: Fate): number | undefined {
  if (fate.kind === "later") return fate.round;
  return fate.kind === "at-once" ? 1 : undefined;
}

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
    table(columns, rows.map(textRow), terminal),
    ...obstacleLines(obstacles, terminal),
    "\n",
    coloured(terminal, report.stuckAt === undefined ? "good" : "bad", verdict(report)),
    "\n",
    ...notes(report).map((note) => lines(note)),
  ];
  return parts.join("");
}

function textRow(row: DrainRow): Row {
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
