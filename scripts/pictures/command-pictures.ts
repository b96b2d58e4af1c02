/**
 * docs/status.svg and docs/explain.svg: what the commands print about a small fleet, for readers who have none yet. The
 * commands themselves run, against the API double on a virtual clock, so the pictures are the same each time.
 */
import { fileURLToPath } from "node:url";
import { finalizer, sourceLabels } from "../../src/api/v1alpha1/names.ts";
import { podBody } from "../../test/double/cluster.ts";
import { builtInResources } from "../../test/double/index.ts";
import {
  ago,
  type CountedCell,
  createCellLease,
  createFleet,
  createProtector,
  createRefusal,
  type Fleet,
} from "../../test/unit/commands/support/fleet.ts";
import { terminalSvg } from "./terminal-svg.ts";

/** No wider: shrunk to a telephone, longer lines cannot be read. */
const columns = 65;

export interface CommandPicture {
  /** Below docs/. */
  readonly file: string;
  readonly svg: string;
}

export function fileOf({ file }: CommandPicture): string {
  return fileURLToPath(new URL(`../../docs/${file}`, import.meta.url));
}

/** What the files have to hold. */
export async function commandPictures(): Promise<readonly CommandPicture[]> {
  const fleet = await createPictureFleet();
  return [
    { file: "status.svg", svg: await picture(fleet, "status -n shop") },
    { file: "explain.svg", svg: await picture(fleet, "explain pod web-7d9f-x2x -n shop --worker eu-1=eu-1") },
  ];
}

async function picture(fleet: Fleet, command: string): Promise<string> {
  const { stdout, stderr, problem } = await fleet.run(...command.split(" "));
  if (problem !== undefined || stderr.length > 0) throw new Error(`${command}: ${problem ?? stderr.join("; ")}`);
  const lines = [`$ podseidon ${command}`, ...stdout.trimEnd().split("\n")];
  return terminalSvg(lines, { columns, rows: lines.length, label: `podseidon ${command}`, theme: "both" });
}

/** Three cells, one of which is silent; one workload that waits for it, one at its floor, one that is well. */
async function createPictureFleet(): Promise<Fleet> {
  const fleet = await createFleet("eu-1");
  fleet.terminal = { columns, isColoured: true, isInteractive: false };
  const { core, clock } = fleet;
  await createCellLease(core, clock, undefined);
  await createCellLease(core, clock, "eu-1", { agoMs: 300 });
  await createCellLease(core, clock, "eu-2", { agoMs: 1_400 });
  await createCellLease(core, clock, "us-1", { agoMs: 242_000 });
  await createWorkload(fleet, "api", 9, { "eu-1": 4, "eu-2": 4, "us-1": 4 });
  await createWorkload(fleet, "pay", 90, { "eu-1": 60, "eu-2": 57 });
  await createWorkload(fleet, "web", 34, { "eu-1": 19, "eu-2": 15 });
  await createRefusal(fleet, {
    name: "deployment-web",
    count: 251,
    agoMs: 12_000,
    message:
      "Refused 251 deletions in 60 s (by system:serviceaccount:fed:runaway 240, alice 11); " +
      'last: Deletion of pod web-7d9f-x2x in cell "eu-1": Must stay 34, available 34, promised 0, free 0',
  });
  await createPod(fleet, "web");
  return fleet;
}

async function createWorkload(
  { core, clock }: Fleet,
  name: string,
  minAvailable: number,
  available: Readonly<Record<string, number>>,
): Promise<void> {
  const cells = Object.entries(available).map(([cellID, count]): CountedCell => ({ cellID, available: count }));
  const { kind, group, name: ofName } = sourceLabels;
  await createProtector(core, `deployment-${name}`, {
    minAvailable,
    labels: { app: name },
    metadata: { labels: { [kind]: "Deployment", [group]: "apps", [ofName]: name }, finalizers: [finalizer] },
    cells: cells.map((cell) => (name === "pay" ? withPromise(cell) : cell)),
    conditions: name === "web" ? [{ type: "AtFloor", lastTransitionTime: ago(clock, 240_000) }] : [],
  });
}

/** One eviction has been admitted in its first cell a moment ago. */
function withPromise(cell: CountedCell): CountedCell {
  if (cell.cellID !== "eu-1") return cell;
  return { ...cell, buckets: [{ startTime: "2025-12-31T23:59:59.000000Z" as never, podUID: "gone" }] };
}

async function createPod({ clusters }: Fleet, app: string): Promise<void> {
  const worker = clusters.get("eu-1")!;
  const name = `${app}-7d9f-x2x`;
  const pod = await worker.create(builtInResources.pods, "shop", podBody(name, { labels: { app } }));
  const ready = { type: "Ready", status: "True", lastTransitionTime: "2025-12-31T20:00:00Z" };
  const status = { phase: "Running", conditions: [ready] };
  await worker.engine.update(builtInResources.pods, "shop", name, { ...pod, status }, { subresource: "status" });
}
