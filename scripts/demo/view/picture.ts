/**
 * docs/demo.svg: a frame of the live view as a still picture, for readers who have not run the demo yet. It is drawn by
 * the live view's own renderer from the state below, which was noted down from a run. `node scripts/n.mjs
 * scripts/demo/view/picture.ts` writes it.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { terminalSvg } from "../../pictures/terminal-svg.ts";
import { renderFrame } from "./live.ts";
import { type CellView, type DemoState, type ServiceView } from "./state.ts";
import { createStyle } from "./style.ts";

export const pictureFile = fileURLToPath(new URL("../../../docs/demo.svg", import.meta.url));

function service(
  name: string,
  floor: number,
  cells: readonly (readonly [available: number, replicas: number])[],
): ServiceView {
  const views = cells.map(([available, replicas], index): CellView => ({
    name: `worker-${index + 1}`,
    available,
    replicas,
  }));
  const sum = (value: (cell: CellView) => number): number => views.reduce((total, cell) => total + value(cell), 0);
  const available = sum((cell) => cell.available);
  return { name, floor, available, lowest: available, replicas: sum((cell) => cell.replicas), cells: views };
}

const state: DemoState = {
  elapsedMs: 41_300,
  act: {
    title: "Act 4: kill -9 in the middle of it",
    words:
      "webhook-1 is killed with 18 reviews under way. The other goes on: each admission is recorded " +
      "before it is answered, so none is forgotten.",
  },
  isStarting: false,
  services: [
    service("search", 90, [
      [37, 50],
      [31, 40],
      [22, 30],
    ]),
    service("checkout", 34, [
      [14, 18],
      [11, 15],
      [9, 12],
    ]),
    service("billing", 9, [
      [2, 4],
      [3, 4],
      [4, 4],
    ]),
  ],
  reviews: { admitted: 44, refused: 313, waiting: 0, unanswered: 2 },
  roles: [
    "generator",
    "aggregator-worker-1",
    "aggregator-worker-2",
    "aggregator-worker-3",
    "update-trigger-worker-3",
    "webhook-1",
    "webhook-2",
  ].map((name) => ({ name, state: name === "webhook-1" ? "gone" : "ready" })),
  remarks: [{ atMs: 35_500, text: "webhook-1 (pid 4711): kill -9 with 18 reviews waiting" }],
};

/** What docs/demo.svg has to hold. */
export function demoPicture(): string {
  // No wider: shrunk to a telephone, text of 80 columns cannot be read.
  const size = { columns: 65, rows: 25 };
  const lines = renderFrame(state, size, createStyle({ colour: true, utf8: true }));
  return terminalSvg(lines, { ...size, label: "make demo: the services stand on their floors", theme: "dark" });
}

if (import.meta.main) writeFileSync(pictureFile, demoPicture());
