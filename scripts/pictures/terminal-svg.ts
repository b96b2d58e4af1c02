/** Text of a terminal as a picture: SVG, so that it is sharp on every screen, and selectable. */
import { escapeXml } from "../demo/report/chart.ts";

export interface TerminalPicture {
  readonly columns: number;
  readonly rows: number;
  /** What a reader hears who does not see it. */
  readonly label: string;
  /** `both`: light or dark, as the reader's system is. */
  readonly theme: "dark" | "both";
}

// A usual monospace glyph is 0.6 em wide; runs are stretched to this grid, whatever the reader's font is.
const fontSize = 14;
const glyphWidth = 8.4;
const lineHeight = 19;
const margin = 10;

/** The SGR codes that our terminals get -> class. */
const classes: Readonly<Record<string, string>> = {
  "1": "strong",
  "2": "dim",
  "32": "good",
  "33": "warn",
  "31": "bad",
};

const font = `${fontSize}px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace`;

interface Colours {
  readonly ground: string;
  readonly plain: string;
  readonly strong: string;
  readonly dim: string;
  readonly good: string;
  readonly warn: string;
  readonly bad: string;
}

// Each has a contrast of at least 4.5 to 1 with its ground.
const dark: Colours = {
  ground: "#14181e",
  plain: "#d5dbe3",
  strong: "#ffffff",
  dim: "#7d8896",
  good: "#57c98a",
  warn: "#e8c35a",
  bad: "#ff7b6e",
};
const light: Colours = {
  ground: "#f6f8fa",
  plain: "#1f2733",
  strong: "#000000",
  dim: "#5b6573",
  good: "#146c3a",
  warn: "#855600",
  bad: "#b3261e",
};

function rules({ ground, plain, strong, dim, good, warn, bad }: Colours): string {
  return `rect { fill: ${ground}; } text { fill: ${plain}; } .strong { fill: ${strong}; } .dim { fill: ${dim}; }
.good { fill: ${good}; } .warn { fill: ${warn}; } .bad { fill: ${bad}; }`;
}

function styleSheet(theme: TerminalPicture["theme"]): string {
  const shape = `text { font: ${font}; white-space: pre; } .strong { font-weight: 700; }`;
  if (theme === "dark") return `${shape}\n${rules(dark)}`;
  return `${shape}\n${rules(light)}\n@media (prefers-color-scheme: dark) {\n${rules(dark)}\n}`;
}

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

/** An SVG document of the lines, with the colours that their SGR codes ask for. What is longer than a line is cut. */
export function terminalSvg(lines: readonly string[], { columns, rows, label, theme }: TerminalPicture): string {
  const width = Math.ceil(columns * glyphWidth + 2 * margin);
  const height = rows * lineHeight + 2 * margin;
  const size = `viewBox="0 0 ${width} ${height}" width="${width}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="${escapeXml(label)}">
<style>${styleSheet(theme)}</style>
<rect width="${width}" height="${height}" rx="10"/>
${lines.map(textLine).join("")}</svg>
`;
}
