/**
 * docs/demo.svg: a frame of the live view as a still picture, for readers who have not run the demo yet. It is drawn by
 * the live view's own renderer from the state below, which was noted down from a run. `node scripts/n.mjs
 * scripts/demo/view/picture.ts` writes it.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { escapeXml } from "../report/chart.ts";
import { renderFrame, type Size } from "./live.ts";
import { type CellView, type DemoState, type ServiceView } from "./state.ts";
import { createStyle } from "./style.ts";

export const pictureFile = fileURLToPath(new URL("../../../docs/demo.svg", import.meta.url));

// A usual monospace glyph is 0.6 em wide; runs are stretched to this grid, whatever the reader's font is.
const fontSize = 14;
const glyphWidth = 8.4;
const lineHeight = 19;
const margin = 10;

/** The SGR codes of style.ts -> class. */
const classes: Readonly<Record<string, string>> = {
  "1": "strong",
  "2": "dim",
  "32": "good",
  "33": "warn",
  "31": "bad",
};

const fonts = `${fontSize}px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace`;
const tones = ".good { fill: #57c98a; } .warn { fill: #e8c35a; } .bad { fill: #ff7b6e; }";
const styleSheet = `text { font: ${fonts}; fill: #d5dbe3; white-space: pre; }
.strong { font-weight: 700; fill: #ffffff; } .dim { fill: #7d8896; } ${tones}`;

function textLine(line: string, index: number): string {
  // Odd parts are the codes, even ones the text between them.
  const parts = line.split(/\u001B\[(\d+)m/);
  const y = margin + (index + 1) * lineHeight - 5;
  let column = 0;
  let tone = "";
  let svg = "";
  for (const [at, part] of parts.entries()) {
    if (at % 2 === 1) {
      tone = classes[part] ?? "";
      continue;
    }
    const text = part.trim();
    const start = column + part.indexOf(text);
    column += part.length;
    if (text === "") continue;
    const x = (margin + start * glyphWidth).toFixed(1);
    const length = (text.length * glyphWidth).toFixed(1);
    const className = tone === "" ? "" : ` class="${tone}"`;
    svg +=
      `<text${className} x="${x}" y="${y}" textLength="${length}" lengthAdjust="spacingAndGlyphs">` +
      `${escapeXml(text)}</text>\n`;
  }
  return svg;
}

/** Lines of a terminal of that size, with the colours of style.ts, as an SVG document. */
export function terminalSvg(lines: readonly string[], { columns, rows }: Size): string {
  const width = Math.ceil(columns * glyphWidth + 2 * margin);
  const height = rows * lineHeight + 2 * margin;
  const size = `viewBox="0 0 ${width} ${height}" width="${width}"`;
  const label = "make demo: the services stand on their floors";
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="${label}">
<style>${styleSheet}</style>
<rect width="${width}" height="${height}" rx="10" fill="#14181e"/>
${lines.map(textLine).join("")}</svg>
`;
}

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
  return terminalSvg(renderFrame(state, size, createStyle({ colour: true, utf8: true })), size);
}

if (import.meta.main) writeFileSync(pictureFile, demoPicture());
