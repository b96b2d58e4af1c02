/** The table at the end. Pure. */
import { type ServiceResult } from "../statistics.ts";
import { type Style, type Tone } from "./style.ts";

interface Column {
  readonly heading: string;
  readonly width: number;
  readonly value: (service: ServiceResult) => string | number;
  readonly tone?: (service: ServiceResult) => Tone;
}

const against =
  (lowest: (service: ServiceResult) => number) =>
  (service: ServiceResult): Tone =>
    lowest(service) < service.floor ? "bad" : "good";

const columns: readonly Column[] = [
  { heading: "service", width: 10, value: ({ name }) => name },
  { heading: "pods", width: 5, value: ({ replicas }) => replicas },
  { heading: "floor", width: 6, value: ({ floor }) => floor },
  { heading: "with", width: 9, value: ({ lowestWith }) => lowestWith, tone: against((one) => one.lowestWith) },
  {
    heading: "without",
    width: 8,
    value: ({ lowestWithout }) => lowestWithout,
    tone: against((one) => one.lowestWithout),
  },
  { heading: "tried", width: 9, value: ({ deletions }) => deletions.tried },
  { heading: "admitted", width: 10, value: ({ deletions }) => deletions.admitted },
  { heading: "refused", width: 9, value: ({ deletions }) => deletions.refused },
  { heading: "no answer", width: 11, value: ({ deletions }) => deletions.unanswered },
];

function row(style: Style, cellOf: (column: Column) => readonly [text: string, tone: Tone]): string {
  const cells = columns.map((column, index) => {
    const [text, tone] = cellOf(column);
    return style.paint(tone, index === 0 ? text.padEnd(column.width) : text.padStart(column.width));
  });
  return `  ${cells.join("")}`;
}

/** The result as lines of at most 80 columns; what fell under its floor is red. */
export function resultTable(services: readonly ServiceResult[], style: Style): readonly string[] {
  const width = columns.reduce((sum, column) => sum + column.width, 0);
  return [
    // Stands above the columns that it names.
    `${" ".repeat(24)}${"lowest available".padStart(16)}${"deletions in the disaster".padStart(30)}`,
    row(style, ({ heading }) => [heading, "plain"]),
    `  ${"-".repeat(width)}`,
    ...services.map((service) => row(style, ({ value, tone }) => [String(value(service)), tone?.(service) ?? "plain"])),
  ];
}
