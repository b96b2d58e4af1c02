/**
 * One service's availability over time as inline SVG: with Podseidon, without it, the floor, and what happened when.
 * Pure.
 */
import { type Point } from "../statistics.ts";

export interface ActSpan {
  readonly title: string;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface ChartMark {
  readonly atMs: number;
  readonly text: string;
}

/** Times are milliseconds since the left edge of the chart. */
export interface ChartData {
  readonly service: string;
  readonly replicas: number;
  readonly floor: number;
  readonly withPodseidon: readonly Point[];
  /** The other run, moved so that its disaster begins at the same moment. */
  readonly withoutPodseidon: readonly Point[];
  readonly acts: readonly ActSpan[];
  readonly marks: readonly ChartMark[];
  readonly endMs: number;
  /** Until when the other run was measured, on the same axis. */
  readonly withoutEndMs: number;
}

const width = 960;
const height = 236;
const left = 40;
const right = 150;
const top = 30;
const bottom = 26;

export function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

interface Scale {
  readonly x: (atMs: number) => number;
  readonly y: (value: number) => number;
}

function scaleOf(data: ChartData): Scale {
  // A rollout may have a quarter more pods than replicas; whatever was highest fits.
  const highest = Math.max(data.replicas, ...data.withPodseidon.map(({ last }) => last));
  const round = (value: number): number => Math.round(value * 10) / 10;
  return {
    x: (atMs) => round(left + (atMs / Math.max(1, data.endMs)) * (width - left - right)),
    y: (value) => round(height - bottom - (value / (highest * 1.05)) * (height - top - bottom)),
  };
}

/** A staircase through all points; each slot goes down to its lowest before it ends at its last. */
export function stairPath(points: readonly Point[], { x, y }: Scale): string {
  return points
    .map(({ atMs, lowest, last }, index) => {
      const start = index === 0 ? `M${x(atMs)} ${y(lowest)}` : `H${x(atMs)}V${y(lowest)}`;
      return last === lowest ? start : `${start}V${y(last)}`;
    })
    .join("");
}

function actsOf({ acts }: ChartData, { x }: Scale): string {
  return acts
    .map(({ title, fromMs, toMs }, index) => {
      const from = x(fromMs);
      const band =
        `<rect class="band${index % 2}" x="${from}" y="${top - 20}" ` +
        `width="${Math.max(0, x(toMs) - from).toFixed(1)}" height="${height - top - bottom + 20}"/>`;
      return `${band}<text class="act" x="${from + 6}" y="${top - 7}">${escapeXml(title)}</text>`;
    })
    .join("");
}

function axesOf(data: ChartData, { x, y }: Scale): string {
  const seconds = Math.floor(data.endMs / 1000);
  const everySeconds = seconds > 30 ? 10 : 5;
  const ticks = Array.from({ length: Math.floor(seconds / everySeconds) + 1 }, (_, index) => index * everySeconds);
  const times = ticks.map(
    (at) => `<text class="tick" text-anchor="middle" x="${x(at * 1000)}" y="${height - 8}">${at} s</text>`,
  );
  const values = [0, data.replicas].map(
    (value) =>
      `<line class="grid" x1="${left}" x2="${width - right}" y1="${y(value)}" y2="${y(value)}"/>` +
      `<text class="tick" text-anchor="end" x="${left - 6}" y="${y(value) + 4}">${value}</text>`,
  );
  return values.join("") + times.join("");
}

function marksOf({ marks }: ChartData, { x }: Scale): string {
  return marks
    .map(
      ({ atMs, text }) =>
        `<line class="mark" x1="${x(atMs)}" x2="${x(atMs)}" y1="${top}" y2="${height - bottom}"/>` +
        `<text class="marktext" x="${x(atMs) + 5}" y="${top + 14}">${escapeXml(text)}</text>`,
    )
    .join("");
}

function endOf(points: readonly Point[]): number {
  return points.at(-1)?.last ?? 0;
}

/** Labels right of the lines, at their ends, moved apart where they would touch. */
function labelsOf(data: ChartData, { y }: Scale): string {
  const wanted = [
    { tone: "with", text: "with Podseidon", value: endOf(data.withPodseidon) },
    { tone: "floor", text: "floor", value: data.floor },
    { tone: "without", text: "without", value: endOf(data.withoutPodseidon) },
  ].sort((a, b) => b.value - a.value || (a.tone === "floor" ? 1 : -1));
  let lastY = 0;
  return wanted
    .map(({ tone, text, value }) => {
      lastY = Math.max(y(value) + 4, lastY + 15);
      return `<text class="label ${tone}" x="${width - right + 8}" y="${lastY}">${text} ${value}</text>`;
    })
    .join("");
}

/** The chart as one `<svg>` element; colours come from the page's style sheet. */
export function chartSvg(data: ChartData): string {
  const scale = scaleOf(data);
  const { x, y } = scale;
  const summary =
    `Available pods of ${data.service} over time, with and without Podseidon, against the floor of ` +
    `${data.floor}; the table has the figures.`;
  const path = (tone: string, points: readonly Point[], untilMs: number): string =>
    points.length === 0
      ? ""
      : `<path class="line ${tone}" d="${stairPath(points, scale)}H${x(Math.min(untilMs, data.endMs))}"/>`;
  return [
    `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeXml(summary)}">`,
    actsOf(data, scale),
    axesOf(data, scale),
    `<line class="floorline" x1="${left}" x2="${width - right}" y1="${y(data.floor)}" y2="${y(data.floor)}"/>`,
    marksOf(data, scale),
    path("without", data.withoutPodseidon, data.withoutEndMs),
    path("with", data.withPodseidon, data.endMs),
    labelsOf(data, scale),
    "</svg>",
  ].join("");
}
